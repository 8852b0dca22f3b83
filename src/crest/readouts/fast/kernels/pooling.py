"""Pooling as one weighted sum, and its transpose, compiled by numba: the last of CREST's passes over the features."""

import numpy as np

from crest.readouts.fast.kernels.lanes import LANES, flags, put, splat, take
from crest.readouts.fast.kernels.tiles import TILE_STEPS, channels, compiled, first_valid


@compiled
def weighted_sums(begin, end, features, chosen, inner, outer, level, valid, masked, pooled):
    """Sum over valid steps of `inner` times the selected and `outer` times the other features, (B, T D) to (B, D).

    `level` is the sum of these weights: features are added up from their first step, so that an offset costs no digits.
    """
    D = pooled.shape[1]
    padded = (D + LANES - 1) // LANES * LANES
    T = chosen.shape[1] // padded
    selected, everything = np.empty(padded), np.empty(padded)
    origin, spare, part = (
        np.zeros(padded, features.dtype),
        np.zeros(LANES, features.dtype),
        np.empty(2 * LANES, features.dtype),
    )
    for b in range(begin, end):
        own, series = valid[b if masked else 0], features[b]
        start = first_valid(own, masked, T)
        if start == T:
            pooled[b] = 0
            continue
        # Lanes beyond D keep an origin of zero, as `channels` gives zeros for them.
        for c in range(D):
            origin[c] = series[start * D + c]
        selected[:] = 0
        everything[:] = 0
        for block in range(start, T, TILE_STEPS):
            for channel in range(0, padded, LANES):
                width, flagged = min(LANES, D - channel), chosen[b, channel * T :]
                # A power of two: what many large features add up to stays within the range of the dtype.
                first, share = take(origin, channel), splat(features.dtype.type(1 / TILE_STEPS))
                inside, overall = first - first, first - first
                for t in range(block, min(block + TILE_STEPS, T)):
                    if not masked or own[t]:
                        value = (channels(series, t * D + channel, width, spare) - first) * share
                        overall = overall + value
                        # A product and no branch. It lets NaN through, as the sum over all steps does.
                        inside = inside + value * flags(flagged, t * LANES, first)
                put(part, 0, inside)
                put(part, LANES, overall)
                for c in range(LANES):
                    selected[channel + c] += part[c] * float(TILE_STEPS)
                    everything[channel + c] += part[LANES + c] * float(TILE_STEPS)
        for c in range(D):
            rest = everything[c] - selected[c]
            pooled[b, c] = inner[b, c] * selected[c] + outer[b, c] * rest + level[b, c] * origin[c]


@compiled
def spread_weights(begin, end, gradient, chosen, inner, outer, valid, masked, features):
    """The transpose of `weighted_sums`: `gradient` (B, D) on every step, by the step's weight (B, T D)."""
    D = gradient.shape[1]
    padded, whole = (D + LANES - 1) // LANES * LANES, D - D % LANES
    T = chosen.shape[1] // padded
    low, step = np.zeros(padded, features.dtype), np.zeros(padded, features.dtype)
    for b in range(begin, end):
        own, series, flagged = valid[b if masked else 0], features[b], chosen[b]
        # Without `level`: what the first step takes off and adds again cancels in the gradient.
        for c in range(D):
            low[c] = outer[b, c] * gradient[b, c]
            step[c] = (inner[b, c] - outer[b, c]) * gradient[b, c]
        for t in range(T):
            if masked and not own[t]:
                series[t * D : (t + 1) * D] = 0
                continue
            for channel in range(0, whole, LANES):
                rest = take(low, channel)
                value = rest + take(step, channel) * flags(flagged, channel * T + t * LANES, rest)
                put(series, t * D + channel, value)
            # One by one: eight at once would write into the next step, and after the last one into the next trajectory, which may
            # be another thread's.
            for c in range(whole, D):
                series[t * D + c] = low[c] + step[c] * flagged[whole * T + t * LANES + c - whole]
