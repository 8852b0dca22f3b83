"""What `crest.repair` makes of a run's model, and what the audit says of it, with and without known conditions."""

import dataclasses
import functools
import math
from collections.abc import Iterable, Sized
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from crest._audit import audit
from crest._repair import AS_IT_IS, repair
from crest._repair.repair import ruled
from crest.exchange import ExchangeSettings
from crest.exchange.ties import tie_of
from crest.lab.evaluation import worst_error
from crest.lab.model import Model
from crest.lab.runs.record import RepairCandidate, RepairScore
from crest.lab.training import Schedule
from crest.probes import batches_of
from crest.recordings import Splits, Trajectories


class RepairPlan(NamedTuple):
    """What a user would tell `crest.repair` about these recordings."""

    invariant: tuple[str, ...] = ("offset", "drift", "tones", "gain", "colour", "rate")
    """What is declared. By default what speed and load change in an accelerometer: none of it tells the size of a fault by itself."""
    known: bool = True
    """Whether the condition of each trajectory is told."""


# Wander and posture are known to no one who collects such data; nothing but the product's own defaults is declared.
_SMOOTH = RepairPlan(ExchangeSettings().invariant, known=False)
REPAIRS = {"mitbih": _SMOOTH, "sisfall": _SMOOTH}
"""By system, if it is not the default. our choice: docs/evidence/choices.md#field"""


def measured_repair(
    model: Model, splits: Splits, schedule: Schedule, seed: int, plan: RepairPlan
) -> RepairScore:
    """The candidates of a repair with their errors, and the picks with and without known conditions.

    Candidates are trained by the run's own schedule, from the trained weights. OOD labels are measured with and choose nothing.

    Args:
        model: trained.
        splits: whose training and ID trajectories have conditions.
        schedule: of the run.
        seed: of the run.
        plan: what is declared, and whether conditions are told.
    """
    known = [_conditions(part) if plan.known else None for part in (splits.train, splits.id)]
    settings = ExchangeSettings(seed=seed)
    found = repair(
        model,
        _batches(splits.train, schedule.batch, model),
        fit=functools.partial(train_further, schedule=schedule),
        validation=_batches(splits.id, schedule.batch, model),
        conditions=None if known[0] is None or known[1] is None else (known[0], known[1]),
        invariant=plan.invariant,
        field=_batches(splits.ood, schedule.batch, model),
        channels_first=False,
        exchange=settings,
    )
    plain = {
        name: dataclasses.replace(row, even_error=None)
        for name, row in found.candidates.items()
        if not name.startswith("balanced")
    }
    x, y, *_ = splits.id.tensors()
    y = _labels(y, model)
    # All of them: those that break the tie are few, and are counted below.
    every = dataclasses.replace(settings, trajectories=len(y))

    def verdict(asked: nn.Module, conditions: list[str] | None) -> str:
        return audit(asked, (x, y), channels_first=False, conditions=conditions, exchange=every).verdict

    before = verdict(model, known[1])
    return RepairScore(
        pick=found.name,
        without=ruled(plain).name,
        candidates={
            name: RepairCandidate(
                id=row.id_error,
                ood=_measured(f"field error of {name}", row.field_error),
                expected=_measured(f"expected error of {name}", row.expected_error),
                even=row.even_error,
                seconds=row.seconds,
            )
            for name, row in found.candidates.items()
        },
        verdict=before,
        verdict_without=before if known[1] is None else verdict(model, None),
        breaking=int(tie_of(y, _conditions(splits.id)).breaking.sum()),
        verdict_after=before if found.name == AS_IT_IS else verdict(found.model, known[1]),
        worst={
            name: worst
            for name, one in {AS_IT_IS: model, found.name: found.model}.items()
            if (worst := worst_error(one, splits.ood)) is not None
        },
    )


def train_further(model: nn.Module, batches: Iterable[Any], *, schedule: Schedule) -> None:
    """The run's own way to train, for any module and batches: AdamW under one cycle of the learning rate."""
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(
        parameters, lr=schedule.learning_rate, weight_decay=schedule.weight_decay, fused=True
    )
    # Not by a pass over them if they tell it: each pass over changed batches makes every change anew.
    updates = schedule.epochs * (len(batches) if isinstance(batches, Sized) else sum(1 for _ in batches))
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, schedule.learning_rate, total_steps=updates)
    model.train()
    for _ in range(schedule.epochs):
        for x, y in batches:
            optimizer.zero_grad()
            answers: Tensor = model(x)
            of_classes = answers.ndim == 2
            loss = (
                nn.functional.cross_entropy(answers, y) if of_classes else nn.functional.mse_loss(answers, y)
            )
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(parameters, schedule.clip)
            optimizer.step()
            cycle.step()


def _measured(what: str, value: float | None) -> float:
    """The value; a gap is no perfect score."""
    if value is None or not math.isfinite(value):
        raise ValueError(f"{what} must be a finite number, got {value}")
    return value


def _labels(y: Tensor, model: Model) -> Tensor:
    return y.long() if model.outputs > 1 else y


def _batches(data: Trajectories, size: int, model: Model) -> list[tuple[Tensor, ...]]:
    x, y, *_ = data.tensors()
    return list(batches_of(x, _labels(y, model), size=size))


def _conditions(data: Trajectories) -> list[str]:
    if "condition" not in data.extra:
        raise ValueError("data must have conditions to measure a repair, got none")
    return [str(one) for one in data.extra["condition"].tolist()]
