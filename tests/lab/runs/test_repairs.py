"""A repair as a run measures it: on trajectories with a condition that is tied to the target."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import crest
from crest import ExchangeSettings
from crest.lab.model import make_model
from crest.lab.runs import repairs
from crest.lab.runs.record import RepairScore
from crest.lab.runs.repairs import REPAIRS, RepairPlan, measured_repair, train_further
from crest.lab.runs.spec import RunSpec
from crest.lab.training import Schedule
from crest.nuisances import NAMES
from crest.recordings import Splits, Trajectories

SCHEDULE = Schedule(epochs=1, batch=16)
ALL = RepairPlan()


def tied(count: int, seed: int, *, conditions: bool = True) -> Trajectories:
    """Bursts whose size is the target, on noise whose gain is that of the condition, which the target tells for most."""
    numbers = np.random.default_rng(seed)
    sizes = numbers.integers(0, 2, count)
    speeds = np.where(numbers.random(count) < 0.8, sizes, 1 - sizes)
    x = (0.1 + 0.4 * speeds)[:, None, None] * numbers.standard_normal((count, 64, 1))
    x[:, 30:34, 0] += 1.0 + sizes[:, None]
    return Trajectories(
        x=x.astype(np.float32), y=sizes.astype(np.float64), events=None, proxy=None, sample_rate=1.0, channels=("a",),
        source="made up", extra={"condition": speeds.astype(str)} if conditions else {},
    )  # fmt: skip


def splits(*, conditions: bool = True, count: int = 48) -> Splits:
    return Splits(**{
        name: tied(count, seed, conditions=conditions) for seed, name in enumerate(("train", "id", "ood"), 1000)
    })  # fmt: skip


@pytest.mark.slow
def test_picks_and_errors_of_every_candidate_are_there() -> None:
    torch.manual_seed(1000)
    model = make_model("cnn", "mean", channels=1, seed=1000).eval()
    found = measured_repair(model, splits(), SCHEDULE, 1000, RepairPlan())
    assert found.pick in found.candidates
    assert found.without is None or found.without in found.candidates
    assert not (found.without or "").startswith("balanced")
    assert any(name.startswith("balanced") for name in found.candidates)
    assert all(one.even is not None and one.ood > 0 for one in found.candidates.values())
    assert found.breaking >= 4


def test_without_conditions_there_is_nothing_to_measure() -> None:
    with pytest.raises(ValueError, match="data must have conditions"):
        measured_repair(
            make_model("cnn", "mean", channels=1, seed=1000).eval(),
            splits(conditions=False),
            SCHEDULE,
            1000,
            RepairPlan(),
        )


def test_a_spec_asks_for_it_only_where_there_are_conditions() -> None:
    with pytest.raises(ValueError, match="measures must be without repair for gear"):
        RunSpec(system="gear", readout="mean", seed=1000, measures=("repair",))


def test_training_goes_on_from_the_weights_that_are_there() -> None:
    torch.manual_seed(1000)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(8, 1), torch.nn.Flatten(0))
    x, y = torch.randn(32, 8, 1), torch.randn(32)
    before = float((model(x) - y).square().mean())
    train_further(model, [(x, y)], schedule=Schedule(epochs=50))
    assert float((model(x) - y).square().mean()) < before


class Passes(list[Any]):
    """Batches that count how often they are read."""

    count = 0

    def __iter__(self) -> Iterator[Any]:
        self.count += 1
        return super().__iter__()


def test_batches_are_not_read_only_to_count_them() -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(8, 1), torch.nn.Flatten(0))
    batches = Passes([(torch.randn(4, 8, 1), torch.randn(4))] * 3)
    train_further(model, batches, schedule=Schedule(epochs=2))
    assert batches.count == 2


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Repairs try nothing, which is quick; what repair and audit returned."""
    found: list[Any] = []

    def kept(function: Any, **options: Any) -> Any:
        def called(*arguments: Any, **given: Any) -> Any:
            found.append(function(*arguments, **given, **options))
            return found[-1]

        return called

    monkeypatch.setattr(repairs, "repair", kept(repairs.repair, remedies=[]))
    monkeypatch.setattr(repairs, "audit", kept(repairs.audit))
    return found


def measured(count: int = 48, plan: RepairPlan = ALL) -> RepairScore:
    model = make_model("cnn", "mean", channels=1, seed=1000).eval()
    return measured_repair(model, splits(count=count), SCHEDULE, 1000, plan)


def test_the_repair_declares_all_that_a_speed_changes_and_the_audit_what_is_never_an_event(
    untrained: list[Any],
) -> None:
    measured()
    repaired, *audits = untrained
    assert set(repaired.before.exchange.invariant) == set(NAMES) - {"surroundings"}
    assert {one.exchange.invariant for one in audits} == {ExchangeSettings().invariant}


def test_the_audit_sees_every_trajectory_of_which_those_that_break_the_tie_are_counted(
    untrained: list[Any],
) -> None:
    found = measured(count=132)
    known, unknown = untrained[1:]
    assert known.exchange.trajectories == unknown.exchange.trajectories == 132
    assert known.tie.breaking == found.breaking


@pytest.mark.parametrize("system", ["mitbih", "sisfall"])
def test_wander_and_posture_are_not_told(system: str, untrained: list[Any]) -> None:
    """Nor is anything declared but the product's defaults."""
    found = measured(plan=REPAIRS[system])
    repaired, *audits = untrained
    assert all(one.even_error is None for one in repaired.candidates.values())
    assert repaired.before.exchange.invariant == ExchangeSettings().invariant
    # One question, asked of the model; the pick is the model.
    assert len(audits) == 1
    assert audits[0].tie is None
    assert found.verdict == found.verdict_without == found.verdict_after == audits[0].verdict


def test_the_worst_cell_is_that_of_the_given_model_and_of_the_pick(untrained: list[Any]) -> None:
    found = measured()
    (only,) = found.worst
    assert found.pick == only == "as it is"
    # The mean of squares over all is no larger than that of the worst pair of target and condition.
    assert found.worst[only] >= found.candidates[only].ood
    assert untrained


@pytest.mark.parametrize("gap", [math.nan, None])
def test_a_gap_is_no_perfect_score(monkeypatch: pytest.MonkeyPatch, gap: float | None) -> None:
    def holed(*arguments: Any, **options: Any) -> Any:
        found = crest.repair(*arguments, **options, remedies=[])
        rows = {name: dataclasses.replace(row, field_error=gap) for name, row in found.candidates.items()}
        return dataclasses.replace(found, candidates=rows)

    monkeypatch.setattr(repairs, "repair", holed)
    with pytest.raises(ValueError, match=r"^field error of as it is must be a finite number, got (None|nan)"):
        measured(count=24)
