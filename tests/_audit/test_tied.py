"""What trajectories that break a tie say: by hand, and on readers of the target and of the condition."""

import dataclasses

import pytest
import torch
from torch import Tensor

from crest._audit.tied import TieReading, tie_reading
from crest.exchange.ties import ENOUGH, condition_columns
from crest.probes import rmse
from crest.probes.errors import rmse_or_error_rate


def halves(straight: int = 20, breaking: int = 3) -> tuple[Tensor, Tensor]:
    """Targets and conditions, -1 and 1 each, that part in twice as many trajectories as `breaking` says."""
    targets = torch.tensor([-1.0] * (straight + breaking) + [1.0] * (straight + breaking))
    conditions = targets.clone()
    conditions[straight : straight + breaking] *= -1
    conditions[2 * straight + breaking :] *= -1
    return targets, conditions


def reading(answers: Tensor, targets: Tensor, conditions: object) -> TieReading:
    found, untold = tie_reading(answers, targets, condition_columns(conditions), rmse, 0)
    assert found is not None
    assert len(untold) == (1 if isinstance(conditions, dict) else 0)
    return found


def test_a_reader_of_the_target_holds_and_a_reader_of_the_condition_breaks() -> None:
    targets, conditions = halves()
    good, bad = (reading(answers, targets, conditions.tolist()) for answers in (targets, conditions))
    assert (good.breaking, bad.breaking) == (6, 6)
    assert (good.breaking_error, bad.breaking_error) == (0.0, 2.0)
    assert bad.other_error == 0.0
    assert (good.verdict(1.0), bad.verdict(1.0)) == ("events", "background")


def test_some_of_both_is_unclear() -> None:
    targets, conditions = halves()
    some = 0.8 * targets + 0.2 * conditions
    assert reading(some, targets, conditions).verdict(1.0) == "unclear"


@pytest.mark.parametrize(("breaking", "decides"), [(0, False), (1, False), (2, True)])
def test_four_are_enough(breaking: int, decides: bool) -> None:
    targets, conditions = halves(breaking=breaking)
    found = reading(conditions, targets, conditions)
    assert found.breaking == 2 * breaking
    assert (2 * breaking >= ENOUGH) == decides
    assert (found.verdict(1.0) is not None) == decides


def test_without_a_tie_nothing_breaks_it_and_without_a_constant_nothing_is_measured() -> None:
    targets, _ = halves()
    loose = reading(targets, targets, [1, 2] * (len(targets) // 2))
    assert not loose.tied
    assert (loose.breaking, loose.breaking_error, loose.verdict(1.0)) == (0, None, None)
    targets, conditions = halves()
    tied = reading(conditions, targets, conditions)
    assert tied.verdict(None) == "background"
    unknown = dataclasses.replace(tied, even_constant=None)
    assert unknown.verdict(None) is None
    assert unknown.verdict(0.0) is None


def test_one_error_of_many_condemns_no_model_because_a_class_is_rare() -> None:
    """A tenth of class 1: a constant errs by 0.1, and by 0.5 evenly. One of ten that break the tie is told wrong."""
    targets = torch.tensor([1] * 20 + [0] * 180)
    conditions = ["a"] * 4 + ["b"] * 16 + ["b"] * 6 + ["a"] * 174
    told = targets.clone()
    told[21] = 1
    logits = torch.nn.functional.one_hot(told, 2).double()
    found, _ = tie_reading(logits, targets, {"": conditions}, rmse_or_error_rate, 0)
    assert found.tied
    assert (found.breaking, found.breaking_error, found.other_error) == (10, pytest.approx(0.1), 0.0)
    assert found.even_constant == pytest.approx(0.5)
    assert found.verdict(0.1) != "background"
    assert dataclasses.replace(found, breaking_interval=(0.05, 0.2)).verdict(0.1) == "events"
    assert (
        dataclasses.replace(found, breaking_interval=(0.05, 0.2), even_constant=None).verdict(0.1)
        == "background"
    )


@pytest.mark.parametrize(
    ("error", "interval", "verdict"),
    [
        (0.1, (0.05, 0.2), "events"),
        (0.34, (0.3, 0.59), "events"),
        (0.34, (0.3, 0.6), "unclear"),
        (0.36, (0.3, 0.5), "unclear"),
        (0.6, (0.36, 0.9), "background"),
        (0.6, (0.35, 0.9), "unclear"),
        (0.59, (0.5, 0.9), "unclear"),
    ],
)
def test_the_limits_are_a_quarter_and_half_of_a_constants_error_above_the_others(
    error: float, interval: tuple[float, float], verdict: str
) -> None:
    """The others err by 0.1, a constant by 1."""
    found = TieReading(
        strength=0.9, tied=True, targets=("0",), conditions=("a",), counts=((9,),), errors=((0.1,),), breaking=4,
        breaking_error=error, breaking_interval=interval, other_error=0.1,
    )  # fmt: skip
    assert found.verdict(1.0) == verdict


def test_several_columns_and_the_table() -> None:
    targets, conditions = halves(8, 2)
    columns = {"speed": conditions.int().tolist(), "load": ["low"] * len(targets)}
    found = reading(conditions, targets, columns)
    assert found.conditions == ("-1, low", "1, low")
    assert found.counts == ((8, 2), (2, 8))
    assert found.errors == ((0.0, 2.0), (2.0, 0.0))
    head, first, second = found.lines()
    assert head.split() == ["-1,", "low", "1,", "low"]
    assert first.split() == ["-1", "8", "(0)", "2", "(2)"]
    assert len(head) == len(first) == len(second)


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        (["here"] * 8, "A condition tells nothing here: conditions must vary, got 'here' for every trajectory."),
        (list("abcdefgh"), "Nothing can be said about a tie of target and condition: each of the 8 trajectories has a condition of its own."),
    ],
)  # fmt: skip
def test_conditions_that_do_not_vary_or_never_repeat_have_no_tie(conditions: list[str], told: str) -> None:
    targets = torch.arange(8) % 2.0
    assert tie_reading(targets, targets, {"": conditions}, rmse, 0) == (None, [told])


@pytest.mark.parametrize(("kinds", "decides"), [(1, False), (2, True)])
def test_trajectories_of_one_group_alone_do_not_decide(kinds: int, decides: bool) -> None:
    """Every draw of one group is the same: an interval of no width would make a verdict of one recording."""
    targets, conditions = halves()
    breaking = targets != conditions
    groups = torch.arange(len(targets)) % 7
    groups[breaking] = 7 + torch.arange(6) % kinds
    found, _ = tie_reading(conditions, targets, {"": conditions.tolist()}, rmse, 0, groups=groups)
    assert found is not None
    assert (found.breaking, found.breaking_error, found.other_error) == (6, 2.0, 0.0)
    assert (found.breaking_interval is not None) == decides
    assert (found.verdict(1.0) is not None) == decides
