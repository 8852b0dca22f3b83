"""The tests mirror the package: a reader finds a module's tests by its path."""

import ast
from pathlib import Path

import pytest

from places import ROOT, SOURCE

TESTS = ROOT / "tests"
# The program behind `mat_files`, which tests it.
PROGRAMS = {"recordings/mat_child.py"}


def defines_something(path: Path) -> bool:
    """Whether a module has a public function or class: lists of names and constants have nothing to test."""
    tree = ast.parse(path.read_text())
    kinds = (ast.FunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) and not node.name.startswith("_") for node in tree.body)


MODULES = [
    path.relative_to(SOURCE)
    for path in sorted(SOURCE.rglob("*.py"))
    if not path.name.startswith("__") and path.relative_to(SOURCE).as_posix() not in PROGRAMS
]


def test_the_rule_looks_at_modules() -> None:
    assert len(MODULES) > 100
    assert defines_something(SOURCE / "_base" / "rng.py")
    assert not defines_something(SOURCE / "_base" / "floats.py")
    assert all((SOURCE / program).exists() for program in PROGRAMS)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.as_posix())
def test_a_module_has_its_tests_at_its_path(module: Path) -> None:
    place = TESTS / module.parent / f"test_{module.name}"
    assert place.exists() or not defines_something(SOURCE / module), f"its tests belong in {place}"


@pytest.mark.parametrize(
    "folder", sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__")
)
def test_a_test_file_is_that_of_a_module_or_of_the_folder(folder: str) -> None:
    """A file that no module names is about the folder as a whole, or says in its first line what it is about."""
    for place in sorted((TESTS / folder).rglob("test_*.py")):
        module = SOURCE / place.relative_to(TESTS).parent / place.name.removeprefix("test_")
        about = ast.get_docstring(ast.parse(place.read_text()))
        assert module.exists() or about, f"{place} is the test of no module, and says nothing about itself"
