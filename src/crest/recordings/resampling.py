"""One sample rate for all recordings: signals without aliases, and events that stay where they were."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from crest.recordings.archives import require_room
from crest.recordings.optional import optional_module
from crest.recordings.time_axis import same_rate

# The filter has some twenty taps for each; a ratio of rates is met to about 1e-8.
_LARGEST_FACTOR = 10_000


def rate_ratio(rate: float, target: float) -> Fraction:
    """Target over rate, as factors that a polyphase filter takes.

    Example:
        >>> rate_ratio(44100.0, 16000.0), rate_ratio(1000.0, 999.9999)
        (Fraction(160, 441), Fraction(1, 1))
    """
    if same_rate(rate, target) and abs(rate - target) <= 1e-6 * rate:
        return Fraction(1)
    ratio = Fraction(target / rate).limit_denominator(_LARGEST_FACTOR)
    if not 0 < max(ratio.numerator, ratio.denominator) <= _LARGEST_FACTOR or not ratio:
        raise ValueError(
            f"resample must be within a factor of {_LARGEST_FACTOR} of the sample rate {rate:g}, got {target:g}"
        )
    return ratio


def resampled(
    samples: npt.NDArray[np.float32], ratio: Fraction, largest: int | None = None
) -> npt.NDArray[np.float32]:
    """The signal (T, C) at `ratio` times its rate, without aliases: ceil(T ratio) samples, the first at the same time.

    Args:
        samples: the signal.
        ratio: of `rate_ratio`.
        largest: bytes that the result may take.

    Raises:
        ValueError: The result would be too large.
        ImportError: SciPy is missing.

    Example:
        >>> resampled(np.full((6, 1), 3.0, np.float32), Fraction(1, 2)).round(3).tolist()
        [[3.0], [3.0], [3.0]]
    """
    if ratio == 1:
        return samples
    signal = optional_module("scipy.signal", "resample")
    length = -(-len(samples) * ratio.numerator // ratio.denominator)
    require_room({"the resampled signal": 4 * length * samples.shape[1]}, largest)
    # A signal does not begin and end at zero: what a filter sees beyond its ends goes on along a line.
    found = signal.resample_poly(samples, ratio.numerator, ratio.denominator, axis=0, padtype="line")
    return np.ascontiguousarray(found, dtype=np.float32)


def resampled_events(events: npt.NDArray[np.bool_], ratio: Fraction) -> npt.NDArray[np.bool_]:
    """Event steps (T,) at `ratio` times their rate: each event has the steps that it touches, one at least.

    Example:
        >>> resampled_events(np.array([False, False, False, True, False, False]), Fraction(1, 3)).tolist()
        [False, True]
        >>> resampled_events(np.array([False, True, False]), Fraction(2)).tolist()
        [False, False, True, True, False, False]
    """
    up, down = ratio.numerator, ratio.denominator
    found = np.zeros(-(-len(events) * up // down), dtype=np.bool_)
    edges = np.flatnonzero(np.diff(events.astype(np.int8), prepend=0, append=0))
    for start, end in edges.reshape(-1, 2).tolist():
        found[start * up // down : -(-end * up // down)] = True
    return found
