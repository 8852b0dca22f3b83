"""Signals as text: numbers in lines, with a separator and a decimal mark that are found out."""

import collections
import csv
import itertools
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from crest.recordings.archives import require_room
from crest.recordings.selection import ColumnSelection, Content, planned

_WITH_COMMA = re.compile(r"[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?")
# As ISO 8601 has them, with a time of day: a day alone tells no rate.
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?")
_DATE_FRACTION = re.compile(r"(?<=:\d\d)[.,]\d+")
_HINT = (
    "; a comma separates its columns, so where its numbers have decimal commas, separate the columns by ';'"
)

_LONGEST_LINE = 2**20
"""Characters of a line."""
# So many names are told in a message.
_TOLD = 5


class _Head(NamedTuple):
    """How a file begins."""

    delimiter: str | None
    """None for spaces."""
    names: tuple[str, ...] | None
    first: list[str]
    """The cells of the first sample."""
    lines: Iterator[tuple[int, str]]
    """The samples, each with its line in the file."""


def separator(line: str) -> str | None:
    r"""What separates the numbers of a line; None for spaces.

    Semicolons and tabs separate wherever they are. A comma does too, unless spaces do and it is the decimal mark.

    Example:
        >>> [separator(line) for line in ("1,5;2", "1,5\t2", "1.5, 2", "1,5 2,25", "1.5 2")]
        [';', '\t', ',', None, None]
    """
    for mark in ";\t":
        if mark in line:
            return mark
    cells = line.split()
    if "," not in line:
        return None if len(cells) > 1 else ","
    return None if len(cells) > 1 and all(map(_WITH_COMMA.fullmatch, cells)) else ","


def read_text(path: Path, selection: ColumnSelection) -> Content:
    r"""The columns of a .csv or .txt file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "a.csv"
        ...     _ = path.write_text("t;x\n0,0;1,5\n0,1;2,5\n")
        ...     read_text(path, ColumnSelection()).array.tolist()
        [[0.0, 1.5], [0.1, 2.5]]
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        # Text takes at least two bytes a number, which takes eight in memory.
        require_room({path.name: 4 * os.fstat(file.fileno()).st_size}, selection.largest)
        head = _head(file)
        width = len(head.first)
        if head.names is not None and head.first and len(head.names) != width:
            raise ValueError(
                f"its header names {len(head.names)} columns, its rows have {width}{_hint(head.delimiter)}"
            )
        if head.names is not None and not all(head.names):
            raise ValueError(
                f"its header must name every column (is one an index?), got {', '.join(head.names)!r}"
            )
        twins = sorted(name for name, count in collections.Counter(head.names or ()).items() if count > 1)
        if twins:
            told = ", ".join(map(repr, twins[:_TOLD]))
            raise ValueError(f"its header must name each column once, got {told} more than once")
        dated = frozenset(place for place, cell in enumerate(head.first) if _DATE.fullmatch(cell))
        plan = planned(selection, head.names, width, dated) if head.first else None
        # Without `columns` everything is read; with it, a column of words that was not asked for does no harm.
        read = None if plan is None or selection.columns is None else plan.read
        if read and plan and plan.search and 0 not in dated and not _is_number(head.first[0], head.delimiter):
            read = tuple(place for place in read if place != 0)
        lines = (line for _, line in _samples(head, dated))
        seconds: dict[int | str, Callable[[str], float]] = {
            place: _seconds_from(head.first[place]) for place in dated if read is None or place in read
        }
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # an empty file: refused by its shape
                array = np.loadtxt(
                    lines, delimiter=head.delimiter, ndmin=2, comments=None, dtype=np.float64, usecols=read,
                    converters=seconds or None, encoding=None,
                )  # fmt: skip
        except ValueError as error:
            file.seek(0)
            channels = () if plan is None else plan.channels
            wrong = _first_wrong(_head(file), dated, read, seconds, channels)
            raise ValueError(wrong or f"{error}{_hint(head.delimiter)}") from error
    return Content(array, names=head.names, read=read, dated=dated)


def _head(file: IO[str]) -> _Head:
    """The names and the separator of a file, and its samples from the first on."""
    lines = ((number, line) for number, line in enumerate(_short_lines(file), 1) if line.strip())
    first, second = next(lines, None), next(lines, None)
    # Of several lines of comments the last names the columns, as numpy.savetxt writes them.
    while first is not None and second is not None and second[1].startswith("#"):
        first, second = second, next(lines, None)
    if first is None:
        return _Head(",", None, [], iter(()))
    delimiter = separator((second or first)[1])
    cells = _cells(first[1].lstrip().removeprefix("#"), delimiter)
    # A line that mixes names and numbers is a damaged sample, not a header: the numbers are then refused.
    if any(_is_number(cell, delimiter) for cell in cells):
        return _Head(delimiter, None, cells, itertools.chain([first], [second] if second else [], lines))
    if second is None:
        return _Head(delimiter, tuple(cells), [], lines)
    return _Head(delimiter, tuple(cells), _cells(second[1], delimiter), itertools.chain([second], lines))


def _short_lines(file: IO[str]) -> Iterator[str]:
    """The lines of a file, none of them long: each cell of a line is an object of its own, thirty times its text."""
    for number in itertools.count(1):
        line = file.readline(_LONGEST_LINE + 1)
        if len(line) > _LONGEST_LINE:
            raise ValueError(
                f"line {number} has more than {_LONGEST_LINE} characters: a line is one sample, with a column per channel"
            )
        if not line:
            return
        yield line


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]


def _is_number(text: str, delimiter: str | None) -> bool:
    try:
        float(text if delimiter == "," else text.replace(",", "."))
    except ValueError:
        return False
    return True


def _seconds_from(first: str) -> Callable[[str], float]:
    """What turns the dates of a column into seconds from the first of them."""
    begin = datetime.fromisoformat(first)

    def seconds(cell: str) -> float:
        date = datetime.fromisoformat(cell.strip().strip('"'))
        if (date.tzinfo is None) != (begin.tzinfo is None):
            raise ValueError(f"dates must all have a time zone or none, got {first} and {cell}")
        return (date - begin).total_seconds()

    return seconds


def _samples(head: _Head, dated: frozenset[int]) -> Iterator[tuple[int, str]]:
    """The lines of the samples, with decimal points, each with its number in the file."""
    return head.lines if head.delimiter == "," else _with_points(head.lines, bool(dated))


def _first_wrong(
    head: _Head,
    dated: frozenset[int],
    read: tuple[int, ...] | None,
    seconds: Mapping[int | str, Callable[[str], float]],
    channels: tuple[int, ...],
) -> str | None:
    """What the first line that NumPy cannot take has, and what to do; None if it seems right to us."""
    width = 0
    for number, line in _samples(head, dated):
        # As NumPy parts them, which knows no quotes.
        cells = [cell.strip() for cell in line.split(head.delimiter)]
        width = width or len(cells)
        if len(cells) != width if read is None else len(cells) <= max(read):
            have = f"{len(cells)} column{'s' * (len(cells) > 1)}"
            hint = _hint(head.delimiter) if len(cells) > width else ""
            return f"line {number} has {have}, the lines before have {width}{hint}"
        for place in range(width) if read is None else read:
            at, cell = f"line {number}, column {place + 1}", cells[place]
            if not cell:
                return f"{at} is empty"
            if place in seconds:
                try:
                    seconds[place](cell)
                except ValueError:
                    return f"{at} is no date like the first, {head.first[place]}: {cell!r}"
            elif "_" in cell or not _is_number(cell, head.delimiter):
                return f"{at} is no number: {cell!r}{_way_out(head, place, cell, channels)}"
    return None


def _way_out(head: _Head, place: int, cell: str, channels: tuple[int, ...]) -> str:
    """What to do about a cell that is no number: to choose the other columns, if its column begins with words."""
    numbers = [other for other in channels if _is_number(head.first[other], head.delimiter)]
    if not numbers or place in numbers:
        return _hint(head.delimiter) if any(map(str.isdigit, cell)) else ""
    chosen = [other if head.names is None else head.names[other] for other in numbers]
    return f"; columns={chosen} takes the columns of numbers alone"


def _with_points(lines: Iterable[tuple[int, str]], dated: bool = False) -> Iterator[tuple[int, str]]:
    """The lines with decimal points; a file that has both marks is refused, since one may mean thousands."""
    comma = point = 0
    for number, line in lines:
        # The fraction of a second may have either.
        marks = _DATE_FRACTION.sub("", line) if dated else line
        comma = comma or number * ("," in marks)
        point = point or number * ("." in marks)
        if comma and point:
            raise ValueError(
                f"its numbers must have one decimal mark, got a comma in line {comma} and a point in line {point}"
            )
        yield number, line.replace(",", ".")


def _hint(delimiter: str | None) -> str:
    return _HINT if delimiter == "," else ""
