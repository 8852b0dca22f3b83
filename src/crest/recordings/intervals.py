"""Parts of a file that rows of a table name: where they begin and end, and which of them overlap."""

import math
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# our choice: docs/evidence/choices.md#parts-of-files
_PLACE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(s|samples|%)?")


class FilePart(NamedTuple):
    """Samples of a file, the first included and the last excluded."""

    first: int
    last: int

    def scaled(self, numerator: int, denominator: int) -> "FilePart":
        """The same part of the file at another rate; neighbours stay neighbours.

        Example:
            >>> FilePart(0, 10).scaled(1, 4), FilePart(10, 21).scaled(1, 4)
            (FilePart(first=0, last=3), FilePart(first=3, last=6))
        """
        first, last = (-(-place * numerator // denominator) for place in self)
        return FilePart(first, last)


def interval_of(
    cells: tuple[str, str], names: tuple[str, str], length: int, sample_rate: float | None
) -> FilePart:
    """The part of a file that the cells of two columns name.

    Args:
        cells: Start and stop: seconds (`12.5` or `12.5 s`), samples (`6400 samples`), or a share of the file (`60 %`). Empty:
            the beginning, or the end.
        names: Of the two columns.
        length: Samples of the file.
        sample_rate: Of the file; needed for seconds.

    Example:
        >>> interval_of(("", "60 %"), ("start", "stop"), 50, None), interval_of(("1.5", "40 samples"), ("start", "stop"), 50, 10.0)
        (FilePart(first=0, last=30), FilePart(first=15, last=40))
    """
    first, last = (
        empty if not cell else _place(name, cell, length, sample_rate)
        for name, cell, empty in zip(names, cells, (0, length), strict=True)
    )
    if not 0 <= first < last <= length:
        end = f"{length} samples" if sample_rate is None else f"{length} samples = {length / sample_rate:g} s"
        raise ValueError(
            f"{names[0]} and {names[1]} must satisfy 0 <= {names[0]} < {names[1]} <= the file's {end}, "
            f"got {cells[0] or 'nothing'!r} and {cells[1] or 'nothing'!r}"
        )
    return FilePart(first, last)


def _place(name: str, cell: str, length: int, sample_rate: float | None) -> int:
    found = _PLACE.fullmatch(cell.strip())
    value = float(found[1]) if found else math.nan
    if found is None or not math.isfinite(value):
        raise ValueError(
            f"{name} must be in seconds (12.5), samples (6400 samples) or a share (60 %), got {cell!r}"
        )
    if found[2] == "%":
        return round(value / 100 * length)
    if found[2] == "samples":
        return round(value)
    if sample_rate is None:
        raise ValueError(
            f"{name} is in seconds, so sample_rate must be given: the file has none, got {cell!r}"
        )
    return round(value * sample_rate)


def overlaps(parts: Iterable[tuple[int, FilePart]]) -> Iterator[tuple[int, int]]:
    """Pairs of rows of one file that share samples: each that begins before an earlier one has ended, and that earlier one.

    Example:
        >>> list(overlaps([(2, FilePart(0, 60)), (3, FilePart(60, 100)), (4, FilePart(90, 120))]))
        [(4, 3)]
    """
    reaching, end = 0, -1
    for line, (first, last) in sorted(parts, key=lambda part: (part[1], part[0])):
        if first < end:
            yield max(line, reaching), min(line, reaching)
        if last > end:
            reaching, end = line, last
