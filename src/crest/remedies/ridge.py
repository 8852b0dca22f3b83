"""Ridge regression in closed form, its penalty chosen by the exact leave-one-out error."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

# our choice: docs/evidence/choices.md#reanchoring
_CONSTANT = 1e-6
_NO_VARIANCE = 1e-12


class RidgeFit(NamedTuple):
    """A linear map from vectors (N, D) to targets (N, K), and how well it does on rows that it was not fitted on."""

    weight: Tensor
    """(K, D), as `torch.nn.Linear` has it."""
    bias: Tensor
    """(K,)."""
    penalty: float
    """The chosen one."""
    left_out: Tensor
    """(N, K): the prediction for each row when it is left out of the fit."""
    error: float
    """Root mean square error of these."""


def fit_ridge(vectors: Tensor, targets: Tensor, penalties: Sequence[float]) -> RidgeFit:
    """The ridge regression whose leave-one-out error is lowest among the penalties; the first of equals.

    Minimises the mean over rows of the squared error plus `penalty` times the squared weights of the standardised
    vectors. The intercept is not penalised. Mean and standard deviation are those of all rows. A left-out row takes its
    error out of the sum; the penalty's part of the sum stays as it is, so that the hat matrix gives all N errors
    at once. In float64 on the CPU. A channel that does not vary gets no weight.

    Example:
        >>> vectors = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
        >>> fit = fit_ridge(vectors, 2 * vectors + 1, [1e-6, 1.0])
        >>> fit.penalty, round(float(fit.weight), 3), round(float(fit.bias), 3)
        (1e-06, 2.0, 1.0)
    """
    vectors = vectors.to("cpu", torch.float64)
    targets = targets.to("cpu", torch.float64)
    rows = len(vectors)
    middle, centre = vectors.mean(0), targets.mean(0)
    varies = vectors.amax(0) - vectors.amin(0) > _CONSTANT * vectors.abs().amax(0)
    scale = torch.where(varies, vectors.std(0, correction=0), 1.0)
    standard = torch.where(varies, (vectors - middle) / scale, 0.0)
    # Once more: of channels that vary little, the first mean leaves some rounding.
    left, size, right = torch.linalg.svd(standard - standard.mean(0), full_matrices=False)
    # The directions without variance hold the intercept's, which has a leverage of its own.
    kept = size > _NO_VARIANCE * size.amax()
    left, size, right = left[:, kept], size[kept], right[kept]

    wanted = targets - centre
    parts = left.T @ wanted
    # What no vector explains, of the targets and of each row's freedom: nothing at full rank, and then exactly so.
    full = left.shape[1] == rows - 1
    rest = torch.zeros_like(wanted) if full else wanted - left @ parts
    outside = torch.zeros_like(wanted[:, 0]) if full else 1 - 1 / rows - left.square().sum(1)
    best: RidgeFit | None = None
    for penalty in penalties:
        lost = rows * penalty / (size.square() + rows * penalty)
        # Residual over one less the leverage, both as sums of what each direction loses: no difference of nearly
        # equal numbers.
        free = outside.clamp(min=0) + left.square() @ lost
        residual = (rest + left @ (lost.unsqueeze(1) * parts)) / free.unsqueeze(1)
        error = float(residual.square().mean().sqrt())
        if best is None or error < best.error:
            weight = (right.T @ ((1 - lost) / size).unsqueeze(1).mul(parts)).T / scale
            best = RidgeFit(weight, centre - weight @ middle, float(penalty), targets - residual, error)
    if best is None:
        raise ValueError("penalties must hold at least one number, got none")
    return best
