"""Training: `fit` is never handed an out-of-distribution split."""

import copy
import dataclasses
import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from crest._base import rng
from crest._base.arguments import require, require_fields
from crest._base.doors import door
from crest.lab.model import Model
from crest.lab.objectives import CrossEntropy, MeanSquaredError, Objective, TrainingBatch
from crest.recordings import Trajectories

Observer = Callable[[int, Model], None]
"""Called with the number of epochs done and a copy of the model: it can look, and changes nothing."""


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long and how fast to train: AdamW under one cycle of the learning rate.

    Args:
        epochs: passes over the training set.
        batch: trajectories per update; the last batch of an epoch may be smaller.
        learning_rate: at the cycle's peak.
        weight_decay: AdamW's.
        clip: largest norm of a gradient.
    """

    epochs: int
    # our choice: docs/evidence/choices.md#schedules
    batch: int = 32
    learning_rate: float = 5e-3
    weight_decay: float = 1e-4
    clip: float = 1.0

    def __post_init__(self) -> None:
        require_fields(self, "be a whole number, 1 or more", "epochs", "batch")
        require_fields(self, "be positive", "learning_rate", "clip")
        require_fields(self, "be 0 or more", "weight_decay")

    def times(self, factor: int) -> "Schedule":
        """The same with so many times the epochs.

        Example:
            >>> Schedule(epochs=40).times(4).epochs
            160
        """
        return dataclasses.replace(self, epochs=factor * self.epochs)


SCHEDULES = {  # our choice: docs/evidence/choices.md#schedules
    "pointwise": Schedule(epochs=60, learning_rate=1e-2),
    "local": Schedule(epochs=60),
    "gru": Schedule(epochs=40, batch=64, learning_rate=1e-2),
    "attention": Schedule(epochs=30),
    "cnn": Schedule(epochs=60, learning_rate=1e-2),
    "residual": Schedule(epochs=60, learning_rate=3e-3),
    "patch": Schedule(epochs=60, learning_rate=3e-3),
}
"""One schedule per encoder, the same for every readout and system."""
OWN_SCHEDULE = Schedule(epochs=60)  # our choice: docs/evidence/choices.md#schedules
"""That of encoders which are the user's own code."""


def fit(
    model: Model,
    train: Trajectories,
    *,
    schedule: Schedule,
    seed: int,
    objective: Objective | None = None,
    augmentation: Callable[..., Tensor] | None = None,
    observer: Observer | None = None,
    observe_every: int = 1,
) -> list[float]:
    """Train the model in place, and leave it in evaluation mode; the mean training loss of each epoch.

    The weights are those of the last epoch: nothing is chosen by looking at other data.

    Args:
        model: trained in place. Its input scale is set from `train`.
        train: what the loss sees.
        schedule: length and speed.
        seed: of the order of the batches, which depends on nothing else but the number of trajectories.
        objective: what to minimise; by default the mean squared error, or the cross-entropy for a model of classes.
        augmentation: changes the signals of each training batch.
        observer: see `Observer`.
        observe_every: epochs between two looks; it also looks before training and after the last epoch.
    """
    require("observe_every", observe_every, "be a whole number, 1 or more")
    objective = objective or (CrossEntropy() if model.outputs > 1 else MeanSquaredError())
    if train.classes and model.outputs != len(train.classes):
        raise ValueError(
            f"model must have an output for each of the {len(train.classes)} classes of train "
            f"({', '.join(train.classes)}), got {model.outputs}"
        )
    everything = TrainingBatch(*train.tensors())
    model.standardize.fit(everything.x)
    objective.prepare(model, everything)
    seen = objective.training_set(model, everything)
    updates = schedule.epochs * math.ceil(len(seen.y) / schedule.batch)
    parameters = [*model.parameters(), *objective.parameters()]
    optimizer = torch.optim.AdamW(
        parameters, lr=schedule.learning_rate, weight_decay=schedule.weight_decay, fused=True
    )
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, schedule.learning_rate, total_steps=updates)
    order = rng.torch_generator(seed, "batches")
    losses: list[float] = []
    _look(observer, 0, model)
    for epoch in range(1, schedule.epochs + 1):
        model.train()
        total = 0.0
        for rows in _shuffled(len(seen.y), schedule.batch, order):
            batch = seen.rows(rows)
            if augmentation is not None:
                batch = batch._replace(x=augmentation(batch.x))
            loss = _loss(objective, model, batch, epoch)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(parameters, schedule.clip)
            optimizer.step()
            cycle.step()
            total += loss.item() * len(rows)
        if not math.isfinite(total):
            raise ArithmeticError(f"training diverged: the loss is {total} in epoch {epoch}")
        losses.append(total / len(seen.y))
        if epoch % observe_every == 0 or epoch == schedule.epochs:
            _look(observer, epoch, model)
    objective.finish(model, everything)
    model.eval()
    return losses


def _shuffled(n: int, batch: int, order: torch.Generator) -> Iterator[Tensor]:
    yield from torch.split(torch.randperm(n, generator=order), batch)


def _loss(objective: Objective, model: Model, batch: TrainingBatch, epoch: int) -> Tensor:
    try:
        return objective.loss(model, batch)
    except ValueError as error:  # a readout refuses features that are not finite
        if torch.isfinite(model.features(batch.x)).all():
            raise
        raise ArithmeticError(f"training diverged: the features are not finite in epoch {epoch}") from error


def _look(observer: Observer | None, epoch: int, model: Model) -> None:
    """Show a copy, and put torch's random state back: nothing that the observer does reaches the training."""
    if observer is None:
        return
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        observer(epoch, copy.deepcopy(model).eval())
