"""How kernels are compiled and how they read features: in blocks of steps, eight channels at a time.

Channels go in tiles of eight, the lanes of one vector. A tile of residuals is a contiguous series of rows (T, 8), so
that a step further in time is eight numbers further in memory, whatever D is. Features stay as they are (T, D), in
blocks of steps that a cache holds. Kernels take the trajectories from `begin` to `end`: threads share a batch.

Sums of up to 512 numbers are in the features' dtype, sums of these in float64. NaN stays NaN if features are
pooled, and is no residual.
"""

import numba

from crest._base.kept_on_disk import kept_on_disk
from crest.readouts.fast.kernels.lanes import LANES, take

TILE_STEPS = 512
"""Steps of a block."""

# numba keeps machine code in __pycache__ and looks at the time stamp of the kernel's own file alone. What it calls in another
# file is compiled into it: after a change in lanes.py or here, remove the cache of the kernels (*.nbi and *.nbc), or old code runs.
# `nogil`, or threads would take turns. NumPy's error model, since Python's raises at a division by zero: a branch in each loop.
compiled = kept_on_disk(nogil=True, error_model="numpy")
"""The one way in which kernels are compiled: kept on disk, without the lock of the interpreter."""
inlined = numba.njit(inline="always", error_model="numpy")
"""The same for a few lines that become part of each kernel which calls them."""


@inlined
def channels(series, index, width, spare):
    """Eight channels of a step; zeros stand for those that a narrow last tile lacks."""
    # Beyond the last channel lies the next step, and after the last step nothing: eight must not be loaded there. Callers make
    # `spare` of zeros, and what is beyond `width` in it stays zero.
    if width < LANES:
        for c in range(width):
            spare[c] = series[index + c]
        return take(spare, 0)
    return take(series, index)


@compiled
def first_valid(valid, masked, T):
    """The first valid step of a trajectory; T if there is none."""
    start = 0
    if masked:
        while start < T and not valid[start]:
            start += 1
    return start
