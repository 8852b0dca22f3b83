"""What `crest.repair` makes of a run's model, and what the audit says of it, with and without known conditions."""

import dataclasses
import functools
import math
from collections.abc import Iterable, Sized
from typing import Any

import torch
from torch import Tensor, nn

from crest._audit import audit
from crest._repair import repair
from crest._repair.repair import ruled
from crest.exchange import ExchangeSettings
from crest.exchange.ties import tie_of
from crest.lab.model import Model
from crest.lab.runs.record import RepairCandidate, RepairScore
from crest.lab.training import Schedule
from crest.probes import batches_of
from crest.recordings import Splits, Trajectories

DECLARED = ("offset", "drift", "tones", "gain", "colour", "rate")
"""What speed and load change in an accelerometer: none of it tells the size of a fault by itself."""


def measured_repair(model: Model, splits: Splits, schedule: Schedule, seed: int) -> RepairScore:
    """The candidates of a repair with their errors, and the picks with and without known conditions.

    Candidates are trained by the run's own schedule, from the trained weights. OOD labels are measured with and choose nothing.

    Args:
        model: trained.
        splits: whose training and ID trajectories have conditions.
        schedule: of the run.
        seed: of the run.
    """
    known = [_conditions(part) for part in (splits.train, splits.id)]
    settings = ExchangeSettings(seed=seed)
    found = repair(
        model,
        _batches(splits.train, schedule.batch),
        fit=functools.partial(train_further, schedule=schedule),
        validation=_batches(splits.id, schedule.batch),
        conditions=(known[0], known[1]),
        invariant=DECLARED,
        field=_batches(splits.ood, schedule.batch),
        channels_first=False,
        exchange=settings,
    )
    plain = {
        name: dataclasses.replace(row, even_error=None)
        for name, row in found.candidates.items()
        if not name.startswith("balanced")
    }
    x, y, *_ = splits.id.tensors()
    # All of them: those that break the tie are few, and are counted below.
    every = dataclasses.replace(settings, trajectories=len(y))
    verdicts = [
        audit(model, (x, y), channels_first=False, conditions=conditions, exchange=every).verdict
        for conditions in (known[1], None)
    ]
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
        verdict=verdicts[0],
        verdict_without=verdicts[1],
        breaking=int(tie_of(y, known[1]).breaking.sum()),
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
            loss: Tensor = nn.functional.mse_loss(model(x), y)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(parameters, schedule.clip)
            optimizer.step()
            cycle.step()


def _measured(what: str, value: float | None) -> float:
    """The value; a gap is no perfect score."""
    if value is None or not math.isfinite(value):
        raise ValueError(f"{what} must be a finite number, got {value}")
    return value


def _batches(data: Trajectories, size: int) -> list[tuple[Tensor, ...]]:
    x, y, *_ = data.tensors()
    return list(batches_of(x, y, size=size))


def _conditions(data: Trajectories) -> list[str]:
    if "condition" not in data.extra:
        raise ValueError("data must have conditions to measure a repair, got none")
    return [str(one) for one in data.extra["condition"].tolist()]
