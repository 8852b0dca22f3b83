"""Readers in closed form: a few numbers, widened by what is not linear in them, and predictions for rows that were left out."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from crest._base.rng import torch_generator
from crest.remedies.ridge import fit_ridge

# our choice: docs/evidence/choices.md#cues
_PENALTIES = tuple(10.0 ** (power / 2) for power in range(-12, 7))
_WAVES = 64
_WIDTHS = (0.5, 1.0, 2.0)
_MOST = 64
# Of the largest value of a channel, which is 1 in all that is read: `crest._cues.inputs` sees to it. Not of the numbers themselves:
# what is left of a level that was taken off is rounding, and tells the level.
_ROUNDING = 1e-5


def widened(numbers: Tensor, seed: int = 0) -> Tensor:
    """Numbers (N, F) with what is not linear in them, (N, D): so that a ridge on it sees a relation that rises and falls.

    The numbers themselves, cut where they are far outside; their normal scores, which no unit and no outlier changes; the
    squares of these; and 64 waves of random direction and width over them (random Fourier features). Numbers that do not
    vary are dropped; more than 64 are first replaced by their 64 main components.

    Example:
        >>> widened(torch.tensor([[1.0, 3.0], [2.0, 3.0], [4.0, 3.0]])).shape
        torch.Size([3, 67])
    """
    numbers = numbers.to(torch.float64)
    varies = numbers.amax(0) - numbers.amin(0) > _ROUNDING
    if not bool(varies.any()):
        return numbers[:, :0]
    kept = _main(_within(numbers[:, varies]))
    scores = _normal_scores(kept)
    generator = torch_generator(seed, "cues/waves")
    width = torch.tensor(_WIDTHS, dtype=torch.float64).repeat(-(-_WAVES // len(_WIDTHS)))[:_WAVES]
    direction = torch.randn(scores.shape[1], _WAVES, dtype=torch.float64, generator=generator)
    phase = 2 * math.pi * torch.rand(_WAVES, dtype=torch.float64, generator=generator)
    waves = torch.cos(scores @ direction * width / math.sqrt(scores.shape[1]) + phase)
    return torch.cat([kept, scores, scores.square(), waves], 1)


def _within(numbers: Tensor) -> Tensor:
    """Numbers cut at one range of their middle 98 % beyond its ends."""
    ordered, far = numbers.sort(0).values, len(numbers) // 100
    low, high = ordered[far], ordered[-1 - far]
    span = high - low
    # A number that is the same in all but a few rows has no such range.
    cut: Tensor = torch.where(span > 0, torch.clamp(numbers, low - span, high + span), numbers)
    return cut


def _main(numbers: Tensor) -> Tensor:
    """Not more than 64 columns: the main components of the standardised ones if there are more."""
    if numbers.shape[1] <= _MOST:
        return numbers
    standard = (numbers - numbers.mean(0)) / numbers.std(0).clamp(min=_ROUNDING)
    left, size, _ = torch.linalg.svd(standard - standard.mean(0), full_matrices=False)
    main: Tensor = (left * size)[:, : min(_MOST, len(numbers) - 1)]
    return main


def _normal_scores(numbers: Tensor) -> Tensor:
    """What a normal variable would have at the rank of each number in its column; equal numbers share the mean of their ranks."""
    ordered = numbers.sort(0).values.T.contiguous()
    columns = numbers.T.contiguous()
    below = torch.searchsorted(ordered, columns)
    upto = torch.searchsorted(ordered, columns, right=True)
    share = (below + upto).to(torch.float64) / (2 * len(numbers))
    scores: Tensor = torch.special.ndtri(share)
    return scores.T


def read(vectors: Tensor, targets: Tensor, groups: Tensor | None = None) -> Tensor:
    """What a ridge on vectors (N, D) says of each row (N, K) that was left out; the penalty is that with the lowest error.

    Args:
        vectors: (N, D); without columns, the mean of the others is what is said of each.
        targets: (N, K).
        groups: (N,), whole numbers from 0 without gaps; each group is left out as a whole. By default each row by itself.
    """
    if not vectors.shape[1]:
        vectors = targets.new_zeros(len(targets), 1)
    if groups is None:
        return fit_ridge(vectors, targets, _PENALTIES).left_out
    return left_out_groups(vectors, targets, groups, _PENALTIES)


def left_out_groups(vectors: Tensor, targets: Tensor, groups: Tensor, penalties: Sequence[float]) -> Tensor:
    """What the ridge of `fit_ridge` says of each row (N, K) when the row's whole group is left out of the fit.

    With H the matrix that turns targets into fitted values, the errors of a left-out group g are
    (I - H_gg)^-1 times its residuals: exactly those of a fit without it. The penalty is that with the lowest error.

    Example:
        >>> vectors = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
        >>> left_out_groups(vectors, 2 * vectors + 1, torch.tensor([0, 0, 1, 1]), [1e-9]).flatten().round()
        tensor([1., 3., 5., 7.], dtype=torch.float64)
    """
    vectors, targets = (one.to("cpu", torch.float64) for one in (vectors, targets))
    rows = len(vectors)
    centred = vectors - vectors.mean(0)
    size = centred.std(0, correction=0)
    standard = torch.where(size > 0, centred / torch.where(size > 0, size, 1.0), 0.0)
    left, value, _ = torch.linalg.svd(standard - standard.mean(0), full_matrices=False)
    kept = value > 1e-12 * value.amax().clamp(min=1e-300)
    left, value = left[:, kept], value[kept]
    wanted = targets - targets.mean(0)
    parts = left.T @ wanted
    members = [(groups == group).nonzero().flatten() for group in range(int(groups.max()) + 1)]
    best, least = targets, math.inf
    for penalty in penalties:
        share = value.square() / (value.square() + rows * penalty)
        residual = wanted - left @ (share.unsqueeze(1) * parts)
        error = torch.empty_like(residual)
        for some in members:
            own = left[some]
            freedom = torch.eye(len(some), dtype=torch.float64) - 1 / rows - (own * share) @ own.T
            error[some] = torch.linalg.solve(freedom, residual[some])
        if (mean := float(error.square().mean())) < least:
            best, least = targets - error, mean
    return best
