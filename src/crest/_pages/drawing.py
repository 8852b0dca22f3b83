"""Numbers as places in a picture: ticks, percents and paths. The pictures of the first screen are drawn without a script."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_BINS = 500
"""A longer line is cut into this many stretches, and each is drawn by its least and its largest value. Pixels show no more."""
_SIDE = 1000
"""Units of a picture's sides; whole ones are finer than a pixel."""


class Scale(NamedTuple):
    """From numbers to places between 0 and 1.

    Example:
        >>> Scale(0.0, 2.0).at(0.5)
        0.25
    """

    low: float
    high: float

    def at(self, value: float) -> float:
        """The place of a number; 0 or 1 for numbers beyond."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def percent(self, value: float) -> float:
        """The same in percent, for CSS."""
        return round(100 * self.at(value), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Some four round numbers on the scale, and how they are written.

        Example:
            >>> [text for _, text in Scale(0.0, 1.3).ticks]
            ['0', '0.5', '1.0']
        """
        step = _round_step((self.high - self.low) / 4)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        # A step of 2.5 needs a digit more than its size tells.
        digits = next((some for some in range(8) if math.isclose(step, round(step, some))), 8)
        return [(place * step, _written(place * step, digits)) for place in range(first, last + 1)]


def _round_step(rough: float) -> float:
    size = 10.0 ** math.floor(math.log10(rough))
    return next(size * part for part in (1, 2, 2.5, 5, 10) if size * part >= rough * (1 - 1e-9))


def _written(value: float, digits: int) -> str:
    if abs(value) >= 1e5 or digits > 4:
        return f"{value:.2g}"
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else "0"


def scale_of(values: Iterable[float | None], *, least: float = 0.0, from_zero: bool = False) -> Scale:
    """A scale that holds these numbers with a little room; of no number, or of equal ones, one around them.

    Args:
        values: what is drawn; None and what is not finite count for nothing.
        least: the scale goes up to this at least.
        from_zero: whether it starts at 0.

    Example:
        >>> scale_of([1.0, 3.0], from_zero=True).low, scale_of([2.0, 2.0]).at(2.0)
        (0.0, 0.5)
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    if from_zero:
        return Scale(0.0, 1.04 * max([*known, least, 1e-12]))
    low, high = min(known, default=0.0), max([*known, least] if least else known, default=1.0)
    room = 0.06 * (high - low) or 0.5 * abs(high) or 0.5
    return Scale(low - room, high + room)


def line_path(values: Sequence[float | None], scale: Scale) -> str:
    """A line over all steps as an SVG path in a square of 1000; None is a gap. Long lines are thinned.

    Example:
        >>> line_path([0.0, 1.0, None, 0.0, 0.5], Scale(0.0, 1.0))
        'M0 1000L250 0M750 1000L1000 500'
    """
    steps, parts, pen = max(len(values) - 1, 1), [], False
    for place, value in _thinned(values):
        if value is None or not math.isfinite(value):
            pen = False
            continue
        x, y = round(_SIDE * place / steps), round(_SIDE * (1 - scale.at(value)))
        parts.append(f"{'L' if pen else 'M'}{x} {y}")
        pen = True
    return "".join(parts)


def _thinned(values: Sequence[float | None]) -> Iterable[tuple[int, float | None]]:
    """Places and values; of each stretch of a long line the least and the largest, in their order."""
    if len(values) <= 3 * _BINS:
        yield from enumerate(values)
        return
    wide = len(values) / _BINS
    for number in range(_BINS):
        places = range(math.floor(number * wide), math.floor((number + 1) * wide))
        known = [(value, place) for place in places if (value := values[place]) is not None]
        if not known:
            yield places[0], None
            continue
        yield from sorted((place, value) for value, place in {min(known), max(known)})


def band_path(flags: Sequence[bool]) -> str:
    """Bands over the steps that are True as an SVG path in a square of 1000. Each is wide enough to be seen, and those that touch are one.

    Example:
        >>> band_path([False, True, True, False, False])
        'M125 0H625V1000H125z'
    """
    per = _SIDE / max(len(flags) - 1, 1)
    bands: list[list[int]] = []
    for place in (place for place, flag in enumerate(flags) if flag):
        left, right = max(0, math.floor((place - 0.5) * per)), min(_SIDE, math.ceil((place + 0.5) * per))
        if bands and left <= bands[-1][1]:
            bands[-1][1] = right
        else:
            bands.append([left, right])
    return "".join(f"M{left} 0H{right}V{_SIDE}H{left}z" for left, right in bands)


def dot_path(x: float, y: float) -> str:
    """A dot as an SVG path in a square of 1000: a line of no length, whose round end is the dot at any size of the picture.

    Example:
        >>> dot_path(0.25, 1.0)
        'M250 0h0'
    """
    return f"M{round(_SIDE * x)} {round(_SIDE * (1 - y))}h0"
