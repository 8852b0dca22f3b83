"""What `make release` looks for in sdist and wheel, and which extras it tries; the program itself runs in CI."""

import re

import pytest

from pins import PINNED, PROJECT, steps
from places import ROOT
from release import LICENCES, SMOKE, USUAL, wrong_in_sdist, wrong_in_wheel

INFO = "crest_readout-0.1.0.dist-info"
WHEEL = {"crest/__init__.py", "crest/py.typed", f"{INFO}/METADATA", *(f"{INFO}/{name}" for name in LICENCES)}
SDIST = {
    "PKG-INFO",
    "pyproject.toml",
    "LICENSE",
    "README.md",
    "Makefile",
    "requirements.lock",
    "tests/conftest.py",
}


def test_a_wheel_that_has_what_it_needs_is_right() -> None:
    assert wrong_in_wheel(WHEEL, ["__init__.py"]) == []


@pytest.mark.parametrize("name", sorted(WHEEL - {f"{INFO}/METADATA"}))
def test_what_a_wheel_lacks_is_told(name: str) -> None:
    (told,) = wrong_in_wheel(WHEEL - {name}, ["__init__.py"])
    assert told.startswith(name.removeprefix(f"{INFO}/"))


@pytest.mark.parametrize(
    "name",
    [
        "tests/test_release.py",
        "crest/tests/test_it.py",
        "crest/results/records.jsonl",
        "crest/a.npz",
        "crest/a.ipynb",
        "crest/picture.png",
        "crest/__pycache__/a.py",
        "docs/index.md",
    ],
)
def test_what_does_not_belong_in_a_wheel_is_told(name: str) -> None:
    assert wrong_in_wheel({*WHEEL, name}, ["__init__.py"]) == [f"{name} does not belong in a wheel"]


def test_an_sdist_has_what_the_repository_has() -> None:
    assert wrong_in_sdist(SDIST, SDIST) == []
    assert wrong_in_sdist({*SDIST, "docs/_build/a.html"}, SDIST) == [
        "docs/_build/a.html is not in the repository"
    ]
    assert wrong_in_sdist(SDIST - {"Makefile"}, SDIST) == ["Makefile is missing"]


def test_every_extra_is_tried_but_that_of_the_clone() -> None:
    tried = {extra for extras in SMOKE for extra in filter(None, extras.split(","))}
    assert tried == set(PROJECT["optional-dependencies"]) - {"dev"}
    assert set(USUAL) <= set(SMOKE)


def test_make_and_ci_run_it_with_the_pinned_torch() -> None:
    done = steps("release", "EXTRAS=all")
    assert f"tests/release.py --torch 'torch=={PINNED['torch']}' --extras 'all'" in done
    ci = (ROOT / ".ci" / "run").read_text()
    assert {"release", "lock", "versions-lowest"} <= set(re.findall(r"^make ([\w-]+)", ci, re.MULTILINE))
