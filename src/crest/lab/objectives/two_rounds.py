"""Just train twice: trajectories with the largest errors after a short training are seen more often in the long one."""

import copy
from typing import ClassVar

import torch
from torch import Tensor

from crest._base import rng
from crest._base.arguments import require
from crest.lab.model import Model
from crest.lab.objectives.base import Objective, TrainingBatch, trajectory_errors
from crest.probes import batches_of, in_batches


class JustTrainTwice(Objective):
    """Plain training on a set in which the trajectories that a first model got wrong stand several times.

    After Liu et al. (2021), for numbers and for classes: the first model is a copy trained briefly, and wrong are the
    `share` of the trajectories with its largest errors. It needs no groups: if a cue is learned first, those are the
    trajectories that the cue misleads. An epoch of the second round is longer by what stands several times, and the first round
    is the same whatever the seed of the run.

    Args:
        epochs: of the first training.
        share: of the trajectories that count as wrong.
        times: how often each of them stands in the second training set.
        learning_rate: of the first training.
    """

    of_classes: ClassVar[bool | None] = None

    def __init__(
        self, epochs: int = 5, share: float = 0.2, times: int = 5, learning_rate: float = 5e-3
    ) -> None:  # our choice: docs/evidence/choices.md#objectives
        require("epochs", epochs, "be a whole number, 1 or more")
        require("share", share, "lie in (0, 1)")
        require("times", times, "be a whole number, 2 or more")
        require("learning_rate", learning_rate, "be positive")
        self.epochs = epochs
        self.share = share
        self.times = times
        self.learning_rate = learning_rate

    def training_set(self, model: Model, train: TrainingBatch) -> TrainingBatch:
        """Every trajectory, and those that the first model got wrong again and again."""
        # The second round draws the random numbers that it would draw without the first.
        with torch.random.fork_rng(devices=[]):
            first = self._first(copy.deepcopy(model), train)
        errors = in_batches(
            lambda x, y, events: trajectory_errors(first, TrainingBatch(x, y, events, None)),
            batches_of(train.x, train.y, train.events),
        )
        if not torch.isfinite(errors).all():
            raise ArithmeticError("training diverged: the errors of the first round are not finite")
        wrong = errors.topk(max(1, round(self.share * len(errors)))).indices
        return train.rows(torch.cat([torch.arange(len(errors)), *[wrong] * (self.times - 1)]))

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        """Mean squared error, or cross-entropy."""
        return trajectory_errors(model, batch).mean()

    def _first(self, model: Model, train: TrainingBatch) -> Model:
        order = rng.torch_generator(0, "first of two rounds")
        optimizer = torch.optim.AdamW(model.parameters(), lr=self.learning_rate)
        model.train()
        for _ in range(self.epochs):
            for rows in torch.split(torch.randperm(len(train.y), generator=order), 32):
                loss: Tensor = trajectory_errors(model, train.rows(rows)).mean()
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        return model.eval()
