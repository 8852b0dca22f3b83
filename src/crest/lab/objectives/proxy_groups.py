"""Objectives that ask for the same predictions in every group of operating conditions: group DRO, IRM, the last layer again."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from crest._base.arguments import require
from crest._base.arrays import PerTrajectory
from crest.lab.model import Model
from crest.lab.objectives.base import Objective, TrainingBatch, trajectory_errors
from crest.probes import batches_of, evaluating, in_batches


class ProxyGroups(Objective):
    """Groups of trajectories by the smooth proxy: its quantiles in the training set, equally filled if it has no ties.

    Args:
        groups: their number.
    """

    of_classes: ClassVar[bool | None] = None

    def __init__(self, groups: int) -> None:
        require("groups", groups, "be a whole number, 2 or more")
        self.groups = groups
        self.edges = torch.empty(0)

    def prepare(self, model: Model, train: TrainingBatch) -> None:
        """Take the groups' edges from the training set's proxy."""
        super().prepare(model, train)
        if train.proxy is None:
            raise ValueError(
                f"train must have a proxy for {type(self).__name__}: its quantiles are the groups"
            )
        self.edges = torch.quantile(train.proxy, torch.arange(1, self.groups) / self.groups)
        sizes = torch.bincount(self.group_of(train), minlength=self.groups)
        if (sizes == 0).any():
            raise ValueError(f"proxy must fill every group, got {sizes.tolist()} trajectories: too many ties")

    def group_of(self, batch: TrainingBatch) -> Tensor:
        """The group of each trajectory."""
        if batch.proxy is None:
            raise ValueError(f"batch must have a proxy for {type(self).__name__}")
        return torch.bucketize(batch.proxy, self.edges)

    def means(self, values: PerTrajectory, group: Tensor) -> tuple[Tensor, Tensor]:
        """The mean of the values in each group, 0 if the batch has none of it; and how many it has."""
        count = torch.bincount(group, minlength=self.groups)
        return torch.zeros(self.groups).index_add(0, group, values) / count.clamp(min=1), count


class GroupDro(ProxyGroups):
    """Group distributionally robust optimisation with the quartiles of the smooth proxy as groups.

    Each group's weight grows with its loss (exponentiated gradient, Sagawa et al. 2020); the loss is the
    weighted sum of the groups' mean errors.

    Args:
        step: how fast the weights move.
        groups: number of groups, equally filled if the proxy has no ties.
    """

    def __init__(
        self, step: float = 0.1, groups: int = 4
    ) -> None:  # our choice: docs/evidence/choices.md#objectives
        super().__init__(groups)
        require("step", step, "be positive")
        self.step = step
        self.weights = torch.full((groups,), 1 / groups)

    def prepare(self, model: Model, train: TrainingBatch) -> None:
        """Make the groups, and start from equal weights."""
        super().prepare(model, train)
        self.weights = torch.full((self.groups,), 1 / self.groups)

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        """Weighted sum of the groups' mean errors; a group that the batch lacks counts with none."""
        group = self.group_of(batch)
        means, _ = self.means(trajectory_errors(model, batch), group)
        raised = self.weights * torch.exp(self.step * means.detach())
        self.weights = raised / raised.sum()
        return (self.weights * means).sum()


class InvariantRisk(ProxyGroups):
    """Invariant risk minimisation (IRMv1, Arjovsky et al. 2019): no group gains from scaled predictions.

    The penalty is the squared slope of each group's mean error (squared error, or cross-entropy of a classifier) in a factor on
    the predictions, at factor 1, averaged over the groups of the batch. A batch has a few trajectories of each group, so that the square holds the variance of
    their mean too: the penalty never goes to zero, and more so the smaller the batch.

    Args:
        weight: of the penalty.
        groups: number of groups, the quantiles of the smooth proxy.
    """

    def __init__(
        self, weight: float = 1.0, groups: int = 4
    ) -> None:  # our choice: docs/evidence/choices.md#objectives
        super().__init__(groups)
        require("weight", weight, "be 0 or more")
        self.weight = weight

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        """Mean error plus the weighted penalty."""
        answers: Tensor = model(batch.x, batch.events)
        if model.outputs == 1:
            wrong = answers - batch.y
            errors, slope = wrong.square(), 2 * wrong * answers
        else:
            truth = one_hot(batch.y.long(), model.outputs)
            errors = -(answers.log_softmax(1) * truth).sum(1)
            slope = ((answers.softmax(1) - truth) * answers).sum(1)
        slopes, count = self.means(slope, self.group_of(batch))
        penalty = slopes.square().sum() / (count > 0).sum()
        return errors.mean() + self.weight * penalty


class LastLayerAgain(ProxyGroups):
    """Last-layer retraining (Kirichenko et al. 2023): plain training first, then the head alone on balanced groups.

    The published method fits the head on held-out data; here it is the training set itself, for want of other data.
    The groups are the quantiles of the proxy crossed with those of the label. Every group that has a trajectory
    weighs the same in the second fit, so the few in which cue and label disagree count as much as all the others. The second
    fit is a ridge regression; of a classifier, one for each class, to 1 in the class and 0 elsewhere.

    Args:
        penalty: of the ridge regression that fits the head, over the number of trajectories.
        groups: number of quantiles, of proxy and of label.
    """

    def __init__(
        self, penalty: float = 1e-3, groups: int = 4
    ) -> None:  # our choice: docs/evidence/choices.md#objectives
        super().__init__(groups)
        require("penalty", penalty, "be positive")
        self.penalty = penalty

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        """Mean squared error, or cross-entropy."""
        return trajectory_errors(model, batch).mean()

    def balance(self, train: TrainingBatch) -> PerTrajectory:
        """The weight of each trajectory: those of a group sum to one over the number of groups that are there."""
        shares = torch.arange(1, self.groups) / self.groups
        label = torch.bucketize(train.y, torch.quantile(train.y, shares))
        cell = self.group_of(train) * self.groups + label
        count = torch.bincount(cell, minlength=self.groups**2)
        return 1 / (count[cell] * (count > 0).sum())

    def finish(self, model: Model, train: TrainingBatch) -> None:
        """Fit the head again on the pooled vectors of the training set."""
        # As the model will be used: a layer such as batch normalisation is another one in training.
        with evaluating(model):
            pooled = in_batches(
                lambda x, events: model.pool(model.features(x), events), batches_of(train.x, train.events)
            )
        design = torch.cat([pooled, torch.ones(len(pooled), 1)], 1).double()
        weighted = design * self.balance(train).double()[:, None]
        ridge = torch.full((design.shape[1],), self.penalty, dtype=torch.float64)
        ridge[-1] = 0  # the level of the predictions is free
        many = model.outputs > 1
        target = one_hot(train.y.long(), model.outputs) if many else train.y
        solved = torch.linalg.solve(weighted.T @ design + ridge.diag(), weighted.T @ target.double())
        with torch.no_grad():
            model.head.weight.copy_(solved[:-1].reshape(len(pooled[0]), -1).T)
            model.head.bias.copy_(solved[-1])
