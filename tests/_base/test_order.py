"""Names with numbers in them, as people list them."""

import random

import pytest

from crest._base.order import natural_order


@pytest.mark.parametrize(
    "wanted",
    [
        ["600", "900", "1200"],
        [600, 900.5, 1200],
        ["-2.5", "-1", "1e3"],
        ["600 rpm", "900 rpm", "1200 rpm"],
        ["-1 g", "0.25 g", "0.5 g", "2 g"],
        ["load -1.5", "load 0.25", "load 0.5", "load 10"],
        ["run-2", "run-10"],
        ["600, high", "600, low", "1200, high"],
        ["fast", "slow"],
        ["7", "load 2", "load 10", "load 10b"],
        [("a", 2), ("a", 10)],
        [False, True],
    ],
)
def test_any_order_becomes_the_natural_one(wanted: list[object]) -> None:
    for seed in range(5):
        mixed = random.Random(seed).sample(wanted, len(wanted))
        assert natural_order(mixed) == wanted


def test_what_is_no_number_is_text() -> None:
    assert natural_order(["nan", "2", "10"]) == ["2", "10", "nan"]
    # Digits of other scripts are told by \d and read by int.
    assert natural_order(["x²", "x1"]) == ["x1", "x²"]
