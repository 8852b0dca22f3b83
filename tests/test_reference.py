"""The reference follows the code: every public name is on one of its pages."""

import functools
import importlib
import inspect
import re
import sys

from manual import PAGES
from places import DOCS

sys.path.append(str(DOCS / "extensions"))

import rooms

ON_PAGES = {
    room
    for page in (DOCS / "reference").glob("*.md")
    for room in re.findall(r"^```\{room\} ([\w.]+)$", page.read_text(), flags=re.MULTILINE)
}


@functools.cache
def public() -> tuple[rooms.Name, ...]:
    """Every name that a package exports; one that two packages export is there twice."""
    return tuple(name for package in rooms.packages() for name in rooms.exported(package))


@functools.cache
def documented() -> frozenset[str]:
    """What the pages give to autodoc, modules aside."""
    lines = "\n".join(line for room in sorted(ON_PAGES) for line in rooms.page(room))
    return frozenset(re.findall(r"^\.\. auto(?!module)\w+:: ([\w.]+)$", lines, flags=re.MULTILINE))


def test_every_exported_name_is_in_the_reference_once() -> None:
    """Under a name that it is exported by, or under that of its home."""
    for home in {name.home for name in public()}:
        names = {home, *(name.public for name in public() if name.home == home)}
        assert len(names & documented()) == 1, names


def test_what_people_import_is_exported() -> None:
    named = {name.public for name in public()}
    for package in ("crest", "crest.readouts", "crest.probes", "crest.theory", "crest.lab.systems"):
        module = importlib.import_module(package)
        values = {f"{package}.{name}": getattr(module, name) for name in module.__all__}
        assert {name for name, value in values.items() if not inspect.ismodule(value)} <= named
    # Not in `__all__`, because their packages may be missing.
    assert {"crest.CreditInEvent", "crest.CrestPooler", "crest.LightningWatch"} <= named


def test_every_exported_name_says_what_it_is() -> None:
    """Classes and functions by their docstring, constants by the one below them."""
    for name in public():
        module = name.home.rpartition(".")[0]
        if name.kind == "autodata":
            assert name.home in {one.home for one in rooms.defined(module)}, name
        else:
            assert inspect.getdoc(rooms.value(name)), name


def test_every_room_is_on_a_page_or_left_out_on_purpose() -> None:
    # Compiled loops, what renders and what parses: nobody calls them from outside.
    kernels = {f"crest.{room}.kernels" for room in ("lab.encoders", "lab.systems", "readouts.fast")}
    inside = {*kernels, "crest.lab.report", "crest.lab.cli"}
    assert set(rooms.packages()) - inside == ON_PAGES


def test_modules_that_pages_name_are_in_the_reference() -> None:
    named = {one for page in PAGES for one in re.findall(r"`(crest\.[\w.]+)`", page.read_text())}
    modules = {one for one in named if rooms.is_module(one)}
    assert modules
    assert {rooms.room(f"{module}.") for module in modules} <= ON_PAGES


def test_a_package_tells_where_its_names_are_defined() -> None:
    names = {name.public: name for name in rooms.exported("crest.lab.systems")}
    assert names["crest.lab.systems.GearSystem"].home == "crest.lab.systems.gear.GearSystem"
    assert names["crest.lab.systems.REGIMES"].home == "crest.lab.systems.regimes.REGIMES"
    assert names["crest.lab.systems.REGIMES"].kind == "autodata"


def test_a_module_tells_what_it_defines_and_not_what_it_imports() -> None:
    homes = [name.home for name in rooms.defined("crest.readouts.budget")]
    assert "crest.readouts.budget.event_budget" in homes
    assert not any("CrestConfig" in home or "._" in home for home in homes)
