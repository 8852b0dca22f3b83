"""Errors and credit of a trained model: in and out of distribution, both or neither."""

import contextlib
import dataclasses
from collections.abc import Iterator

import torch

from crest.arrays import PerTrajectory
from crest.checks.arguments import require_fields
from crest.lab.model import Model
from crest.probes import Credit, credit
from crest.readouts import CrestReadout
from crest.systems import Splits, Trajectories

# Memory then does not grow with the number of trajectories.
BATCH = 64


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    """Root mean square errors in and out of distribution: there is no way to hold one without the other.

    Example:
        >>> Score(id=0.1, ood=0.4)
        Score(id=0.1, ood=0.4)
    """

    id: float
    ood: float

    def __post_init__(self) -> None:
        require_fields(self, "be 0 or more", "id", "ood")


@contextlib.contextmanager
def evaluating(model: Model) -> Iterator[None]:
    """Evaluation mode without gradients inside the block; the mode is put back."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


def predict(model: Model, data: Trajectories) -> PerTrajectory:
    """The model's answer for every trajectory, in evaluation mode."""
    with evaluating(model):
        answers = [
            model(part.x, part.events)
            for part in (data[start : start + BATCH].tensors() for start in range(0, len(data), BATCH))
        ]
    return torch.cat(answers)


def error(model: Model, data: Trajectories) -> float:
    """Root mean square error over the trajectories."""
    difference = predict(model, data).double() - torch.from_numpy(data.y).double()
    return difference.square().mean().sqrt().item()


def score(model: Model, splits: Splits) -> Score:
    """Errors in and out of distribution."""
    return Score(id=error(model, splits.id), ood=error(model, splits.ood))


def measured_credit(model: Model, data: Trajectories) -> Credit | None:
    """Credit at the model's pooling interface; None where nobody knows the events."""
    if data.events is None:
        return None
    parts = []
    with evaluating(model):
        for start in range(0, len(data), BATCH):
            x, _, events, _ = data[start : start + BATCH].tensors()
            features = model.features(x)
            if events is not None:
                parts.append(credit(features, model.pool(features, events), events))
    fields = [field.name for field in dataclasses.fields(Credit)]
    return Credit(**{name: torch.cat([getattr(part, name) for part in parts]) for name in fields})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Budget:
    """What CREST selected, averaged over trajectories (and channels, and halves in sample splitting)."""

    epsilon: float
    alpha: float
    width: float
    tail: float
    selected: float
    """Share of the steps that a channel selected."""


def measured_budget(model: Model, data: Trajectories) -> Budget | None:
    """Statistics of the budget; None for readouts that have none."""
    if not isinstance(model.readout, CrestReadout):
        return None
    sums = torch.zeros(5, dtype=torch.float64)
    with evaluating(model):
        for start in range(0, len(data), BATCH):
            x = data[start : start + BATCH].tensors().x
            core = model.readout.select(model.features(x))
            means = [core.epsilon, core.alpha, core.width, core.tail, core.selected]
            sums += torch.stack([part.double().mean() for part in means]) * len(x)
    return Budget(**dict(zip(Budget.__dataclass_fields__, (sums / len(data)).tolist(), strict=True)))
