"""CREST's passes over the features, compiled by numba, one trajectory at a time.

Channels go in tiles of eight: a tile is a contiguous series of rows (T, 8), so that every loop runs over one flat
array, whatever D is, and a step further in time is a constant distance in memory. What is zero beside the tile
stands for what lies beyond the ends.

Only contraction is allowed of the fast floating point modes: NaN stays NaN, and no sum is reordered. Sums are of
128 lanes in the features' dtype over blocks of 512 steps, and of blocks in float64.
"""

import numba
import numpy as np

LANES = 8
"""Channels of a tile."""
TAPS = 8
"""Weights of the Gaussian that one pass adds."""
_STEPS = 512
_ROWS = 16
_FLAT = LANES * _ROWS

_compiled = numba.njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")


@_compiled
def _add_even(out, size, rows, start, nearest, weights):
    """Adds the taps nearest + 1 to nearest + 8 on both sides, with equal weights on both."""
    before = rows[start - LANES * (nearest + TAPS) :]
    after = rows[start + LANES * (nearest + 1) :]
    w1, w2, w3, w4 = weights[nearest + 1], weights[nearest + 2], weights[nearest + 3], weights[nearest + 4]
    w5, w6, w7, w8 = weights[nearest + 5], weights[nearest + 6], weights[nearest + 7], weights[nearest + 8]
    for i in range(size):
        total = out[i]
        total += w1 * (before[i + 7 * LANES] + after[i])
        total += w2 * (before[i + 6 * LANES] + after[i + LANES])
        total += w3 * (before[i + 5 * LANES] + after[i + 2 * LANES])
        total += w4 * (before[i + 4 * LANES] + after[i + 3 * LANES])
        total += w5 * (before[i + 3 * LANES] + after[i + 4 * LANES])
        total += w6 * (before[i + 2 * LANES] + after[i + 5 * LANES])
        total += w7 * (before[i + LANES] + after[i + 6 * LANES])
        total += w8 * (before[i] + after[i + 7 * LANES])
        out[i] = total


@_compiled
def _odd_part(out, size, rows, start, weights):
    """The first moment: taps with weights of opposite sign on the two sides. Only the ends of a series need it."""
    out[:size] = 0.0
    for tap in range(1, len(weights)):
        before, after = rows[start - LANES * tap :], rows[start + LANES * tap :]
        weight = weights[tap] * tap
        for i in range(size):
            out[i] += weight * (after[i] - before[i])


@_compiled
def end_factors(valid, weights, sigma, line, by_value, by_slope):
    """What the two sums over taps are multiplied by to give the background at each step, without beyond-the-end.

    The average of the valid steps has the value over the weight; a line has a share of the slope too.
    """
    T, radius = len(valid), len(weights) - 1
    tiny = np.finfo(weights.dtype).eps
    ahead, present_around = 0, 0
    for t in range(T):
        while ahead < min(t + radius + 1, T):
            present_around += valid[ahead]
            ahead += 1
        if t > radius:
            present_around -= valid[t - radius - 1]
        by_value[t], by_slope[t] = 1, 0
        if present_around == 2 * radius + 1:
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


@_compiled
def _first_and_reach(features, valid, masked, first, reach):
    """Each channel's first valid step, and how far it gets from it; whether there is a valid step."""
    T, D = features.shape
    start = 0
    if masked:
        while start < T and not valid[start]:
            start += 1
        if start == T:
            return False
    for c in range(D):
        first[c] = features[start, c]
        reach[c] = 0
    for t in range(start, T):
        if masked and not valid[t]:
            continue
        row = features[t]
        for c in range(D):
            far = abs(row[c] - first[c])
            reach[c] = far if far > reach[c] else reach[c]
    for c in range(D):
        if not reach[c] > 0:
            reach[c] = 1
    return True


@_compiled
def _fill(rows, features, valid, masked, first, reach, channel, lo, hi, row):
    """Steps lo to hi of one tile, from the first step and in units of the reach, from `row` of `rows` on."""
    width = min(LANES, features.shape[1] - channel)
    if width == LANES:
        origin, scale = first[channel : channel + LANES], reach[channel : channel + LANES]
        for t in range(lo, hi):
            source = features[t, channel : channel + LANES]
            to = rows[(row + t - lo) * LANES : (row + t - lo + 1) * LANES]
            for c in range(LANES):
                to[c] = (source[c] - origin[c]) / scale[c]
    else:
        for t in range(lo, hi):
            for c in range(LANES):
                if c < width:
                    rows[(row + t - lo) * LANES + c] = (
                        features[t, channel + c] - first[channel + c]
                    ) / reach[channel + c]
                else:
                    rows[(row + t - lo) * LANES + c] = 0
    if masked:
        for t in range(lo, hi):
            if not valid[t]:
                rows[(row + t - lo) * LANES : (row + t - lo + 1) * LANES] = 0


@_compiled
def _residual_row(
    features, valid, masked, weights, by_value, by_slope, floor, delta, residual, peak, above, profile
):
    T, D = features.shape
    tiles, halo = len(residual), len(weights) - 1
    first, reach = np.empty(D, features.dtype), np.empty(D, features.dtype)
    if not _first_and_reach(features, valid, masked, first, reach):
        residual[:] = 0
        peak[:] = 0
        above[:] = 0
        profile[:] = 0
        return
    zero = features.dtype.type(0)
    centre = weights[0]
    rows = np.zeros((_STEPS + 2 * halo) * LANES, features.dtype)
    smooth, slope = np.empty(_FLAT, features.dtype), np.empty(_FLAT, features.dtype)
    sums, counts, tops = (
        np.empty(_FLAT, features.dtype),
        np.empty(_FLAT, features.dtype),
        np.empty(_FLAT, features.dtype),
    )
    total, number, highest = np.zeros(tiles * LANES), np.zeros(tiles * LANES), np.zeros(tiles * LANES)
    for block in range(0, T, _STEPS):
        steps = min(_STEPS, T - block)
        lo, hi = max(block - halo, 0), min(block + steps + halo, T)
        for tile in range(tiles):
            rows[: (lo - block + halo) * LANES] = 0
            rows[(hi - block + halo) * LANES :] = 0
            _fill(rows, features, valid, masked, first, reach, tile * LANES, lo, hi, lo - block + halo)
            sums[:] = 0
            counts[:] = 0
            tops[:] = 0
            for s in range(0, steps, _ROWS):
                n = min(_ROWS, steps - s)
                size, start = n * LANES, (s + halo) * LANES
                here = rows[start : start + size]
                for i in range(size):
                    smooth[i] = centre * here[i]
                for nearest in range(0, halo, TAPS):
                    _add_even(smooth, size, rows, start, nearest, weights)
                plain, tilted = not masked, False
                for t in range(block + s, block + s + n):
                    plain = plain and by_value[t] == 1
                    tilted = tilted or by_slope[t] != 0
                out = residual[tile, (block + s) * LANES : (block + s) * LANES + size]
                if not plain:
                    if tilted:
                        _odd_part(slope, size, rows, start, weights)
                    for r in range(n):
                        value, lean = by_value[block + s + r], by_slope[block + s + r]
                        for c in range(LANES):
                            smooth[r * LANES + c] *= value
                        if lean != 0:
                            for c in range(LANES):
                                smooth[r * LANES + c] += lean * slope[r * LANES + c]
                        if masked and not valid[block + s + r]:
                            smooth[r * LANES : (r + 1) * LANES] = 0
                for i in range(size):
                    far = abs(here[i] - smooth[i])
                    far = far if far > floor else zero
                    out[i] = far
                    sums[i] += far
                    counts[i] += far > zero
                    tops[i] = far if far > tops[i] else tops[i]
            for i in range(_FLAT):
                c = tile * LANES + i % LANES
                total[c] += sums[i]
                number[c] += counts[i]
                highest[c] = max(highest[c], tops[i])
    share = np.zeros(tiles * LANES, features.dtype)
    for c in range(D):
        share[c] = 1 / (max(total[c], delta) * D)
        peak[c] = highest[c]
        above[c] = int(number[c])
    _profile(residual, share, T, profile)


@_compiled
def _profile(residual, share, T, profile):
    """The average over channels of residuals that add up to one in each."""
    lanes = np.empty(_STEPS * LANES, residual.dtype)
    for block in range(0, T, _STEPS):
        steps = min(_STEPS, T - block)
        lanes[:] = 0
        for tile in range(len(residual)):
            mine = share[tile * LANES : (tile + 1) * LANES]
            series = residual[tile, block * LANES : (block + steps) * LANES]
            for t in range(steps):
                for c in range(LANES):
                    lanes[t * LANES + c] += series[t * LANES + c] * mine[c]
        for t in range(steps):
            i = t * LANES
            profile[block + t] = ((lanes[i] + lanes[i + 1]) + (lanes[i + 2] + lanes[i + 3])) + (
                (lanes[i + 4] + lanes[i + 5]) + (lanes[i + 6] + lanes[i + 7])
            )


@_compiled
def residuals(
    begin,
    end,
    features,
    valid,
    masked,
    weights,
    sigma,
    line,
    floor,
    delta,
    residual,
    peak,
    above,
    profile,
):
    """Residuals in tiles (B, tiles, 8 T), their maxima and numbers above the floor (B, D), and the profile (B, T)."""
    T = features.shape[1]
    by_value, by_slope = np.empty(T, features.dtype), np.empty(T, features.dtype)
    if not masked:
        by_value[:] = 1
        by_slope[:] = 0
        # All trajectories have these ends; between them nothing is missing.
        edge = len(weights) - 1
        if 2 * edge < T:
            ends = np.ones(2 * edge, np.bool_)
            value, slope = np.empty(2 * edge, features.dtype), np.empty(2 * edge, features.dtype)
            end_factors(ends, weights, sigma, line, value, slope)
            by_value[:edge], by_slope[:edge] = value[:edge], slope[:edge]
            by_value[T - edge :], by_slope[T - edge :] = value[edge:], slope[edge:]
        else:
            end_factors(np.ones(T, np.bool_), weights, sigma, line, by_value, by_slope)
    for b in range(begin, end):
        own = valid[b if masked else 0]
        if masked:
            end_factors(own, weights, sigma, line, by_value, by_slope)
        _residual_row(
            features[b], own, masked, weights, by_value, by_slope, floor, delta,
            residual[b], peak[b], above[b], profile[b],
        )  # fmt: skip


@_compiled
def _kth_largest(values, k):
    """The k-th largest of the values, counted from 1; reorders them (Hoare's selection)."""
    left, right, place = 0, len(values) - 1, len(values) - k
    while left < right:
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


@_compiled
def _thresholds(series, bits, wanted, peak, tie, shift, base, bins, histogram, threshold):
    """The value of the last step that each channel of a tile selects, less what counts as a tie.

    A histogram over the leading bits of the residuals finds the bin of the last step, and only what lies in that bin is ordered.
    Positive floats are ordered as the integers of their bits are.
    """
    T = len(series) // LANES
    histogram[:] = 0
    for i in range(0, T * LANES, LANES):
        for c in range(LANES):
            place = min(max((bits[i + c] >> shift) - base, 0), bins - 1)
            histogram[place * LANES + c] += 1
    inside, rank, offset = (
        np.empty(LANES, np.int64),
        np.empty(LANES, np.int64),
        np.zeros(LANES + 1, np.int64),
    )
    for c in range(LANES):
        place, found = bins - 1, np.int64(histogram[(bins - 1) * LANES + c])
        while found < wanted[c] and place > 0:
            place -= 1
            found += histogram[place * LANES + c]
        number = histogram[place * LANES + c]
        inside[c] = place
        rank[c] = max(wanted[c] - (found - number), 1)
        # Bin 0 holds what has no residual: all alike.
        offset[c + 1] = offset[c] + (number if place > 0 else 0)
    gathered = np.empty(offset[LANES], series.dtype)
    position = offset[:LANES].copy()
    for i in range(0, T * LANES, LANES):
        for c in range(LANES):
            place = min(max((bits[i + c] >> shift) - base, 0), bins - 1)
            if place == inside[c] and place > 0:
                gathered[position[c]] = series[i + c]
                position[c] += 1
    for c in range(LANES):
        own = gathered[offset[c] : offset[c + 1]]
        last = _kth_largest(own, min(rank[c], len(own))) if len(own) else series.dtype.type(0)
        threshold[c] = last - tie * peak[c]


@_compiled
def selections(
    begin,
    end,
    residual,
    bits,
    peak,
    count,
    valid,
    masked,
    tie,
    shift,
    base,
    bins,
    dilation,
    chosen,
    size,
):
    """The selected steps in tiles (B, tiles, 8 T), widened, as bytes; and how many each channel has (B, D)."""
    tiles, T, D = residual.shape[1], residual.shape[2] // LANES, peak.shape[1]
    histogram = np.empty(bins * LANES, np.int32)
    threshold, wanted, top = (
        np.empty(LANES, residual.dtype),
        np.empty(LANES, np.int64),
        np.empty(LANES, residual.dtype),
    )
    edge = dilation * LANES
    peaks = np.zeros(_STEPS * LANES + 2 * edge, np.uint8)
    numbers = np.empty(_FLAT, np.int32)
    for b in range(begin, end):
        own = valid[b if masked else 0]
        for tile in range(tiles):
            series, width = residual[b, tile], min(LANES, D - tile * LANES)
            wanted[:] = 1
            top[:] = 0
            wanted[:width] = count[b, tile * LANES : tile * LANES + width]
            top[:width] = peak[b, tile * LANES : tile * LANES + width]
            _thresholds(series, bits[b, tile], wanted, top, tie, shift, base, bins, histogram, threshold)
            numbers[:] = 0
            for block in range(0, T, _STEPS):
                steps = min(_STEPS, T - block)
                lo, hi = max(block - dilation, 0), min(block + steps + dilation, T)
                peaks[: (lo - block + dilation) * LANES] = 0
                peaks[(hi - block + dilation) * LANES :] = 0
                to = peaks[(lo - block + dilation) * LANES :]
                source = series[lo * LANES : hi * LANES]
                for t in range(hi - lo):
                    for c in range(LANES):
                        to[t * LANES + c] = source[t * LANES + c] >= threshold[c]
                if masked:
                    for t in range(hi - lo):
                        if not own[lo + t]:
                            to[t * LANES : (t + 1) * LANES] = 0
                out = chosen[b, tile, block * LANES : (block + steps) * LANES]
                out[:] = peaks[: steps * LANES]
                for shifted in range(1, 2 * dilation + 1):
                    other = peaks[shifted * LANES :]
                    for i in range(steps * LANES):
                        out[i] |= other[i]
                if masked:
                    for t in range(steps):
                        if not own[block + t]:
                            out[t * LANES : (t + 1) * LANES] = 0
                for i in range(0, steps * LANES, _FLAT):
                    part = out[i : min(i + _FLAT, steps * LANES)]
                    for j in range(len(part)):
                        numbers[j] += part[j]
            for c in range(width):
                size[b, tile * LANES + c] = numbers[c::LANES].sum()


@_compiled
def _pool_tile(features, first, own, masked, chosen, channel, block, steps, width, inside, everything):
    """Adds the sums over selected and over all steps of one tile, from the first step, in 128 lanes."""
    for s in range(0, steps, _ROWS):
        for r in range(min(_ROWS, steps - s)):
            t = block + s + r
            if masked and not own[t]:
                continue
            row, flags = (
                features[t, channel : channel + width],
                chosen[t * LANES : (t + 1) * LANES],
            )
            if width == LANES:
                for c in range(LANES):
                    value = row[c] - first[c]
                    everything[r * LANES + c] += value
                    inside[r * LANES + c] += value * flags[c]
            else:
                for c in range(width):
                    value = row[c] - first[c]
                    everything[r * LANES + c] += value
                    inside[r * LANES + c] += value * flags[c]


@_compiled
def weighted_sums(begin, end, features, chosen, inner, outer, level, valid, masked, pooled):
    """Sum over valid steps of `inner` times the selected and `outer` times the other features (B, D).

    `level` is the sum of these weights: features are added up from their first step, so that an offset costs no digits.
    """
    T, D = features.shape[1], features.shape[2]
    tiles = chosen.shape[1]
    inside, everything = np.empty(_FLAT, features.dtype), np.empty(_FLAT, features.dtype)
    selected, overall = np.empty(tiles * LANES), np.empty(tiles * LANES)
    first = np.zeros(tiles * LANES, features.dtype)
    for b in range(begin, end):
        own = valid[b if masked else 0]
        start = 0
        if masked:
            while start < T and not own[start]:
                start += 1
        if start == T:
            pooled[b] = 0
            continue
        first[:D] = features[b, start]
        selected[:] = 0
        overall[:] = 0
        for block in range(0, T, _STEPS):
            steps = min(_STEPS, T - block)
            for tile in range(tiles):
                inside[:] = 0
                everything[:] = 0
                channel = tile * LANES
                _pool_tile(
                    features[b], first[channel : channel + LANES], own, masked, chosen[b, tile], channel, block, steps,
                    min(LANES, D - channel), inside, everything,
                )  # fmt: skip
                for i in range(_FLAT):
                    selected[channel + i % LANES] += inside[i]
                    overall[channel + i % LANES] += everything[i]
        for c in range(D):
            rest = overall[c] - selected[c]
            pooled[b, c] = inner[b, c] * selected[c] + outer[b, c] * rest + level[b, c] * first[c]


@_compiled
def spread_weights(begin, end, gradient, chosen, inner, outer, valid, masked, features):
    """The transpose of `weighted_sums`: `gradient` (B, D) on every step, by the step's weight (B, T, D)."""
    T, D = features.shape[1], features.shape[2]
    tiles = chosen.shape[1]
    low, step = np.zeros(tiles * LANES, features.dtype), np.zeros(tiles * LANES, features.dtype)
    for b in range(begin, end):
        own = valid[b if masked else 0]
        for c in range(D):
            low[c] = outer[b, c] * gradient[b, c]
            step[c] = (inner[b, c] - outer[b, c]) * gradient[b, c]
        for t in range(T):
            if masked and not own[t]:
                features[b, t] = 0
                continue
            for channel in range(0, D - D % LANES, LANES):
                row = features[b, t, channel : channel + LANES]
                flags = chosen[b, channel // LANES, t * LANES : (t + 1) * LANES]
                for c in range(LANES):
                    row[c] = low[channel + c] + step[channel + c] * flags[c]
            for c in range(D - D % LANES, D):
                features[b, t, c] = low[c] + step[c] * chosen[b, c // LANES, t * LANES + c % LANES]
