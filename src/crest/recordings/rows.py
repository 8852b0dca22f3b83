"""The rows of a table of recordings, read with their files; what is wrong is collected, not raised."""

import collections
import dataclasses
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from crest._base.arguments import require_choice
from crest.recordings.intervals import FilePart, interval_of, overlaps
from crest.recordings.labels import class_number
from crest.recordings.options import SPLIT_PARTS, RecordingOptions
from crest.recordings.resampling import rate_ratio, resampled, resampled_events
from crest.recordings.selection import Signal
from crest.recordings.signal_files import read_signal
from crest.recordings.table import Problem, RecordingTable, Row, finite_number
from crest.recordings.windows import event_steps

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Recording:
    """One row of the table, as far as it could be read: None stands for what is absent or wrong."""

    line: int
    file: str
    signal: Signal | None
    label: float | None
    proxy: float | None
    conditions: tuple[str, ...] = ()
    """One for each condition column."""
    events: npt.NDArray[np.bool_] | None
    number: int = 0
    """Of the file, from 0: rows of one file share it."""
    first: int = 0
    """Where the row begins in its file, in samples after resampling."""
    split: str | None = None
    group: str | None = None
    own_rate: float | None = None
    """As the file says it, before resampling."""
    length: int | None = None
    """Samples after resampling, also of a signal that is too short for a window."""

    @property
    def condition(self) -> str | None:
        """The conditions joined by ", "; None if a column is named and the cell is empty, or if none is named."""
        return ", ".join(self.conditions) if self.conditions and all(self.conditions) else None


def read_rows(
    table: RecordingTable, folder: Path, options: RecordingOptions, classes: tuple[str, ...] | None = None
) -> tuple[list[Recording], list[Problem]]:
    """All recordings of the table, each file read once, and all that is wrong with them.

    Labels are numbers, or if `classes` are given, the number of the class that a cell names.
    """
    problems = list(table.problems)
    places = {row.line: _resolved(folder / row.cells[options.file]) for row in table.rows}
    files = _Files(folder, options, collections.Counter(places.values()))
    cut = options.start is not None or options.stop is not None
    lines: dict[Path, int] = {}
    numbers: dict[Path, int] = {}
    recordings = []
    for row in table.rows:
        path, cell = places[row.line], row.cells[options.file]
        if cell and path in lines and not cut:
            # Its windows could come to lie in two splits.
            reason = (
                f"{options.file} must not repeat, got {cell!r} as on {table.place} {lines[path]} "
                "(start= and stop= name columns that cut a file into parts)"
            )
            problems.append(Problem(row.line, reason))
            # Nor is it read again: a short table could name a large file a hundred thousand times.
            continue
        lines.setdefault(path, row.line)
        number = numbers.setdefault(path, len(numbers))
        recording, wrong = _read_row(row, path, files, options, classes)
        recordings.append(dataclasses.replace(recording, number=number))
        problems += wrong
    return recordings, [*problems, *_overlapping(recordings, table.place, options)]


def _overlapping(recordings: list[Recording], place: str, options: RecordingOptions) -> Iterator[Problem]:
    """Rows of one file that share samples: their windows could come to lie in two splits."""
    parts: dict[int, list[Recording]] = {}
    for one in recordings:
        if one.file and one.length is not None:
            parts.setdefault(one.number, []).append(one)
    for several in parts.values():
        of = {one.line: one for one in several}
        intervals = [(one.line, FilePart(one.first, one.first + (one.length or 0))) for one in several]
        for line, other in overlaps(intervals):
            splits = of[line].split, of[other].split
            also = f", and the splits {splits[1]} and {splits[0]} would share windows" * (
                splits[0] != splits[1]
            )
            yield Problem(
                line,
                f"rows of one file must not overlap, got {of[line].file!r} as on {place} {other}{also} "
                f"({options.start or 'start'} and {options.stop or 'stop'} say where a row begins and ends)",
            )


class _Files:
    """The signals of a table, each file read and resampled once however many rows it has."""

    def __init__(self, folder: Path, options: RecordingOptions, rows: collections.Counter[Path]) -> None:
        self.folder, self.options, self.rows = folder, options, rows
        self.kept: dict[Path, Signal | ValueError] = {}
        self.resampled: dict[Path, Signal] = {}

    def signal(self, cell: str, path: Path) -> Signal:
        """At its own rate."""
        if path not in self.kept:
            try:
                found: Signal | ValueError = _signal(cell, self.folder, self.options)
            except ValueError as error:
                found = error
            # A file with one row is not needed again.
            if self.rows[path] == 1:
                return _or_raise(found)
            self.kept[path] = found
        return _or_raise(self.kept[path])

    def at_rate(self, signal: Signal, path: Path, ratio: Fraction) -> Signal:
        """At the rate that is asked for, which is `ratio` times its own."""
        if path in self.resampled:
            return self.resampled[path]
        samples = resampled(signal.samples, ratio, self.options.largest)
        found = signal._replace(samples=samples, sample_rate=self.options.resample)
        if self.rows[path] > 1:
            self.resampled[path] = found
        return found


def _or_raise(found: Signal | ValueError) -> Signal:
    if isinstance(found, ValueError):
        raise found
    return found


def _read_row(
    row: Row, path: Path, files: _Files, options: RecordingOptions, classes: tuple[str, ...] | None
) -> tuple[Recording, list[Problem]]:
    problems = []

    def attempt(
        function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result | None:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            problems.append(Problem(row.line, str(error)))
            return None

    # By option: the columns may have any names.
    cells = {name: row.cells[column] for name, column in options.table_columns().items()}
    signal = attempt(files.signal, cells["file"], path)
    own_rate = None if signal is None else signal.sample_rate
    steps, part = None, None
    if signal is not None:
        rate, length = signal.sample_rate or options.sample_rate, len(signal.samples)
        if "events" in cells:
            steps = attempt(event_steps, cells["events"], length, files.folder, rate)
        names = options.start or "start", options.stop or "stop"
        part = attempt(interval_of, (cells.get("start", ""), cells.get("stop", "")), names, length, rate)
    signal, steps, part = attempt(_at_one_rate, signal, steps, part, path, files) or (None, None, None)
    length_of_row = None if part is None else part.last - part.first
    signal = (
        None
        if part is None
        else attempt(_windowed, cells["file"], signal, options.window, cut=_is_cut(cells))
    )
    for name in ("split", "group"):
        if cells.get(name) == "":
            problems.append(Problem(row.line, f"{getattr(options, name)} must not be empty"))
    if cells.get("split"):
        attempt(require_choice, f"{options.split}, the column of the split,", cells["split"], SPLIT_PARTS)
    for column in options.conditions:
        if not row.cells[column]:
            problems.append(Problem(row.line, f"{column} must not be empty"))
    proxy = attempt(finite_number, str(options.proxy), cells["proxy"]) if "proxy" in cells else None
    label = (
        attempt(finite_number, options.label, cells["label"])
        if classes is None
        else attempt(class_number, options.label, cells["label"], classes)
    )
    recording = Recording(
        line=row.line, file=cells["file"], signal=signal, label=label, proxy=proxy, events=steps, own_rate=own_rate,
        conditions=tuple(row.cells[column] for column in options.conditions), length=length_of_row,
        first=0 if part is None else part.first, split=cells.get("split"), group=cells.get("group"),
    )  # fmt: skip
    return recording, problems


def _is_cut(cells: dict[str, str]) -> bool:
    return bool(cells.get("start") or cells.get("stop"))


def _resolved(path: Path) -> Path:
    """The path without links; as it is if it cannot be a path, which reading it reports."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # too long, with a NUL, a circle of links
        return path


def _signal(cell: str, folder: Path, options: RecordingOptions) -> Signal:
    if not cell:
        raise ValueError(f"{options.file} must not be empty")
    key, columns, time, largest = options.selection()
    return read_signal(folder / cell, key, columns=columns, time=time, largest=largest)


def _at_one_rate(
    signal: Signal | None,
    events: npt.NDArray[np.bool_] | None,
    part: FilePart | None,
    path: Path,
    files: _Files,
) -> tuple[Signal | None, npt.NDArray[np.bool_] | None, FilePart | None]:
    """The part of signal and events at the rate that is asked for; at their own if none is, or if that is not known."""
    if signal is None or part is None:
        return None, None, None
    rate = signal.sample_rate or files.options.sample_rate
    if rate is not None and files.options.resample is not None:
        ratio = rate_ratio(rate, files.options.resample)
        # The whole file, and then the part: a filter has no end of the signal at the end of a part.
        signal = files.at_rate(signal, path, ratio)
        events = None if events is None else resampled_events(events, ratio)
        part = part.scaled(ratio.numerator, ratio.denominator)
    inside = slice(part.first, part.last)
    return (
        signal._replace(samples=signal.samples[inside]),
        None if events is None else events[inside],
        FilePart(part.first, min(part.last, len(signal.samples))),
    )


def _windowed(cell: str, signal: Signal | None, window: int, *, cut: bool = False) -> Signal | None:
    """The signal, refused if it is shorter than one window."""
    if signal is None:
        return None
    length, width = signal.samples.shape
    if length < window:
        hint = " (a signal is (T, C): is this one transposed?)" if width > length and not cut else ""
        raise ValueError(
            f"{'this part of ' * cut}file {cell!r} must have at least one window of {window} samples, got {length}{hint}"
        )
    return signal
