"""The versions that pyproject.toml declares are those that `make versions` tests, which takes too long to run here."""

import re

import pytest
from packaging.requirements import Requirement

from pins import DECLARED, PINNED, PROJECT, pythons, steps


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
