"""Time columns: which names mean one, whether it rises evenly, and the sample rate that it tells."""

import re
from typing import Any

import numpy as np
import numpy.typing as npt

_UNITS: dict[str, float] = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds", "millis"), 1e-3),
    # Unicode has two letters mu.
    **dict.fromkeys(
        ("us", "\u00b5s", "\u03bcs", "usec", "usecs", "microsecond", "microseconds", "micros"), 1e-6
    ),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanosecond", "nanoseconds", "nanos"), 1e-9),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
}
# A column of one of these names alone would rather be a distance, a minimum or a height.
_NO_NAMES = {"s", "min", "mins", "h", "hr", "hrs"}
_TIMES = {
    "t",
    "time",
    "times",
    "timestamp",
    "timestamps",
    "datetime",
    "zeit",
    "zeitstempel",
    "temps",
    "tiempo",
}
_BESIDE = {"elapsed", "relative", "rel", "absolute", "abs", "stamp", "axis", "sample", "recording", "unix"}
_BETWEEN = re.compile(r"[\s_\-/()\[\]{},.:]+")

# our choice: docs/evidence/choices.md#time-column
_FEWEST = 8
"""Samples from which an even rise is no accident."""
_STRAIGHT = 0.1
"""Share of a step by which a column without a telling name may leave its straight line."""
_UNEVEN = 0.5
"""Share of the usual step by which a step may differ: a missing or repeated sample differs by more."""
SAME_RATE = 1e-3
"""Relative difference below which two rates are one: printed times have few digits."""


def seconds_by_name(name: str) -> float | None:
    """Seconds that one unit of a column stands for, if its name says that it is a time; else None.

    Example:
        >>> seconds_by_name("Time (ms)"), seconds_by_name("t"), seconds_by_name("torque")
        (0.001, 1.0, None)
    """
    # Alone, T is a temperature or a torque.
    if name.strip() == "T":
        return None
    words = [word for word in _BETWEEN.split(name.lower()) if word]
    if len(words) == 1 and words[0] in _UNITS and words[0] not in _NO_NAMES:
        return _UNITS[words[0]]
    unit = 1.0
    if len(words) > 1 and words[-1] in _UNITS:
        unit = _UNITS[words.pop()]
    says = set(words)
    return unit if says & _TIMES and says <= _TIMES | _BESIDE else None


def rises_evenly(column: npt.NDArray[Any]) -> bool:
    """Whether a column is a straight line upwards, but for rounding.

    Example:
        >>> rises_evenly(np.arange(9) / 3), rises_evenly(np.arange(9.0) ** 2), rises_evenly(np.arange(3.0))
        (True, False, False)
    """
    if len(column) < _FEWEST or column.dtype.kind not in "iuf" or not np.isfinite(column).all():
        return False
    times = column.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        # Against the line from the first to the last sample, not step by step: the rounding of a printed time counts
        # twice in a difference of two, and does not add up along the column.
        step = (times[-1] - times[0]) / (len(times) - 1)
        line = times[0] + step * np.arange(len(times))
        return bool(step > 0 and (np.abs(times - line) <= _STRAIGHT * step).all())


def counts_samples(column: npt.NDArray[Any]) -> bool:
    """Whether a column is a counter: whole numbers, one more at each sample.

    Example:
        >>> counts_samples(np.arange(5.0)), counts_samples(np.arange(5) / 100)
        (True, False)
    """
    times = column.astype(np.float64)
    return bool((np.diff(times) == 1).all() and float(times[0]).is_integer())


def rate_of_times(times: npt.NDArray[Any], unit: float, what: str) -> float:
    """Samples per second of a time column, to the digits that its numbers carry.

    Args:
        times: (T,), one for each sample.
        unit: Seconds that a unit of them stands for.
        what: How the column is called, for the message.

    Raises:
        ValueError: The times do not rise, or not by equal steps; the message names the first sample that is wrong.

    Example:
        >>> rate_of_times(np.array([0.0, 0.333, 0.667, 1.0]), 1e-3, "time_ms")
        3000.0
        >>> rate_of_times(np.array([0.0, 0.1, 0.2, 0.4]), 1.0, "t")
        Traceback (most recent call last):
        ValueError: its time column t must rise by equal steps, got 0.2 from sample 2 to 3 where 0.1 is usual
    """
    if times.dtype.kind not in "iuf":
        raise ValueError(f"its time column {what} must hold real numbers, got {times.dtype}")
    times = times.astype(np.float64)
    if len(times) < 2:
        raise ValueError(f"its time column {what} must have at least 2 samples, got {len(times)}")
    if not np.isfinite(times).all():
        sample = int(np.argmin(np.isfinite(times)))
        raise ValueError(f"its time column {what} must be finite, got {times[sample]} at sample {sample}")
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(times)
        # The median, which a few missing samples do not move as they would the mean.
        usual = float(np.median(steps))
        odd = ~(np.abs(steps - usual) <= _UNEVEN * usual)
    if odd.any():
        sample = int(np.argmax(odd))
        rest = f"; {odd.sum()} such steps" if odd.sum() > 1 else ""
        raise ValueError(
            f"its time column {what} must rise by equal steps, got {steps[sample]:.6g} from sample {sample} "
            f"to {sample + 1} where {usual:.6g} is usual{rest}"
        )
    lasts = float(times[-1] - times[0]) * unit
    if not 0 < lasts < np.inf or not np.isfinite((len(times) - 1) / lasts):
        raise ValueError(f"its time column {what} must rise by steps that have a rate, got {usual!r}")
    # Each end is off by no more than the steps differ: the rate is known to twice that over the span, and has no more
    # digits than it can tell.
    doubt = 2 * float(np.abs(steps - usual).max()) / float(times[-1] - times[0])
    return _shortest((len(times) - 1) / lasts, min(doubt, SAME_RATE) + 1e-9)


def _shortest(value: float, doubt: float) -> float:
    """The number with the fewest digits that a relative doubt allows."""
    for digits in range(1, 16):
        short = float(f"{value:.{digits}g}")
        if abs(short - value) <= doubt * value:
            return short
    return value


def same_rate(one: float, other: float) -> bool:
    """Whether two sample rates are one but for the rounding of printed times.

    Example:
        >>> same_rate(12000.0, 11999.3), same_rate(12000.0, 11000.0)
        (True, False)
    """
    return abs(one - other) <= SAME_RATE * max(one, other)
