"""What training minimises: squared error, group DRO over the smooth proxy, or squared error plus event supervision."""

import abc
from typing import Any, NamedTuple

import torch
from torch import Tensor

from crest.arrays import EventMask, PerTrajectory, Signals
from crest.checks.arguments import require, require_choice
from crest.lab.model import Model
from crest.probes import events_at
from crest.readouts import EventReadout
from crest.readouts.base import WeightedReadout


class Batch(NamedTuple):
    """Some training trajectories."""

    x: Signals
    y: PerTrajectory
    events: EventMask | None
    proxy: PerTrajectory | None

    def rows(self, chosen: Tensor) -> "Batch":
        """The trajectories with these indices."""
        x, y, events, proxy = self
        return Batch(
            x[chosen],
            y[chosen],
            None if events is None else events[chosen],
            None if proxy is None else proxy[chosen],
        )


class Objective(abc.ABC):
    """A loss over batches of training trajectories."""

    def check(self, model: Model) -> None:  # noqa: B027
        """Refuse a model that this objective cannot train; most can train any."""

    def prepare(self, model: Model, train: Batch) -> None:
        """Look at the model and the whole training set once before training; refuse what cannot work."""
        self.check(model)
        if isinstance(model.readout, EventReadout) and train.events is None:
            raise ValueError(
                f"train must have events for {type(model.readout).__name__}: it pools the event steps"
            )

    @abc.abstractmethod
    def loss(self, model: Model, batch: Batch) -> Tensor:
        """The loss to descend, a scalar."""


def squared_errors(model: Model, batch: Batch) -> PerTrajectory:
    """Squared error of each trajectory."""
    answers: Tensor = model(batch.x, batch.events)
    return (answers - batch.y).square()


class MeanSquaredError(Objective):
    """Mean squared error: empirical risk minimisation (ERM)."""

    def loss(self, model: Model, batch: Batch) -> Tensor:
        """Mean squared error of the batch."""
        return squared_errors(model, batch).mean()


class GroupDro(Objective):
    """Group distributionally robust optimisation with the quartiles of the smooth proxy as groups.

    Each group's weight grows with its loss (exponentiated gradient, Sagawa et al. 2020); the loss is the
    weighted sum of the groups' mean errors.

    Args:
        step: how fast the weights move.
        groups: number of groups, equally filled where the proxy has no ties.
    """

    def __init__(self, step: float = 0.1, groups: int = 4) -> None:  # our choice: docs/choices.md#objectives
        require("step", step, "be positive")
        require("groups", groups, "be a whole number, 2 or more")
        self.step = step
        self.groups = groups
        self.edges = torch.empty(0)
        self.weights = torch.full((groups,), 1 / groups)

    def prepare(self, model: Model, train: Batch) -> None:
        """Take the groups' edges from the training set's proxy, and start from equal weights."""
        super().prepare(model, train)
        if train.proxy is None:
            raise ValueError("train must have a proxy for group DRO: its quartiles are the groups")
        shares = torch.arange(1, self.groups) / self.groups
        self.edges = torch.quantile(train.proxy, shares)
        sizes = torch.bincount(torch.bucketize(train.proxy, self.edges), minlength=self.groups)
        if (sizes == 0).any():
            raise ValueError(f"proxy must fill every group, got {sizes.tolist()} trajectories: too many ties")
        self.weights = torch.full((self.groups,), 1 / self.groups)

    def loss(self, model: Model, batch: Batch) -> Tensor:
        """Weighted sum of the groups' mean squared errors; a group that the batch lacks counts with none."""
        if batch.proxy is None:
            raise ValueError("batch must have a proxy for group DRO")
        errors = squared_errors(model, batch)
        group = torch.bucketize(batch.proxy, self.edges)
        count = torch.bincount(group, minlength=self.groups)
        means = torch.zeros(self.groups).index_add(0, group, errors) / count.clamp(min=1)
        raised = self.weights * torch.exp(self.step * means.detach())
        self.weights = raised / raised.sum()
        return (self.weights * means).sum()


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
        _teachable(model)

    def prepare(self, model: Model, train: Batch) -> None:
        """Refuse training sets without events."""
        super().prepare(model, train)
        if train.events is None:
            raise ValueError("train must have events for the event-auxiliary objective")

    def loss(self, model: Model, batch: Batch) -> Tensor:
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


OBJECTIVES: dict[str, type[Objective]] = {
    "mse": MeanSquaredError,
    "group_dro": GroupDro,
    "event_auxiliary": EventAuxiliary,
}
"""Objectives by name."""


def make_objective(name: str, **options: Any) -> Objective:
    """The objective of that name.

    Example:
        >>> make_objective("group_dro", step=0.1).groups
        4
    """
    require_choice("objective", name, OBJECTIVES)
    return OBJECTIVES[name](**options)
