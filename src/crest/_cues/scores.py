"""How well what readers say fits the targets: a share of the variance or a balanced accuracy, with an interval."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from crest._base.rng import generator

_INTERVAL = (0.025, 0.975)
# Classes that a reader finds as likely as this are a draw: below it, rounding would say which. our choice: docs/evidence/choices.md#cues
_DRAW = 1e-9
# Draws at a time: a matrix of these and all trajectories is held.
_BLOCK = 100


class Wanted(NamedTuple):
    """Targets as a ridge takes them, (N, K): numbers in one column, or a column of zeros and ones for each class."""

    columns: Tensor
    classes: bool

    @property
    def chance(self) -> float:
        """The score of a reader that knows nothing."""
        return 1 / self.columns.shape[1] if self.classes else 0.0


class Draws(NamedTuple):
    """How often each trajectory is in each sample of a bootstrap: drawn once, so that all readers share them."""

    groups: npt.NDArray[np.int64]
    """(N,), the group of each trajectory; groups are drawn as a whole."""
    counts: npt.NDArray[np.int64]
    """(samples, groups)."""

    @classmethod
    def made(cls, groups: npt.NDArray[np.int64], samples: int, seed: int) -> "Draws":
        """So many samples, each of as many groups as there are."""
        number = int(groups.max()) + 1
        counts = generator(seed, "cues/bootstrap").multinomial(number, np.full(number, 1 / number), samples)
        return cls(groups, counts)


class CueScore(NamedTuple):
    """How well the targets of left-out trajectories were told."""

    value: float
    """1 - mean square error / variance, negative for a reader that is worse than the mean; for classes the balanced accuracy."""
    interval: tuple[float, float]
    """Of 95 %, by the bootstrap."""
    beats_constant: bool
    """Whether the squared error is below that of a constant, with its whole interval. For numbers the interval says the same. A balanced
    accuracy sees only which class is ahead, and by how little does not count: on noise alone its interval is too narrow."""


def score_of(wanted: Wanted, left_out: Tensor, draws: Draws) -> CueScore:
    """The score of what was said of left-out trajectories (N, K)."""
    groups = torch.from_numpy(draws.groups)
    parts = _class_parts(wanted, left_out, groups) if wanted.classes else _number_parts(wanted, left_out)
    of = _balanced if wanted.classes else _explained
    whole = float(of(parts.sum(0, keepdims=True) / len(parts))[0, 0])
    found = []
    for some in range(0, len(draws.counts), _BLOCK):
        weights = draws.counts[some : some + _BLOCK][:, draws.groups]
        total = weights.sum(1, keepdims=True)
        found.append(of(weights @ parts / np.maximum(total, 1)))
    drawn = np.concatenate(found)
    drawn = drawn[np.isfinite(drawn).all(1)]
    if not len(drawn):
        return CueScore(whole, (whole, whole), beats_constant=False)
    (low, high), (least, _) = np.quantile(drawn[:, [0, -1]], _INTERVAL, axis=0).T
    return CueScore(whole, (float(low), float(high)), beats_constant=bool(least > 0))


def _number_parts(wanted: Wanted, left_out: Tensor) -> npt.NDArray[np.float64]:
    """(N, 3): squared error, target and squared target of each trajectory; the score is a function of their means."""
    target = wanted.columns[:, 0]
    # Centred: a difference of squares loses digits where targets are far from zero.
    target = target - target.mean()
    error = wanted.columns[:, 0] - left_out[:, 0]
    return torch.stack([error.square(), target, target.square()], 1).numpy()


def _explained(means: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    error, target, square = means.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - error / (square - target**2))[:, None]


def _class_parts(wanted: Wanted, left_out: Tensor, groups: Tensor) -> npt.NDArray[np.float64]:
    """(N, 2 K + 2): the class of each trajectory as zeros and ones, the same as far as it was told right, and two squared errors.

    These are of the reader, and of the shares of the classes.
    """
    own = wanted.columns
    # What a reader knows beyond the shares of the classes. They are those among the others: where a row is left out, the
    # mean of the rest lacks its class, and the shares of all rows would turn that into a sign of it.
    inside = own.new_zeros(int(groups.max()) + 1, own.shape[1]).index_add(0, groups, own)[groups]
    share = (own.sum(0) - inside) / (len(own) - inside.sum(1, keepdim=True)).clamp(min=1)
    likelihood = torch.where(share > 0, left_out / share.clamp(min=1e-12), -torch.inf)
    # A reader that knows nothing says the shares, up to a rounding that is the same for all rows of a class.
    ahead = (likelihood >= likelihood.amax(1, keepdim=True) - _DRAW).to(own.dtype)
    right = own * ahead / ahead.sum(1, keepdim=True)
    errors = torch.stack([(own - said).square().sum(1) for said in (left_out, share)], 1)
    return torch.cat([own, right, errors], 1).numpy()


def _balanced(means: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    (there, right), (error, constant) = np.split(means[:, :-2], 2, axis=1), means[:, -2:].T
    known = there > 0
    shares = np.divide(right, there, out=np.zeros_like(right), where=known)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([shares.sum(1) / known.sum(1), 1 - error / constant], 1)


def by_condition(numbers: Tensor, conditions: Tensor) -> float:
    """The share of the variance that the means of the conditions explain, of the column (N, F) that they explain best.

    Corrected for chance (adjusted R2), and 0 at least: with many conditions some share is always explained.

    Example:
        >>> by_condition(torch.tensor([[1.0], [1.0], [5.0], [5.0]]), torch.tensor([0, 0, 1, 1]))
        1.0
    """
    numbers = numbers.to(torch.float64)
    numbers = numbers - numbers.mean(0)
    kinds = torch.nn.functional.one_hot(conditions).to(torch.float64)
    kinds = kinds[:, kinds.sum(0) > 0]
    N, K = kinds.shape
    total = numbers.square().sum(0)
    means = (kinds.T @ numbers) / kinds.sum(0).unsqueeze(1)
    within = (numbers - kinds @ means).square().sum(0)
    varies = total > 1e-10 * N
    if not bool(varies.any()) or N <= K:
        return 0.0
    share = 1 - within[varies] / total[varies] * (N - 1) / (N - K)
    return float(share.amax().clamp(min=0.0))
