"""The positive control: squared error plus a penalty that knows where the events are."""

import torch
from torch import Tensor

from crest._base.arguments import require
from crest.lab.model import Model
from crest.lab.objectives.base import Objective, TrainingBatch
from crest.probes import events_at
from crest.readouts.base import WeightedReadout


class EventAuxiliary(Objective):
    """Squared error plus a penalty on attention that falls outside the events: the positive control, with labels.

    The penalty is the mean of -log(sum of the step weights on events), for readouts whose step weights are
    learned. A trajectory without an event has none.

    Args:
        weight: of the penalty; 0 is plain squared error.
    """

    def __init__(self, weight: float = 1.0) -> None:
        require("weight", weight, "be 0 or more")
        self.weight = weight

    def check(self, model: Model) -> None:
        """Refuse readouts whose weights cannot be taught."""
        super().check(model)
        _teachable(model)

    def prepare(self, model: Model, train: TrainingBatch) -> None:
        """Refuse training sets without events."""
        super().prepare(model, train)
        if train.events is None:
            raise ValueError("train must have events for the event-auxiliary objective")

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        """Mean squared error plus the weighted penalty."""
        readout = _teachable(model)
        if batch.events is None:
            raise ValueError("batch must have events for the event-auxiliary objective")
        features = model.features(batch.x)
        errors = (model.read(model.pool(features)) - batch.y).square()
        inside = (readout.step_weights(features) * events_at(batch.events, features.shape[1])).sum(1)
        has_events = batch.events.any(1)
        floor = torch.finfo(inside.dtype).tiny
        penalty = torch.where(has_events, -inside.clamp(min=floor).log(), 0.0)
        return errors.mean() + self.weight * penalty.mean()


def _teachable(model: Model) -> WeightedReadout:
    """The readout, if its step weights are learned."""
    readout = model.readout
    if not isinstance(readout, WeightedReadout) or not list(readout.parameters()):
        raise ValueError(
            "readout must have learned step weights for the event-auxiliary objective, "
            f"got {type(readout).__name__}"
        )
    return readout
