"""Residuals of the low-pass and their profile, compiled by numba: the first of CREST's passes over the features."""

import numpy as np

from crest.readouts.fast.kernels.lanes import (
    LANES,
    larger,
    magnitude,
    ones_from,
    put,
    smaller,
    splat,
    take,
    total,
    where_above,
)
from crest.readouts.fast.kernels.tiles import TILE_STEPS, channels, compiled, first_valid, inlined


@compiled
def end_factors(valid, weights, sigma, line, by_value, by_slope):
    """What the two sums over taps are multiplied by to give the background at each step.

    The average of the valid steps is the value over its weight. A line has a share of the slope too.
    """
    T, radius = len(valid), len(weights) - 1
    tiny = np.finfo(weights.dtype).eps
    # The number of valid steps within reach slides along: only steps near an end or a gap pay for sums over taps.
    ahead, around = 0, 0
    for t in range(T):
        while ahead < min(t + radius + 1, T):
            around += valid[ahead]
            ahead += 1
        if t > radius:
            around -= valid[t - radius - 1]
        by_value[t], by_slope[t] = 1, 0
        # If nothing is missing the weights add up to one.
        if around == 2 * radius + 1:
            continue
        present, spread, tilt = 0.0, 0.0, 0.0
        for s in range(max(t - radius, 0), min(t + radius + 1, T)):
            if valid[s]:
                offset = (s - t) / sigma
                present += weights[abs(s - t)]
                spread += weights[abs(s - t)] * offset * offset
                tilt += weights[abs(s - t)] * offset
        determinant = present * spread - tilt * tilt
        if line and determinant > tiny * present * present:
            by_value[t] = spread / determinant
            by_slope[t] = -tilt / (determinant * sigma)
        else:
            by_value[t] = 1 / max(present, tiny)


@inlined
def _aligned(size, like):
    """Memory that begins with a line of the cache: eight numbers that lie across two lines take twice as long."""
    memory = np.empty(size + 64 // like.itemsize, like.dtype)
    start = np.int64(64 - memory.ctypes.data % 64) % 64 // like.itemsize
    return memory[start : start + size]


@compiled
def _origin_and_scale(series, T, D, start, valid, masked, origin, scale):
    """Each channel's first valid step, and one over how far it gets from it."""
    spare = np.zeros(LANES, series.dtype)
    highest, lowest = np.zeros(len(origin), series.dtype), np.zeros(len(origin), series.dtype)
    for c in range(len(origin)):
        origin[c] = series[start * D + c] if c < D else 0
        highest[c] = lowest[c] = origin[c]
    # 64 steps at a time: a line of the cache holds channels of neighbouring tiles, and is still there for the next one.
    for block in range(start, T, 64):
        for channel in range(0, len(origin), LANES):
            width = min(LANES, D - channel)
            high, low = take(highest, channel), take(lowest, channel)
            for t in range(block, min(block + 64, T)):
                if not masked or valid[t]:
                    value = channels(series, t * D + channel, width, spare)
                    high, low = larger(value, high), smaller(value, low)
            put(highest, channel, high)
            put(lowest, channel, low)
    # A factor and no division: it is the same for all steps of a channel, so its rounding changes no rank.
    # One over a number below `tiny` would be infinite.
    tiny = np.finfo(series.dtype).tiny
    for c in range(len(origin)):
        reach = max(highest[c] - origin[c], origin[c] - lowest[c])
        scale[c] = 1 / max(reach, tiny) if reach > 0 else 1


@compiled
def _fill(rows, row, series, D, channel, lo, hi, valid, masked, origin, scale):
    """Steps lo to hi of a tile into rows from `row` on, from the first step and in units of the reach."""
    width = min(LANES, D - channel)
    first, factor = take(origin, channel), take(scale, channel)
    spare = np.zeros(LANES, rows.dtype)
    for t in range(lo, hi):
        value = (channels(series, t * D + channel, width, spare) - first) * factor
        # Zero, whatever stands on padding: the taps run over it, and end_factors leaves its weight out.
        if masked and not valid[t]:
            value = first - first
        put(rows, (row + t - lo) * LANES, value)


@compiled
def _smooth(rows, row, steps, weights, out):
    """The Gaussian's sum over taps, four steps at a time: each row that is loaded serves all four."""
    radius = len(weights) - 1
    # In the last block up to three steps too many: both buffers have rows for them, which are never read.
    for t in range(0, steps, 4):
        i = (row + t) * LANES
        a0, a1, a2 = take(rows, i + LANES), take(rows, i + 2 * LANES), take(rows, i + 3 * LANES)
        b1, b2, b3 = take(rows, i), a0, a1
        weight = splat(weights[0])
        s0, s1, s2, s3 = weight * b1, weight * a0, weight * a1, weight * a2
        for tap in range(1, radius + 1):
            weight = splat(weights[tap])
            a3 = take(rows, i + (3 + tap) * LANES)
            b0 = take(rows, i - tap * LANES)
            s0 = s0 + weight * (a0 + b0)
            s1 = s1 + weight * (a1 + b1)
            s2 = s2 + weight * (a2 + b2)
            s3 = s3 + weight * (a3 + b3)
            # What is ahead of a step is one tap later ahead of the step before it, and behind it the reverse: rows move
            # from register to register, and each tap loads two for four steps.
            a0, a1, a2 = a1, a2, a3
            b3, b2, b1 = b2, b1, b0
        put(out, t * LANES, s0)
        put(out, (t + 1) * LANES, s1)
        put(out, (t + 2) * LANES, s2)
        put(out, (t + 3) * LANES, s3)


@compiled
def _slope(rows, row, weights):
    """The first moment of one step: weights of opposite sign on the two sides. Only steps near an end need it."""
    slope = take(rows, row * LANES) - take(rows, row * LANES)
    for tap in range(1, len(weights)):
        ahead, behind = take(rows, (row + tap) * LANES), take(rows, (row - tap) * LANES)
        slope = slope + splat(weights.dtype.type(weights[tap] * tap)) * (ahead - behind)
    return slope


@compiled
def _residual_block(
    rows, halo, block, steps, weights, factors, valid, masked, smooth, floor, out, second, sums, peaks, above, channel
):  # fmt: skip
    """Distances from the background in one block of a tile, with their sums, maxima and numbers; and those from a line."""
    _smooth(rows, halo, steps, weights, smooth)
    lowest = splat(floor)
    nothing = lowest - lowest
    added, count, highest, lines = nothing, nothing, take(peaks, channel), nothing
    for t in range(steps):
        by_value, value, slope = factors[0, block + t], factors[1, block + t], factors[2, block + t]
        here, middle = take(rows, (halo + t) * LANES), take(smooth, t * LANES)
        far = where_above(magnitude(here - middle * splat(by_value)), lowest)
        if masked and not valid[block + t]:
            far = nothing
        put(out, (block + t) * LANES, far)
        added, highest = added + far, larger(far, highest)
        count = count + ones_from(far, lowest)
        if len(second):
            # Away from ends and gaps the line runs through the average.
            if value != by_value or slope != 0:
                line = middle * splat(value) + splat(slope) * _slope(rows, halo + t, weights)
                far = where_above(magnitude(here - line), lowest)
                if masked and not valid[block + t]:
                    far = nothing
            put(second, channel * len(factors[0]) + (block + t) * LANES, far)
            lines = lines + far
    put(peaks, channel, highest)
    # Through memory: numba has no other way from lanes to numbers. The rows of `smooth` were read, and it has more than three.
    # Sums of blocks go on in float64: `sums` and `above`.
    put(smooth, 0, added)
    put(smooth, LANES, count)
    put(smooth, 2 * LANES, lines)
    for c in range(LANES):
        sums[0, channel + c] += smooth[c]
        above[channel + c] += smooth[LANES + c]
        sums[1, channel + c] += smooth[2 * LANES + c]


@compiled
def _average(residual, T, D, sums, delta, share, lanes, profile):
    """The average over channels of residuals that add up to one in each."""
    for c in range(len(share)):
        share[c] = 1 / (max(sums[c], delta) * D) if c < D else 0
    # Tile by tile: side by side, their rows would lie in the same few lines of a cache.
    for block in range(0, T, TILE_STEPS):
        steps = min(TILE_STEPS, T - block)
        lanes[:] = 0
        for channel in range(0, len(share), LANES):
            own = take(share, channel)
            for t in range(steps):
                part = take(residual, channel * T + (block + t) * LANES) * own
                put(lanes, t * LANES, take(lanes, t * LANES) + part)
        for t in range(steps):
            profile[block + t] = total(take(lanes, t * LANES))


@compiled
def _residual_row(
    series, T, D, valid, masked, weights, factors, floor, delta, residual, second, peak, above, profile, line_profile
):  # fmt: skip
    padded, halo = (D + LANES - 1) // LANES * LANES, len(weights) - 1
    start = first_valid(valid, masked, T)
    if start == T:
        residual[:] = 0
        peak[:] = 0
        above[:] = 0
        profile[:] = 0
        line_profile[:] = 0
        return
    origin, scale = np.empty(padded, series.dtype), np.empty(padded, series.dtype)
    _origin_and_scale(series, T, D, start, valid, masked, origin, scale)
    sums, peaks, counts = np.zeros((2, padded)), np.zeros(padded, series.dtype), np.zeros(padded)
    most = min(TILE_STEPS, T)
    rows = _aligned((most + 2 * halo + 4) * LANES, series)
    smooth = _aligned((most + 4) * LANES, series)
    for block in range(0, T, TILE_STEPS):
        steps = min(TILE_STEPS, T - block)
        lo, hi = max(block - halo, 0), min(block + steps + halo, T)
        # Zeros beyond the ends. Blocks share a buffer, so what the one before left there must go.
        rows[: (lo - block + halo) * LANES] = 0
        rows[(hi - block + halo) * LANES :] = 0
        for channel in range(0, padded, LANES):
            _fill(rows, lo - block + halo, series, D, channel, lo, hi, valid, masked, origin, scale)
            _residual_block(
                rows, halo, block, steps, weights, factors, valid, masked, smooth, floor,
                residual[channel * T :], second, sums, peaks, counts, channel,
            )  # fmt: skip
    for c in range(D):
        peak[c] = peaks[c]
        above[c] = np.int64(counts[c])
    _average(residual, T, D, sums[0], delta, scale, smooth, profile)
    if len(second):
        _average(second, T, D, sums[1], delta, scale, smooth, line_profile)


@compiled
def residuals(
    begin, end, features, valid, masked, weights, sigma, floor, delta, residual, peak, above, profile, line_profile
):  # fmt: skip
    """Residuals in tiles (B, tiles T 8), their maxima and numbers above the floor (B, D), and the profile (B, T).

    `features` is (B, T D). As many of the first trajectories as `line_profile` (L, T) has rows get a second profile, of distances
    from a line around each step and not from an average.
    """
    T, D, lines = profile.shape[1], peak.shape[1], len(line_profile)
    # One over the weights of the average; what value and slope are multiplied by in a line.
    factors = np.zeros((3, T), features.dtype)
    nowhere = np.empty(0, features.dtype)
    # Distances from a line serve the profile only: one row's worth, written over by the next trajectory.
    scratch = np.empty(residual.shape[1] if begin < lines else 0, features.dtype)
    for b in range(begin, end):
        own = valid[b] if masked else np.ones(T if b == begin else 0, np.bool_)
        # Without a mask all trajectories have the same ends.
        if masked or b == begin:
            end_factors(own, weights, sigma, True, factors[1], factors[2])
            unused = np.empty(T, features.dtype)
            end_factors(own, weights, sigma, False, factors[0], unused)
        _residual_row(
            features[b], T, D, own, masked, weights, factors, floor, delta, residual[b], scratch if b < lines else nowhere,
            peak[b], above[b], profile[b], line_profile[b] if b < lines else nowhere,
        )  # fmt: skip
