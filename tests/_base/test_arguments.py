"""Rules in words: what each allows, and the sentence in which it refuses."""

import dataclasses
import re
import subprocess
import sys

import numpy as np
import pytest

from crest._base.arguments import (
    as_numbers,
    obeys,
    require,
    require_choice,
    require_fields,
    require_known,
    require_shape,
)

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        ("be positive", [1e-300, 1, 7.5], [0, 0.0, -1]),
        ("be finite", [-1e300, 0, 3], []),
        ("be 0 or more", [0, 0.0, 2.5], [-1e-9, -1]),
        ("be 1 or more", [1, 1.0, 10**400], [0.999, 0]),
        ("be -2.5 or more", [-2.5, 0], [-2.6]),
        ("lie in [0, 1]", [0, 0.5, 1], [-0.1, 1.1]),
        ("lie in (0, 1)", [1e-9, 0.999], [0, 1]),
        ("lie in (0, 1]", [1e-9, 1], [0, 1.1]),
        ("lie in [0, 1)", [0, 0.999], [-0.1, 1]),
        ("lie in (0, 0.5]", [0.2, 0.5], [0, 0.6]),
        ("lie in [-1, 1]", [-1, 1], [-1.1, 1.1]),
        ("be a whole number, 0 or more", [0, 3, 10**400], [-1, 3.0, 0.5]),
        ("be a whole number, 2 or more", [2], [1, 2.0]),
        ("be a whole number in [1, 20]", [1, 20], [0, 21, 3.0]),
    ],
)
def test_a_rule_allows_what_its_words_say(rule: str, inside: list[float], outside: list[float]) -> None:
    for value in inside:
        assert obeys(value, rule), value
        require("a", value, rule)
    for value in [*outside, NAN, INF, -INF, True, False, None, "1", [1], 1j]:
        assert not obeys(value, rule), value
        with pytest.raises(ValueError, match=rf"^a must {re.escape(rule)}, got {re.escape(repr(value))}$"):
            require("a", value, rule)


def test_a_switch_is_no_number_and_a_number_no_switch() -> None:
    for value in (True, False):
        require("a", value, "be True or False")
    for value in (0, 1, None, "True"):
        with pytest.raises(ValueError, match=rf"^a must be True or False, got {value!r}$"):
            require("a", value, "be True or False")


@pytest.mark.parametrize("whole", [np.int64(3), np.uint8(3)])
def test_numbers_of_numpy_are_numbers(whole: object) -> None:
    require("a", whole, "be a whole number, 3 or more")
    require("a", np.float32(0.5), "lie in (0, 1)")
    assert not obeys(np.float64(3.0), "be a whole number, 1 or more")
    with pytest.raises(ValueError, match=r"^a must be positive, got -1\.5$"):
        require("a", np.float32(-1.5), "be positive")
    with pytest.raises(ValueError, match=r"^a must be a whole number, 4 or more, got 3$"):
        require("a", whole, "be a whole number, 4 or more")
    assert not obeys(np.bool_(True), "be positive")


def test_of_an_array_the_first_culprit_is_named() -> None:
    values = np.array([[0.5, 1.0], [0.0, 2.0]])
    require("x", values, "be 0 or more")
    with pytest.raises(ValueError, match=r"^x must lie in \(0, 1\], got 0\.0 at index \[1, 0\]$"):
        require("x", values, "lie in (0, 1]")
    with pytest.raises(ValueError, match=r"^x must be finite, got nan at index \[1\]$"):
        require("x", np.array([0.0, NAN, INF]), "be finite")
    with pytest.raises(ValueError, match=r"^x must be positive, got -1\.0$"):
        require("x", np.array(-1.0), "be positive")
    require("x", np.array([1, 2]), "be a whole number, 1 or more")
    for wrong in (np.array([1.0]), np.array([True]), np.array(["1"])):
        with pytest.raises(
            ValueError, match=rf"^x must be a whole number, 1 or more, got an array of {wrong.dtype}$"
        ):
            require("x", wrong, "be a whole number, 1 or more")
    assert not obeys(np.array([1j]), "be finite")
    assert obeys(np.array([]), "be positive")


@pytest.mark.parametrize(
    "rule",
    ["be nice", "be a whole number", "lie in [0; 1]", "lie in 0..1", "positive", "be positive, in steps", ""],
)
def test_words_that_are_no_rule_are_a_mistake_of_the_caller(rule: str) -> None:
    with pytest.raises(ValueError, match=r"rule must be in words that crest\._base\.arguments reads"):
        require("a", 1, rule)


def test_fields_are_checked_in_order() -> None:
    @dataclasses.dataclass
    class Sizes:
        train: int = 1
        id: int = 0
        ood: int = -1

    require_fields(Sizes(), "be a whole number, 1 or more", "train")
    require_fields(Sizes(), "be positive")
    with pytest.raises(ValueError, match=r"^id must be a whole number, 1 or more, got 0$"):
        require_fields(Sizes(), "be a whole number, 1 or more", "train", "id", "ood")


def test_numbers_become_arrays_of_float64() -> None:
    for value, expected in (
        (3, 3.0),
        (np.float32(0.5), 0.5),
        ([1, 2.5], [1.0, 2.5]),
        (np.arange(3), [0.0, 1.0, 2.0]),
    ):
        found = as_numbers("a", value, "be 0 or more")
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)
    own = np.array([0.5])
    assert as_numbers("a", own, "be positive") is own
    with pytest.raises(ValueError, match=r"^T must be 1 or more, got 0$"):
        as_numbers("T", 0, "be 1 or more")
    with pytest.raises(ValueError, match=r"^T must be 1 or more, got 0\.5 at index \[1\]$"):
        as_numbers("T", [1.0, 0.5], "be 1 or more")


@pytest.mark.unchecked
@pytest.mark.parametrize("value", ["3", None, [True], {"a": 1}])
def test_what_is_no_number_becomes_no_array(value: object) -> None:
    with pytest.raises(ValueError, match=r"^a must be finite, got an array of "):
        as_numbers("a", value, "be finite")  # type: ignore[arg-type]


def test_an_unknown_choice_lists_the_choices() -> None:
    require_choice("direction", "stable", ("transient", "stable"))
    require_choice("load", 3, {0: "none", 3: "full"})
    require_choice("load", 2, (n for n in (1, 2)))
    with pytest.raises(ValueError, match=r"^direction must be one of transient, stable, got 'up'$"):
        require_choice("direction", "up", ("transient", "stable"))
    with pytest.raises(ValueError, match=r"^load must be one of 0, 3, got 7$"):
        require_choice("load", 7, {0: "none", 3: "full"})
    with pytest.raises(ValueError, match=r"^load must be one of 0, 3, got \[0\]$"):
        require_choice("load", [0], {0: "none", 3: "full"})


def test_unknown_names_are_refused_together() -> None:
    require_known("gear", "parameter", {"teeth": 3}, {"steps": 1, "teeth": 2})
    require_known("gear", "parameter", [], [])
    with pytest.raises(ValueError, match=r"^gear has no parameter colour, speed; it has steps, teeth$"):
        require_known("gear", "parameter", {"speed": 1, "teeth": 3, "colour": 2}, ["steps", "teeth"])


def test_shapes() -> None:
    array = np.zeros((2, 3))
    require_shape("x", array, "(N, T)", (2, 3))
    require_shape("x", array, "(N, T)", (None, 3))
    require_shape("x", np.zeros(()), "()", ())
    with pytest.raises(ValueError, match=r"^x must have shape \(N, T\) = \(2, 4\), got \(2, 3\)$"):
        require_shape("x", array, "(N, T)", (2, 4))
    with pytest.raises(ValueError, match=r"^x must have shape \(N,\) = \(2,\), got \(2, 3\)$"):
        require_shape("x", array, "(N,)", (2,))
    with pytest.raises(ValueError, match=r"^x must have shape \(N, T, C\), none of them 0, got \(2, 3\)$"):
        require_shape("x", array, "(N, T, C)", (None, None, None))
    with pytest.raises(ValueError, match=r"^x must have shape \(N, T\), none of them 0, got \(2, 0\)$"):
        require_shape("x", np.zeros((2, 0)), "(N, T)", (None, None))


def test_arguments_need_no_torch() -> None:
    code = "import sys, crest._base.arguments; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout.strip() == "False", result.stderr
