"""Ties of target and condition, by hand: how strong they are, what breaks them, and errors averaged evenly."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor

from crest.exchange.ties import (
    ENOUGH,
    TIED,
    condition_columns,
    condition_names,
    decides,
    even_constant,
    even_error,
    telling_tie,
    tie_of,
    unvarying,
)
from crest.probes.errors import constant_prediction, rmse_or_error_rate


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


def test_each_trajectory_has_the_name_of_its_condition() -> None:
    speeds, loads = [900, 600, 600, 900], ["low", "low", "high", "low"]
    assert tie_of(torch.arange(4), speeds).names == ("900", "600", "600", "900")
    both = tie_of(torch.arange(4), {"speed": speeds, "load": loads})
    assert both.names == ("900, low", "600, low", "600, high", "900, low")
    # Of many numbers it is the group.
    assert (
        tie_of(torch.arange(20), list(range(20))).names[0]
        == tie_of(torch.arange(20), list(range(20))).conditions[0]
    )


def test_numbers_are_in_their_own_order_and_words_in_that_of_letters() -> None:
    tie = tie_of(torch.tensor([1.0, 1.0, 5.0, 5.0]), [1000, 600, 90, 90])
    assert tie.conditions == ("90", "600", "1000")
    assert tie_of(torch.tensor([1.0, 1.0, 5.0, 5.0]), ["b", "a", 10, 9]).conditions == ("9", "10", "a", "b")


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


@pytest.mark.parametrize(("rare", "plain"), [(50, 0.5), (10, 0.1), (2, 0.02)])
def test_a_constant_errs_evenly_however_rare_a_class_is(rare: int, plain: float) -> None:
    targets = torch.tensor([1] * rare + [0] * (100 - rare))
    tie = tie_of(targets, ["a", "b"] * 50)
    logits = torch.zeros(100, 2)
    assert float(rmse_or_error_rate(constant_prediction(targets, logits), targets)) == pytest.approx(plain)
    assert even_constant(logits, targets, tie, rmse_or_error_rate) == pytest.approx(0.5)


def test_the_best_constant_is_that_of_even_pairs() -> None:
    """The common class is in one pair and the rare one in three: evenly, the rare one is the better constant."""
    targets = torch.tensor([0] * 70 + [1] * 30)
    tie = tie_of(targets, ["a"] * 70 + ["a", "b", "c"] * 10)
    assert even_constant(torch.zeros(100, 2), targets, tie, rmse_or_error_rate) == pytest.approx(0.25)


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
    assert tie.conditions == ("0", "1 to 14")
    assert tie.counts.sum(0).tolist() == [50, 14]
    assert tie.columns.tolist() == sorted(tie.columns.tolist())


def test_a_frequent_number_between_others_is_a_group_of_its_own() -> None:
    column = torch.cat([torch.linspace(-2, -1, 30), torch.zeros(40), torch.linspace(1, 2, 30)])
    tie = tie_of(column, column)
    assert tie.targets[2] == "0"
    assert tie.counts.diagonal().tolist() == [20, 10, 40, 10, 20]
    assert tie.strength == pytest.approx(1.0)


@pytest.mark.parametrize("zeros", [0, 10, 21, 40, 60, 75, 85])
@pytest.mark.parametrize("at", [-1.0, 0.37, 2.0])
def test_no_group_is_empty_however_frequent_one_number_is(zeros: int, at: float) -> None:
    numbers = torch.cat([torch.full((zeros,), at), torch.linspace(0, 1, 100 - zeros)])
    tie = tie_of(numbers, numbers)
    assert int(tie.counts.sum(1).min()) > 0
    assert len(tie.targets) == len(set(tie.targets))
    ordered = tie.rows[numbers.argsort(stable=True)]
    assert ordered.tolist() == sorted(ordered.tolist())
    assert tie.strength == pytest.approx(1.0)
    if zeros > 20:
        assert len(set(numbers[tie.rows == tie.rows[0]].tolist())) == 1


def test_a_target_that_is_mostly_zero_is_tied_as_its_two_values_are() -> None:
    target = torch.cat([torch.zeros(75), torch.linspace(1, 2, 25)])
    conditions = ["abc"[number % 3] for number in range(75)] + ["de"[number % 2] for number in range(25)]
    tie = tie_of(target, conditions)
    assert tie.targets == ("0", "1 to 2")
    assert tie.strength == tie_of(target > 0, conditions).strength > 0.95


def test_a_target_that_nothing_has_does_not_lower_the_strength() -> None:
    tie = tie_of(*halves(20, 0))
    wider = dataclasses.replace(tie, targets=(*tie.targets, "none"), conditions=(*tie.conditions, "none"))
    assert wider.strength == tie.strength


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


def test_columns_can_be_read_again_and_given_again() -> None:
    found = condition_columns({"a": map(str, [1, 2]), "b": (1, 2), 3: torch.arange(2)})
    assert found == {"a": ["1", "2"], "b": [1, 2], "3": [0, 1]}
    assert condition_columns(found, 2) == found
    alone = condition_columns(one for one in "ab")
    assert alone == {"": ["a", "b"]}
    assert condition_names(alone, 2) == ["a", "b"]
    with pytest.raises(ValueError, match=r"^conditions\['b'\] must have shape \(N,\) = \(3,\), got \(2,\)"):
        condition_columns({"a": [1, 2, 3], "b": [1, 2]})


def test_conditions_must_tell_something() -> None:
    targets = torch.arange(6) % 2
    assert telling_tie(targets, [1, 1, 1, 2, 2, 2]).conditions == ("1", "2")
    # Many numbers repeat as groups.
    assert telling_tie(torch.arange(20) % 2, torch.linspace(0, 1, 20)).repeats
    # Beside one that varies, a column that does not is of no use and does no harm.
    columns = {"speed": [1, 2] * 3, "load": [3] * 6}
    assert telling_tie(targets, columns).conditions == ("1, 3", "2, 3")
    assert unvarying(columns) == ["conditions['load'] must vary, got 3 for every trajectory"]
    with pytest.raises(ValueError, match=r"^conditions must vary, got 'a' for every trajectory"):
        telling_tie(targets, ["a"] * 6)
    with pytest.raises(ValueError, match=r"^conditions must repeat, got 6 of them for 6 trajectories"):
        telling_tie(targets, list("abcdef"))
    with pytest.raises(ValueError, match=r"^conditions\['load'\] must vary, got 3 for every trajectory"):
        telling_tie(targets, {"load": [3] * 6, "place": ["here"] * 6})


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


def test_tensors_of_one_number_are_conditions_and_longer_ones_are_none() -> None:
    targets = torch.tensor([0, 1, 0, 1])
    numbers = [torch.tensor(600), torch.tensor(900), torch.tensor(600), torch.tensor(900)]
    assert tie_of(targets, numbers).conditions == ("600", "900")
    with pytest.raises(ValueError, match="conditions must name a condition for each trajectory"):
        tie_of(targets[:1], [torch.zeros(2)])
