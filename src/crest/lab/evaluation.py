"""Errors and credit of a trained model: in and out of distribution, both or neither."""

import dataclasses

import torch
from torch import nn

from crest._base.arguments import require_fields
from crest._base.arrays import Answers, EventMask, Signals
from crest.exchange.conditions import errors_by_condition
from crest.lab.model import Model
from crest.probes import (
    Credit,
    batches_of,
    credit,
    evaluating,
    events_at,
    in_batches,
    macro_f1,
    rmse_or_error_rate,
)
from crest.readouts import CrestReadout
from crest.recordings import Splits, Trajectories


@dataclasses.dataclass(frozen=True, kw_only=True)
class Score:
    """Errors in and out of distribution: there is no way to hold one without the other.

    Root mean square errors, or shares of wrong classes if the labels are classes.

    Example:
        >>> Score(id=0.1, ood=0.4)
        Score(id=0.1, ood=0.4)
    """

    id: float
    ood: float

    def __post_init__(self) -> None:
        require_fields(self, "be 0 or more", "id", "ood")


def predict(model: Model, data: Trajectories) -> Answers:
    """The model's prediction for every trajectory, in evaluation mode."""
    x, _, events, _ = data.tensors()
    return in_batches(model, batches_of(x, events))


def model_error(model: Model, data: Trajectories) -> float:
    """Root mean square error of the model over the trajectories; if it gives logits, the share of wrong classes."""
    return rmse_or_error_rate(predict(model, data).double(), torch.from_numpy(data.y).double()).item()


def score(model: Model, splits: Splits) -> Score:
    """Errors in and out of distribution."""
    return Score(id=model_error(model, splits.id), ood=model_error(model, splits.ood))


def worst_error(model: nn.Module, data: Trajectories) -> float | None:
    """The largest error over the pairs of target and condition; None if the conditions are not known."""
    if "condition" not in data.extra:
        return None
    x, y, *_ = data.tensors()
    answers = in_batches(model, batches_of(x)).double()
    pairs = list(zip(data.y.tolist(), data.extra["condition"].tolist(), strict=True))
    cells = (torch.tensor([one == pair for one in pairs]) for pair in sorted(set(pairs)))
    return max(rmse_or_error_rate(answers[rows], y[rows].double()).item() for rows in cells)


def condition_errors(model: nn.Module, splits: Splits) -> dict[str, dict[str, float]]:
    """The error under each condition on the ID and the OOD split; empty if the conditions are not known."""
    if "condition" not in splits.id.extra:
        return {}
    return {name: _under_each(model, part) for name, part in (("id", splits.id), ("ood", splits.ood))}


def _under_each(model: nn.Module, data: Trajectories) -> dict[str, float]:
    x, y, *_ = data.tensors()
    found = errors_by_condition(model, x, y, data.extra["condition"].tolist())
    return {str(name): error for name, error in found.items()}


def macro_f1_of_splits(model: Model, splits: Splits) -> dict[str, float]:
    """Macro-F1 on the ID and the OOD split; empty if the labels are numbers."""
    parts = {"id": splits.id, "ood": splits.ood} if model.outputs > 1 else {}
    return {
        name: macro_f1(predict(model, part).double(), torch.from_numpy(part.y)).item()
        for name, part in parts.items()
    }


def measured_credit(model: Model, data: Trajectories) -> Credit | None:
    """Credit at the model's pooling interface; None if the events are not known."""
    x, _, events, _ = data.tensors()
    if events is None:
        return None
    with evaluating(model):
        return Credit.joined(_credit(model, *batch) for batch in batches_of(x, events))


def _credit(model: Model, x: Signals, events: EventMask) -> Credit:
    features = model.features(x)
    return credit(features, model.pool(features, events), events_at(events, features.shape[1]))


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
        for (x,) in batches_of(data.tensors().x):
            core = model.readout.select(model.features(x))
            means = [core.epsilon, core.alpha, core.width, core.tail, core.selected]
            sums += torch.stack([part.double().mean() for part in means]) * len(x)
    return Budget(**dict(zip(Budget.__dataclass_fields__, (sums / len(data)).tolist(), strict=True)))
