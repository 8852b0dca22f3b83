"""Shares of variance in a two-way layout without replicates: what follows the row, the column, and both together.

Rows and columns of a grid belong to the same trajectories: cell (i, j) is what a function predicts for the transient of
trajectory i on the background of trajectory j. Computed in float64 with NumPy.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]

Groups: TypeAlias = npt.NDArray[np.int64]
"""(N,), the group of each trajectory as whole numbers from 0, each of them there."""

LEVEL = 0.95
"""How often an interval should hold the true share."""


def sums_of_squares(grid: Array, counts: Array | None = None) -> Array:
    """Sums of squares (R, 3) of rows, columns and interaction, for each of R choices of trajectories.

    Args:
        grid: (b, b, K); sums run over the K outputs.
        counts: (R, b), how often each trajectory stands in the layout, in the rows and in the columns alike. By
            default once each.

    Example:
        >>> sums_of_squares(np.array([[[0.0], [1.0]], [[2.0], [3.0]]]))
        array([[4., 1., 0.]])
    """
    counts = np.ones((1, len(grid))) if counts is None else counts
    size = counts.sum(1)
    # About the mean first: the interaction is what is left of the total, and a large mean would eat its digits.
    grid = grid - grid.mean((0, 1))
    times, share = counts[..., None], (counts / size[:, None])
    row, column = np.tensordot(share, grid, (1, 1)), np.tensordot(share, grid, (1, 0))
    mean = (share[..., None] * row).sum(1, keepdims=True)
    rows = size * (times * (row - mean) ** 2).sum((1, 2))
    columns = size * (times * (column - mean) ** 2).sum((1, 2))
    squares = np.einsum("ri,ij,rj->r", counts, (grid**2).sum(2), counts, optimize=True)
    total = squares - size**2 * (mean**2).sum((1, 2))
    return np.stack([rows, columns, np.maximum(total - rows - columns, 0.0)], 1)


def component_shares(sums: Array, sizes: Sequence[int]) -> Array:
    """Shares (R, 3) of the variance components of rows, columns and interaction; NaN if nothing varies.

    The components are those of the analysis of variance with random effects: the interaction's mean square is taken off
    the others', since it is in their sums too. A component that comes out negative is 0.

    Args:
        sums: (R, 3), sums of squares added up over the grids.
        sizes: b of each grid.

    Example:
        >>> component_shares(np.array([[4.0, 1.0, 0.0]]), [2])
        array([[0.8, 0.2, 0. ]])
    """
    freedom = sum(size - 1 for size in sizes)
    crossed = sum((size - 1) ** 2 for size in sizes)
    scale = sum(size * (size - 1) for size in sizes)
    interaction = sums[:, 2:] / crossed
    main = np.maximum(sums[:, :2] - freedom * interaction, 0.0) / scale
    return _as_shares(np.concatenate([main, interaction], 1))


def resampled_intervals(
    grids: Sequence[Array],
    draws: int,
    generator: np.random.Generator,
    level: float = LEVEL,
    groups: Groups | None = None,
) -> Array:
    """Intervals (3, 2) of the shares of rows, columns and interaction, by a bootstrap over trajectories.

    What is drawn with replacement is the influence of each trajectory on the shares: how they change when its row and its
    column are left out. To draw rows and columns themselves is not enough: the sums of repeated ones hold a part of the
    interaction. With two trajectories in all nothing can be left out, and the intervals are from 0 to 1.

    Args:
        grids: (b, b, K) each.
        draws: number of draws.
        generator: where they come from.
        level: how often an interval should hold the true share.
        groups: (N,), the group of each trajectory in the order of the grids, whole numbers from 0: groups are drawn as a whole.

    Example:
        >>> transient, level = np.arange(4.0)[:, None, None], np.arange(4.0)[None, :, None]
        >>> resampled_intervals([transient + 0 * level], 100, np.random.default_rng(0)).round(3)
        array([[1., 1.],
               [0., 0.],
               [0., 0.]])
    """
    sizes = [len(grid) for grid in grids]
    trajectories = sum(sizes)
    sums = [sums_of_squares(grid) for grid in grids]
    whole = np.sum(sums, 0)
    estimate = component_shares(whole, sizes)[0]
    if trajectories == 2:
        return np.tile([0.0, 1.0], (3, 1))
    without = []
    for number, (grid, size) in enumerate(zip(grids, sizes, strict=True)):
        left = [*sizes[:number], size - 1, *sizes[number + 1 :]]
        rest = whole - sums[number] + sums_of_squares(grid, 1 - np.eye(size))
        without.append(component_shares(rest, left))
    shares = np.concatenate(without)
    # If nothing varies without a trajectory, all that varied was its doing; what follows whom is then unknown.
    if np.isnan(shares).any():
        return np.tile([0.0, 1.0], (3, 1))
    # The root puts back the width that a sample's variance lacks.
    influence = math.sqrt(trajectories * (trajectories - 1)) * (shares.mean(0) - shares)
    if groups is not None:
        influence *= math.sqrt((trajectories - 1) / trajectories * _widening(groups))
    counts = resampled_counts(trajectories, draws, generator, groups)
    tail = (1 - level) / 2
    ends = estimate + np.quantile(counts @ influence / trajectories, [tail, 1 - tail], axis=0)
    low, high = np.clip(ends, 0.0, 1.0)
    return np.stack([np.minimum(low, estimate), np.maximum(high, estimate)], 1)


def resampled_counts(
    count: int, draws: int, numbers: np.random.Generator, groups: Groups | None = None
) -> Array:
    """How often each of some trajectories is in each draw of the bootstrap, (draws, count).

    Args:
        count: N, how many trajectories there are.
        draws: how many samples.
        numbers: where the draws come from.
        groups: (N,), whole numbers from 0: all trajectories of a group are drawn together. By default each is drawn alone.

    Example:
        >>> resampled_counts(4, 2, np.random.default_rng(0)).sum(1)
        array([4., 4.])
        >>> resampled_counts(4, 1, np.random.default_rng(0), np.array([0, 0, 1, 1]))
        array([[1., 1., 1., 1.]])
    """
    drawn = count if groups is None else int(groups.max()) + 1
    counts = numbers.multinomial(drawn, np.full(drawn, 1 / drawn), draws).astype(np.float64)
    return counts if groups is None else counts[:, groups]


def _widening(groups: Groups) -> float:
    """G / (G - 1): what the variance of a sample of G groups lacks."""
    count = int(groups.max()) + 1
    return count / max(count - 1, 1)


def _as_shares(parts: Array) -> Array:
    whole = parts.sum(1, keepdims=True)
    shares: Array = np.divide(parts, whole, out=np.full_like(parts, np.nan), where=whole > 0)
    return shares
