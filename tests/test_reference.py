"""The reference shows what a user calls, by task: every exported name once, and nothing from inside."""

import re
import sys
from collections import Counter

import pytest

from crest.lab.encoders import ENCODERS
from crest.lab.objectives import OBJECTIVES
from crest.lab.systems import SYSTEMS
from manual import PAGES
from places import DOCS

sys.path.append(str(DOCS / "extensions"))

import rooms

SHOWN = {page.stem: rooms.shown(page.read_text()) for page in (DOCS / "reference").glob("*.md")}
HOMES = Counter(name.home for names in SHOWN.values() for name in names)
MANUAL = "\n".join(page.read_text() for page in PAGES if page.parent.name != "reference")


def imported() -> set[str]:
    """What the manual imports, as addresses; modules aside."""
    lines = re.findall(r"^from (crest[\w.]*) import (?:\(([^)]+)\)|([\w, ]+))", MANUAL, flags=re.MULTILINE)
    found = {
        f"{module}.{name}" for module, several, one in lines for name in re.findall(r"\w+", several or one)
    }
    return found - set(rooms.packages())


def test_every_exported_name_is_in_the_reference_once() -> None:
    packages = rooms.public_packages()
    assert {"crest", "crest.readouts", "crest.theory", "crest.strangers"} <= set(packages)
    public = [name for package in packages for name in rooms.exported(package)]
    missing = sorted({name.public for name in public if not HOMES[name.home]})
    assert not missing, "give each of these names a line on a page of docs/reference, under its task"
    assert [home for home, times in HOMES.items() if times > 1] == []


def test_what_people_import_is_exported() -> None:
    """Also what is not in `__all__`, because its package may be missing."""
    names = {name.public for name in rooms.exported("crest")}
    assert {"crest.audit", "crest.CreditInEvent", "crest.CrestPooler", "crest.LightningWatch"} <= names
    assert not any(name.startswith("crest._") for name in names)


def test_what_the_manual_imports_is_in_the_reference() -> None:
    assert {"crest.lab.runs.spec.RunSpec", "crest.recordings.load_recordings"} <= imported()
    assert {name for name in imported() if not HOMES[rooms.named(name).home]} == set()


def test_internals_are_in_no_page_of_the_reference() -> None:
    """What is shown is exported by a package, or the manual says its address."""
    said = imported() | set(re.findall(r"\bcrest\.[\w.]+\w", MANUAL))
    exported = {name.home for package in rooms.packages() for name in rooms.exported(package)}
    inside = [
        name.public
        for names in SHOWN.values()
        for name in names
        if name.home not in exported and name.public not in said
    ]
    assert not inside


def test_every_part_that_a_run_names_is_in_the_reference() -> None:
    for registry in (SYSTEMS, ENCODERS, OBJECTIVES):
        assert all(HOMES[f"{one.__module__}.{one.__qualname__}"] for one in registry.values())


@pytest.mark.parametrize("page", SHOWN)
def test_every_name_says_what_it_is(page: str) -> None:
    """Classes and functions by their docstring, constants by the one below them."""
    for name in SHOWN[page]:
        said = rooms.documented_constant(name) if name.kind == "autodata" else rooms.value(name).__doc__
        assert said, name


def test_the_first_page_begins_with_four_names_and_leads_to_every_task() -> None:
    first, *others = rooms.TABLE.findall((DOCS / "reference.md").read_text())
    assert first[1].split() == ["crest.audit", "crest.repair", "crest.cues", "crest.CrestReadout"]
    assert sorted(page for page, _ in others) == sorted(f"reference/{page}.md" for page in SHOWN)


def test_a_package_tells_where_its_names_are_defined() -> None:
    names = {name.public: name for name in rooms.exported("crest.lab.systems")}
    assert names["crest.lab.systems.GearSystem"].home == "crest.lab.systems.gear.GearSystem"
    assert names["crest.lab.systems.REGIMES"].home == "crest.lab.systems.regimes.REGIMES"
    assert names["crest.lab.systems.REGIMES"].kind == "autodata"


def test_blocks_of_a_page_become_documentation_and_tables() -> None:
    """A private package's name is shown without its address, which nobody types."""
    page = "```{api}\ncrest.audit\ncrest.theory.TwoChannel\n```\n\n```{names}\ncrest._cues.Cue\n```\n\n```{names} reference/recordings.md\n```"
    text = rooms.written(page, DOCS)
    assert ".. autofunction:: crest.audit\n" in text
    assert ".. autoclass:: crest.theory.TwoChannel\n   :members:\n" in text
    assert "   ~crest._cues.Cue\n" in text
    assert "   crest.recordings.load_recordings\n" in text
    assert "{api}" not in text
    assert "{names}" not in text
