"""What the documentation names must exist, and what it shows must run."""

import importlib
import re

import pytest

from places import ROOT

MAP = (ROOT / "docs" / "paper_map.md").read_text()


def resolve(dotted: str) -> object:
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            found = getattr(found, name)
        return found
    raise AssertionError(f"{dotted} does not exist")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(crest\.[\w.]+)`", MAP))))
def test_every_function_of_the_map_exists(name: str) -> None:
    assert resolve(name) is not None


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[\w/.:]+)`", MAP))))
def test_every_test_of_the_map_exists(name: str) -> None:
    path, _, function = name.partition("::")
    text = (ROOT / path).read_text()
    assert not function or f"def {function}(" in text


def test_every_choice_named_in_the_code_is_written_down() -> None:
    choices = (ROOT / "docs" / "choices.md").read_text()
    titles = re.findall(r"^#+ (.+)$", choices, flags=re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    named = {
        anchor
        for path in (ROOT / "src").rglob("*.py")
        for anchor in re.findall(r"docs/choices\.md#([\w-]+)", path.read_text())
    }
    assert named
    assert named <= anchors


@pytest.mark.unchecked
def test_the_readme_example_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), namespace)


def test_links_to_files_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
