"""The rows of a table of recordings, read with their files; what is wrong is collected, not raised."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from crest.recordings.labels import class_number
from crest.recordings.options import RecordingOptions
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
    condition: str | None
    events: npt.NDArray[np.bool_] | None
    own_rate: float | None = None
    """As the file says it, before resampling."""
    length: int | None = None
    """Samples after resampling, also of a signal that is too short for a window."""


def read_rows(
    table: RecordingTable, folder: Path, options: RecordingOptions, classes: tuple[str, ...] | None = None
) -> tuple[list[Recording], list[Problem]]:
    """All recordings of the table, each file read once, and all that is wrong with them.

    Labels are numbers, or where `classes` are given, the number of the class that a cell names.
    """
    problems = list(table.problems)
    seen: dict[Path, int] = {}
    recordings = []
    for row in table.rows:
        cell = row.cells[options.file]
        path = _resolved(folder / cell)
        if cell and path in seen:
            # Its windows could come to lie in two splits.
            reason = f"{options.file} must not repeat, got {cell!r} as on {table.place} {seen[path]}"
            problems.append(Problem(row.line, reason))
            # Nor is it read again: a short table could name a large file a hundred thousand times.
            continue
        seen[path] = row.line
        recording, wrong = _read_row(row, folder, options, classes)
        recordings.append(recording)
        problems += wrong
    return recordings, problems


def _read_row(
    row: Row, folder: Path, options: RecordingOptions, classes: tuple[str, ...] | None
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
    signal = attempt(_signal, cells["file"], folder, options)
    own_rate = None if signal is None else signal.sample_rate
    steps = None
    if "events" in cells and signal is not None:
        steps = attempt(event_steps, cells["events"], len(signal.samples), folder)
    signal, steps = attempt(_at_one_rate, signal, steps, options) or (None, None)
    length = None if signal is None else len(signal.samples)
    signal = attempt(_windowed, cells["file"], signal, options.window)
    proxy = attempt(finite_number, str(options.proxy), cells["proxy"]) if "proxy" in cells else None
    if cells.get("condition") == "":
        problems.append(Problem(row.line, f"{options.condition} must not be empty"))
    label = (
        attempt(finite_number, options.label, cells["label"])
        if classes is None
        else attempt(class_number, options.label, cells["label"], classes)
    )
    recording = Recording(
        line=row.line, file=cells["file"], signal=signal, label=label, proxy=proxy, condition=cells.get("condition"),
        events=steps, own_rate=own_rate, length=length,
    )  # fmt: skip
    return recording, problems


def _resolved(path: Path) -> Path:
    """The path without links; as it is where it can be none, which reading it reports."""
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
    signal: Signal | None, events: npt.NDArray[np.bool_] | None, options: RecordingOptions
) -> tuple[Signal | None, npt.NDArray[np.bool_] | None]:
    """Signal and events at the rate that is asked for; as they are if none is, or if their own is not known."""
    rate = None if signal is None else signal.sample_rate or options.sample_rate
    if signal is None or rate is None or options.resample is None:
        return signal, events
    ratio = rate_ratio(rate, options.resample)
    samples = resampled(signal.samples, ratio, options.largest)
    return (
        signal._replace(samples=samples, sample_rate=options.resample),
        None if events is None else resampled_events(events, ratio),
    )


def _windowed(cell: str, signal: Signal | None, window: int) -> Signal | None:
    """The signal, refused if it is shorter than one window."""
    if signal is None:
        return None
    length, width = signal.samples.shape
    if length < window:
        hint = " (a signal is (T, C): is this one transposed?)" if width > length else ""
        raise ValueError(
            f"file {cell!r} must have at least one window of {window} samples, got {length}{hint}"
        )
    return signal
