"""Which steps each channel selects, compiled by numba: a threshold without a sort, and the steps around what it passes."""

import numpy as np

from crest.readouts.fast.kernels.lanes import (
    LANES,
    any_between,
    flags,
    ones_from,
    put,
    smaller,
    splat,
    store_flags,
    take,
    where_from,
)
from crest.readouts.fast.kernels.tiles import TILE_STEPS, compiled

# This many rows are counted if a series is longer, until the threshold is known roughly.
_SAMPLE = 2048
# More halvings than there are between the floor and two neighbouring numbers of float64: it ends before, also on ties.
_MOST = 60


@compiled
def _count_from(series, T, stride, threshold, count):
    """How many of every `stride`-th row are the threshold or more, in each channel of a tile."""
    limit = take(threshold, 0)
    # Four counters side by side: one alone would wait for its own last sum at each row.
    n0 = limit - limit
    n1, n2, n3 = n0, n0, n0
    step = stride * LANES
    whole = T - T % (4 * stride)
    for t in range(0, whole, 4 * stride):
        i = t * LANES
        n0 = n0 + ones_from(take(series, i), limit)
        n1 = n1 + ones_from(take(series, i + step), limit)
        n2 = n2 + ones_from(take(series, i + 2 * step), limit)
        n3 = n3 + ones_from(take(series, i + 3 * step), limit)
    for t in range(whole, T, stride):
        n0 = n0 + ones_from(take(series, t * LANES), limit)
    put(count, 0, (n0 + n1) + (n2 + n3))


@compiled
def _narrow(series, T, stride, wanted, enough, peak, low, high, from_low, from_high, middle, count):
    """Moves `low` up and `high` down until just what is wanted passes `low`, or at most `enough` values lie between."""
    for _ in range(_MOST):
        ready = True
        for c in range(LANES):
            middle[c] = low[c]
            if from_low[c] > wanted[c] and from_low[c] - from_high[c] > enough:
                # Half of what is left of the range, in octaves. The first guess is near a usual last step.
                guess = peak[c] / 4
                if not low[c] < guess < high[c]:
                    guess = np.sqrt(low[c] * high[c])
                if low[c] < guess < high[c]:
                    middle[c] = guess
                    ready = False
        if ready:
            return
        _count_from(series, T, stride, middle, count)
        for c in range(LANES):
            if middle[c] > low[c]:
                if count[c] >= wanted[c]:
                    low[c], from_low[c] = middle[c], count[c]
                else:
                    high[c], from_high[c] = middle[c], count[c]


@compiled
def _kth_largest(values, k):
    """The k-th largest of the values, counted from 1; reorders them (Hoare's selection)."""
    left, right, place = 0, len(values) - 1, len(values) - k
    while left < right:
        # From the middle: residuals on a slope are in order already, the worst case for a pivot from an end.
        pivot = values[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            right = j
        elif place >= i:
            left = i
        else:
            break
    return values[place]


@compiled
def _roughly(series, T, wanted, peak, low, high, from_low, from_high, middle, count):
    """Narrows the range by a sample of the rows, and keeps what all rows confirm."""
    stride = T // _SAMPLE
    scaled, edge = np.empty(LANES), np.empty((2, LANES), series.dtype)
    under, over = np.empty(LANES, series.dtype), np.empty(LANES, series.dtype)
    under_count, over_count = np.empty(LANES), np.empty(LANES)
    for side in range(2):
        for c in range(LANES):
            under[c], over[c], under_count[c], over_count[c] = low[c], high[c], from_low[c] / stride, 0
            expected = wanted[c] / stride
            # Three standard deviations of such a count: the limits are nearly always right, and then all rows say so.
            margin = 3 * np.sqrt(expected) + 2
            scaled[c] = expected + margin if side == 0 else max(expected - margin, 1.0)
            scaled[c] = min(scaled[c], max(under_count[c], 1.0))
        _narrow(series, T, stride, scaled, 4, peak, under, over, under_count, over_count, middle, count)
        for c in range(LANES):
            edge[side, c] = under[c] if side == 0 else over[c]
    # A wrong guess costs time and no correctness: each limit moves only as far as the count of all rows allows.
    for side in range(2):
        _count_from(series, T, 1, edge[side], count)
        for c in range(LANES):
            if low[c] < edge[side, c] < high[c]:
                if count[c] >= wanted[c]:
                    low[c], from_low[c] = edge[side, c], count[c]
                else:
                    high[c], from_high[c] = edge[side, c], count[c]


@compiled
def _thresholds(series, wanted, peak, above, floor, tie, resolution, threshold):
    """The value of the last step that each channel of a tile selects, less what counts as a tie.

    Two limits with the last step between them are found by counting; only what lies between them is ordered.
    """
    T = len(series) // LANES
    low, high = np.empty(LANES, series.dtype), np.empty(LANES, series.dtype)
    from_low, from_high = np.empty(LANES), np.zeros(LANES)
    middle, count = np.empty(LANES, series.dtype), np.empty(LANES, series.dtype)
    for c in range(LANES):
        # `high` is a limit that nothing reaches: a little above the largest.
        low[c], high[c], from_low[c] = floor, 1.001 * peak[c], above[c]
        wanted[c] = max(min(wanted[c], above[c]), 1.0)
    if T > 2 * _SAMPLE:
        _roughly(series, T, wanted, peak, low, high, from_low, from_high, middle, count)
    # In a short series one count more costs less than to take values out.
    _narrow(
        series,
        T,
        1,
        wanted,
        4 if T < _SAMPLE else T // 64,
        peak,
        low,
        high,
        from_low,
        from_high,
        middle,
        count,
    )
    # If just what is wanted passes `low`, the last step is the smallest of it: the least value that is `low` or more.
    least, beyond = take(low, 0), splat(series.dtype.type(np.inf))
    lowest = beyond
    for i in range(0, T * LANES, LANES):
        lowest = smaller(where_from(take(series, i), least, beyond), lowest)
    put(threshold, 0, lowest)
    offset, position = np.zeros(LANES + 1, np.int64), np.empty(LANES, np.int64)
    for c in range(LANES):
        position[c] = offset[c]
        if from_low[c] > wanted[c]:
            offset[c + 1] = offset[c] + np.int64(from_low[c] - from_high[c])
        else:
            offset[c + 1] = offset[c]
            # An empty range: nothing of this channel is taken out.
            low[c] = high[c]
    if offset[LANES]:
        between = np.empty(offset[LANES], series.dtype)
        lows, highs = take(low, 0), take(high, 0)
        for i in range(0, T * LANES, LANES):
            if any_between(take(series, i), lows, highs):
                for c in range(LANES):
                    if low[c] <= series[i + c] < high[c]:
                        between[position[c]] = series[i + c]
                        position[c] += 1
        for c in range(LANES):
            if offset[c + 1] > offset[c]:
                threshold[c] = _kth_largest(
                    between[offset[c] : offset[c + 1]], np.int64(wanted[c] - from_high[c])
                )
    for c in range(LANES):
        # Nothing above the floor: all steps are alike, and all are in.
        threshold[c] = threshold[c] - max(tie * peak[c], resolution) if above[c] else 0


@compiled
def _widened(series, T, limit, dilation, own, masked, peaks, out):
    """Which steps of a tile reach the limit, or are near one that does, as bytes."""
    # Blocks overlap by the dilation: a step near a border is widened into the next block, too.
    edge = dilation * LANES
    for block in range(0, T, TILE_STEPS):
        steps = min(TILE_STEPS, T - block)
        lo, hi = max(block - dilation, 0), min(block + steps + dilation, T)
        peaks[: (lo - block) * LANES + edge] = 0
        peaks[(hi - block) * LANES + edge :] = 0
        for t in range(lo, hi):
            store_flags(peaks, (t - block) * LANES + edge, take(series, t * LANES), limit)
        part = out[block * LANES : (block + steps) * LANES]
        part[:] = 0
        for shift in range(2 * dilation + 1):
            shifted = peaks[shift * LANES :]
            for i in range(steps * LANES):
                part[i] |= shifted[i]
    if masked:
        for t in range(T):
            if not own[t]:
                out[t * LANES : (t + 1) * LANES] = 0


@compiled
def selections(
    begin, end, residual, peak, above, count, valid, masked, floor, tie, resolution, dilation, chosen, size
):
    """The selected steps in tiles (B, tiles T 8), widened, as bytes; and how many each channel has (B, D).

    Padded steps have no residual. They pass where nothing has one, and are taken out at the end.
    """
    D = peak.shape[1]
    padded = (D + LANES - 1) // LANES * LANES
    T = residual.shape[1] // padded
    threshold, number = np.empty(LANES, residual.dtype), np.empty(LANES, residual.dtype)
    wanted, found, top = np.empty(LANES), np.empty(LANES, np.int64), np.empty(LANES, residual.dtype)
    peaks = np.empty((min(TILE_STEPS, T) + 2 * dilation) * LANES, np.uint8)
    for b in range(begin, end):
        own = valid[b if masked else 0]
        for channel in range(0, padded, LANES):
            series = residual[b, channel * T : (channel + LANES) * T]
            out = chosen[b, channel * T : (channel + LANES) * T]
            width = min(LANES, D - channel)
            for c in range(LANES):
                # Lanes beyond the last channel hold zeros, and whatever they select is not read.
                wanted[c], top[c], found[c] = 1, 0, 0
                if c < width:
                    wanted[c], top[c], found[c] = (
                        count[b, channel + c],
                        peak[b, channel + c],
                        above[b, channel + c],
                    )
            _thresholds(series, wanted, top, found, floor, tie, resolution, threshold)
            limit = take(threshold, 0)
            _widened(series, T, limit, dilation, own, masked, peaks, out)
            # Of what was widened: neighbours overlap, so it does not follow from the count.
            size[b, channel : channel + width] = 0
            for block in range(0, T, TILE_STEPS):
                passed = limit - limit
                for t in range(block, min(block + TILE_STEPS, T)):
                    passed = passed + flags(out, t * LANES, limit)
                put(number, 0, passed)
                for c in range(width):
                    size[b, channel + c] += np.int64(number[c])
