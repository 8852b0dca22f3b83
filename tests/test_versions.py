"""The versions that pyproject.toml declares are those that `make versions` tests, which takes too long to run here."""

import os
import re
import shutil
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED = {
    f"{extra}: {text}": Requirement(text)
    for extra, texts in {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}.items()
    for text in texts
    # The development extra takes the others.
    if not text.startswith(PROJECT["name"])
}
PINNED = {
    name.lower().replace("_", "-"): Version(version)
    for name, version in re.findall(
        r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE
    )
}


def pythons() -> list[str]:
    """The versions of Python that the package says it is for, from the lowest."""
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    return sorted(named, key=Version)


def steps(*words: str) -> str:
    """What make would do."""
    if shutil.which("make") is None:
        pytest.skip("make is missing")
    # Whether the environments are there already or not.
    command = ["make", "--dry-run", "--always-make", "--no-print-directory", *words]
    # Not those of a make that runs these tests.
    settings = {"PATH": os.environ["PATH"]}
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=settings).stdout


@pytest.mark.parametrize("requirement", DECLARED.values(), ids=list(DECLARED))
def test_every_dependency_has_a_lowest_version_which_the_pinned_one_is_not_below(
    requirement: Requirement,
) -> None:
    """Without one the lowest is the first that was ever published."""
    (bound,) = requirement.specifier
    assert bound.operator == ">="
    assert requirement.name.lower() in PINNED
    assert PINNED[requirement.name.lower()] in requirement.specifier


def test_an_extra_asks_for_the_same_version_as_another() -> None:
    for one in DECLARED.values():
        assert {str(other.specifier) for other in DECLARED.values() if other.name == one.name} == {
            str(one.specifier)
        }


def test_the_lowest_python_and_the_newest_are_tested() -> None:
    assert PROJECT["requires-python"] == f">={pythons()[0]}"
    done = steps("versions")
    wanted = [("lowest", pythons()[0], "lowest-direct"), ("newest", pythons()[-1], "highest")]
    for place, python, resolution in wanted:
        assert f"--python python{python} .versions/{place} " in done
        assert f"--python .versions/{place}/bin/python --resolution {resolution} -e '.[dev]'" in done
        assert re.search(rf"^\.versions/{place}/bin/python -m pytest", done, re.MULTILINE)
        assert re.search(
            rf"^CREST_CHECK_SHAPES=0 \.versions/{place}/bin/python -m pytest", done, re.MULTILINE
        )


def test_a_python_and_the_tests_can_be_named() -> None:
    done = steps("versions-newest", "PYTHON_NEWEST=3.14", "TESTS=tests/readouts")
    assert "--python 3.14 .versions/newest " in done
    assert done.count("-m pytest -n 2 tests/readouts") == 2
    assert "lowest" not in done
