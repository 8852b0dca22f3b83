"""Ties of target and condition, by hand: how strong they are, what breaks them, and errors averaged evenly."""

import numpy as np
import pytest
import torch
from torch import Tensor

from crest.exchange.ties import (
    ENOUGH,
    TIED,
    condition_names,
    decides,
    even_error,
    rereadable_conditions,
    tie_of,
)


def halves(straight: int, breaking: int) -> tuple[Tensor, list[str]]:
    """Two targets and two conditions: so many of each target under its own condition, and so many under the other's."""
    targets = torch.tensor([0] * (straight + breaking) + [1] * (straight + breaking))
    conditions = ["a"] * straight + ["b"] * breaking + ["b"] * straight + ["a"] * breaking
    return targets, conditions


def test_counts_and_names() -> None:
    tie = tie_of(torch.tensor([1.0, 1.0, 5.0, 5.0]), [900, 600, 600, 600])
    assert (tie.targets, tie.conditions) == (("1", "5"), ("600", "900"))
    assert tie.counts.tolist() == [[1, 1], [2, 0]]
    assert {cell: rows.tolist() for cell, rows in tie.cells.items()} == {
        (0, 0): [1],
        (0, 1): [0],
        (1, 0): [2, 3],
    }


@pytest.mark.parametrize(
    ("straight", "breaking", "tied"),
    [(20, 0, True), (19, 1, True), (16, 4, True), (14, 6, False), (10, 10, False)],
)
def test_a_tie_is_as_strong_as_it_is_straight(straight: int, breaking: int, tied: bool) -> None:
    tie = tie_of(*halves(straight, breaking))
    share = (straight - breaking) / (straight + breaking)
    # Of two halves Cramér's V is the share by which one side is more frequent; the correction takes little off.
    assert tie.strength == pytest.approx(share, abs=0.06)
    assert tie.tied == tied == (tie.strength >= TIED)


def test_conditions_drawn_without_a_look_at_the_target_are_not_tied() -> None:
    numbers = np.random.default_rng(0)
    strengths = [
        tie_of(torch.from_numpy(numbers.normal(size=60)), numbers.integers(0, 5, 60)).strength
        for _ in range(50)
    ]
    assert np.mean(strengths) < 0.15
    assert max(strengths) < TIED


def test_those_that_break_a_tie_are_the_rare_ones() -> None:
    tie = tie_of(*halves(16, 2))
    assert tie.breaking.nonzero().flatten().tolist() == [16, 17, 34, 35]
    assert decides(tie)
    assert not tie_of(*halves(10, 10)).breaking.any()


@pytest.mark.parametrize(("straight", "breaking"), [(20, 0), (20, 1), (10, 10), (13, 7)])
def test_too_few_or_no_tie_decides_nothing(straight: int, breaking: int) -> None:
    assert 2 * 1 < ENOUGH <= 2 * 2
    assert not decides(tie_of(*halves(straight, breaking)))


def test_even_weights_make_every_pair_as_frequent() -> None:
    tie = tie_of(*halves(16, 2))
    sums = [float(tie.even_weights[rows].sum()) for rows in tie.cells.values()]
    assert sums == pytest.approx([9.0] * 4)
    assert float(tie.even_weights.mean()) == pytest.approx(1.0)


def test_an_even_error_counts_a_rare_pair_as_much_as_a_frequent_one() -> None:
    targets, conditions = halves(16, 2)
    tie = tie_of(targets, conditions)
    reads_condition = torch.tensor([float(one == "b") for one in conditions])

    def wrong(found: Tensor, wanted: Tensor) -> Tensor:
        return (found != wanted).double().mean()

    assert float(wrong(reads_condition, targets)) == pytest.approx(4 / 36)
    assert even_error(reads_condition, targets, tie, wrong) == pytest.approx(0.5)
    assert even_error(targets.double(), targets, tie, wrong) == 0.0


def test_many_numbers_are_put_in_groups_of_the_same_size() -> None:
    numbers = torch.linspace(0, 1, 100)
    tie = tie_of(numbers, numbers)
    assert len(tie.targets) == len(tie.conditions) == 5
    assert tie.counts.diagonal().tolist() == [20] * 5
    assert tie.strength == pytest.approx(1.0)
    assert tie.targets[0] == "0 to 0.2"
    # Ten values or fewer are taken as they are, and so are names, however many.
    assert len(tie_of(torch.arange(10), torch.arange(10)).targets) == 10
    assert len(tie_of(torch.arange(30) % 2, [f"machine {one}" for one in range(30)]).conditions) == 30


def test_groups_of_a_column_that_is_mostly_one_number_keep_their_order() -> None:
    column = [0.0] * 50 + list(range(1, 15))
    tie = tie_of(torch.arange(64) % 2, column)
    assert int(tie.counts.sum()) == 64
    assert tie.columns.tolist() == sorted(tie.columns.tolist())


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor, iter])
def test_columns_come_in_any_form(kind: object) -> None:
    speeds = [600, 900] * 8
    tie = tie_of(torch.tensor([0, 1] * 8), kind(speeds))
    assert tie.conditions == ("600", "900")
    assert tie.strength == pytest.approx(1.0)


def test_several_columns_are_joined() -> None:
    columns = {"speed": [600, 600, 900, 900], "load": np.array(["low", "high", "low", "high"])}
    tie = tie_of(torch.tensor([0, 0, 1, 1]), columns)
    assert tie.conditions == ("600, high", "600, low", "900, high", "900, low")
    assert condition_names(columns, 4) == ["600, low", "600, high", "900, low", "900, high"]
    assert condition_names([1, 2], 2) == [1, 2]


def test_a_target_or_a_condition_that_does_not_vary_is_tied_to_nothing() -> None:
    for targets, conditions in ((torch.zeros(8), [1, 2] * 4), (torch.arange(8), ["a"] * 8)):
        tie = tie_of(targets, conditions)
        assert (tie.strength, tie.tied, decides(tie)) == (0.0, False, False)
        assert not tie.breaking.any()


def test_it_prints_counts() -> None:
    assert repr(tie_of(*halves(16, 2))).splitlines() == [
        "        a       b",
        "0      16       2",
        "1       2      16",
    ]


def test_what_can_be_read_once_is_made_a_list_and_the_rest_is_left() -> None:
    given = torch.arange(3)
    assert rereadable_conditions(given) is given
    assert rereadable_conditions(one for one in "ab") == ["a", "b"]
    assert rereadable_conditions({"a": map(str, [1, 2]), "b": (1, 2)}) == {"a": ["1", "2"], "b": (1, 2)}
    assert rereadable_conditions("bench") == "bench"


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ([1, 2, 3], r"^conditions must have shape \(N,\) = \(4,\)"),
        ({"speed": [1, 2, 3, 4], "load": [1]}, r"^conditions\['load'\] must have shape \(N,\) = \(4,\)"),
        ({}, "^conditions must have a column or more, got none"),
        ("abcd", "^conditions must name a condition for each trajectory, got str"),
        (torch.zeros(4, 2), r"^conditions must name a condition for each trajectory, got shape \(4, 2\)"),
        ([1, 2, None, 4], "^conditions must name a condition for each trajectory, got None"),
        ([1, 2, float("nan"), 4], "^conditions must name a condition for each trajectory, got nan"),
        ({"load": [[1], [2], [3], [4]]}, r"^conditions\['load'\] must name a condition .* got \[1\]"),
    ],
)
def test_messages(conditions: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tie_of(torch.arange(4), conditions)
    with pytest.raises(ValueError, match=message):
        condition_names(conditions, 4)


@pytest.mark.unchecked
def test_a_number_is_no_conditions() -> None:
    with pytest.raises(ValueError, match=r"^conditions must name a condition for each trajectory, got int"):
        tie_of(torch.arange(4), 7)
