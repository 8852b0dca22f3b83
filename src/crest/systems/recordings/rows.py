"""The rows of a table of recordings, read with their files; what is wrong is collected, not raised."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from crest.systems.recordings.signal_files import Signal, read_signal
from crest.systems.recordings.table import Columns, Problem, RecordingTable, Row, finite_number
from crest.systems.recordings.windows import event_steps

Value = TypeVar("Value", bound=Hashable)
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class SignalFolder(NamedTuple):
    """Where the signals are, and how they are read."""

    folder: Path
    key: str | None
    """Which array of a file that holds several."""
    window: int
    """Samples that a signal must have at least."""
    largest: int | None
    """Bytes that a file may take in memory."""


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


def read_rows(
    table: RecordingTable, columns: Columns, files: SignalFolder
) -> tuple[list[Recording], list[Problem]]:
    """All recordings of the table, each file read once, and all that is wrong with them."""
    problems = list(table.problems)
    seen: dict[Path, int] = {}
    recordings = []
    for row in table.rows:
        path = _resolved(files.folder / row.cells[columns.file])
        if row.cells[columns.file] and path in seen:
            # Its windows could come to lie in two splits.
            where = f"{table.place} {seen[path]}"
            reason = f"{columns.file} must not repeat, got {row.cells[columns.file]!r} as on {where}"
            problems.append(Problem(row.line, reason))
        seen.setdefault(path, row.line)
        recording, wrong = _read_row(row, columns, files)
        recordings.append(recording)
        problems += wrong
    return recordings, problems


def _read_row(row: Row, columns: Columns, files: SignalFolder) -> tuple[Recording, list[Problem]]:
    problems = []

    def attempt(
        function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result | None:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            problems.append(Problem(row.line, str(error)))
            return None

    cells = row.cells
    signal = attempt(_windowed_signal, columns.file, cells[columns.file], files)
    steps = None
    if columns.events is not None and signal is not None:
        steps = attempt(event_steps, cells[columns.events], len(signal.samples), files.folder)
    proxy = None if columns.proxy is None else attempt(finite_number, columns.proxy, cells[columns.proxy])
    condition = None if columns.condition is None else cells[columns.condition]
    if condition == "":
        problems.append(Problem(row.line, f"{columns.condition} must not be empty"))
    recording = Recording(
        line=row.line,
        file=cells[columns.file],
        signal=signal,
        label=attempt(finite_number, columns.label, cells[columns.label]),
        proxy=proxy,
        condition=condition,
        events=steps,
    )
    return recording, problems


def _resolved(path: Path) -> Path:
    """The path without links; as it is where it can be none, which reading it reports."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # too long, with a NUL, a circle of links
        return path


def _windowed_signal(column: str, cell: str, files: SignalFolder) -> Signal:
    """The signal of a file, refused if it is shorter than one window."""
    if not cell:
        raise ValueError(f"{column} must not be empty")
    signal = read_signal(files.folder / cell, files.key, largest=files.largest)
    length, width = signal.samples.shape
    if length < files.window:
        hint = " (a signal is (T, C): is this one transposed?)" if width > length else ""
        raise ValueError(
            f"file {cell!r} must have at least one window of {files.window} samples, got {length}{hint}"
        )
    return signal


def common_value(
    recordings: list[Recording],
    problems: list[Problem],
    what: str,
    of: Callable[[Signal], Value | None],
    given: Value | None,
) -> Value | None:
    """What all files should say: `given`, or else what most of them say; those that differ become problems.

    Files that do not say it (None) are left alone. Most, not the first: one odd file at the top must not
    make bad rows of all the others.
    """
    found = [(recording, of(recording.signal)) for recording in recordings if recording.signal is not None]
    said = [(recording, value) for recording, value in found if value is not None]
    if not said:
        return given
    expected = Counter(value for _, value in said).most_common(1)[0][0] if given is None else given
    why = "as most files have" if given is None else "as given"
    for recording, value in said:
        if value != expected:
            reason = f"file {recording.file!r} must have {what} {expected}, {why}, got {value}"
            problems.append(Problem(recording.line, reason))
    return expected
