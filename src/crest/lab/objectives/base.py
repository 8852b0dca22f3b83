"""What every objective is: a loss over batches, with a look at the training set before and a last word after."""

import abc
from typing import ClassVar, NamedTuple

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from crest._base.arrays import EventMask, PerTrajectory, Signals
from crest.lab.model import Model
from crest.probes.errors import are_classes
from crest.readouts import EventReadout


class TrainingBatch(NamedTuple):
    """Some training trajectories."""

    x: Signals
    y: PerTrajectory
    events: EventMask | None
    proxy: PerTrajectory | None

    def rows(self, chosen: Tensor) -> "TrainingBatch":
        """The trajectories with these indices."""
        x, y, events, proxy = self
        return TrainingBatch(
            x[chosen],
            y[chosen],
            None if events is None else events[chosen],
            None if proxy is None else proxy[chosen],
        )


class Objective(abc.ABC):
    """A loss over batches of training trajectories."""

    of_classes: ClassVar[bool | None] = False
    """Whether it is for labels that are classes, and not for numbers. None: for both."""

    def check(self, model: Model) -> None:
        """Refuse a model that this objective cannot train; most can train any whose labels are of its kind."""
        if self.of_classes is not None and (model.outputs > 1) != self.of_classes:
            labels = "numbers" if self.of_classes else f"{model.outputs} classes"
            right = "one for numbers, such as mse," if self.of_classes else "cross_entropy"
            raise ValueError(
                f"objective must be {right} if the labels are {labels}, got {type(self).__name__}"
            )

    def prepare(self, model: Model, train: TrainingBatch) -> None:
        """Look at the model and the whole training set once before training; refuse what cannot work."""
        self.check(model)
        if model.outputs > 1 and not are_classes(train.y, model.outputs):
            raise ValueError(
                f"train must have numbers of {model.outputs} classes for labels, one for each output of the model, "
                f"got {float(train.y.min())} to {float(train.y.max())}"
            )
        if isinstance(model.readout, EventReadout) and train.events is None:
            raise ValueError(
                f"train must have events for {type(model.readout).__name__}: it pools the event steps"
            )

    def training_set(self, model: Model, train: TrainingBatch) -> TrainingBatch:  # noqa: ARG002
        """What an epoch goes through; most go through every trajectory once."""
        return train

    @abc.abstractmethod
    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        """The loss to descend, a scalar."""

    def parameters(self) -> list[nn.Parameter]:
        """What this objective learns beside the model."""
        return []

    def finish(self, model: Model, train: TrainingBatch) -> None:  # noqa: B027
        """Have the last word on the trained model."""


def squared_errors(model: Model, batch: TrainingBatch) -> PerTrajectory:
    """Squared error of each trajectory."""
    answers: Tensor = model(batch.x, batch.events)
    return (answers - batch.y).square()


def trajectory_errors(model: Model, batch: TrainingBatch) -> PerTrajectory:
    """What each trajectory adds to the risk: its squared error or, of a classifier, its cross-entropy."""
    if model.outputs == 1:
        return squared_errors(model, batch)
    return cross_entropy(model(batch.x, batch.events), batch.y.long(), reduction="none")


class MeanSquaredError(Objective):
    """Mean squared error: empirical risk minimisation (ERM)."""

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        """Mean squared error of the batch."""
        return squared_errors(model, batch).mean()


class CrossEntropy(Objective):
    """Mean cross-entropy of the logits: empirical risk minimisation if the labels are classes."""

    of_classes = True

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        """Mean cross-entropy of the batch."""
        return cross_entropy(model(batch.x, batch.events), batch.y.long())
