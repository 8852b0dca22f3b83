"""The rows of a table of recordings, read with their files; what is wrong is collected, not raised."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from crest.recordings.labels import class_number
from crest.recordings.resampling import rate_ratio, resampled, resampled_events
from crest.recordings.selection import ColumnSelection
from crest.recordings.signal_files import Signal, read_signal
from crest.recordings.table import Columns, Problem, RecordingTable, Row, finite_number
from crest.recordings.time_axis import same_rate
from crest.recordings.windows import event_steps

Value = TypeVar("Value", bound=Hashable)
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class SignalFolder(NamedTuple):
    """Where the signals are, and how they are read."""

    folder: Path
    selection: ColumnSelection
    window: int
    """Samples that a signal must have at least."""
    sample_rate: float | None = None
    """Of files that do not say theirs."""
    resample: float | None = None
    """The rate that signals and events are brought to."""


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
    table: RecordingTable, columns: Columns, files: SignalFolder, classes: tuple[str, ...] | None = None
) -> tuple[list[Recording], list[Problem]]:
    """All recordings of the table, each file read once, and all that is wrong with them.

    Labels are numbers, or where `classes` are given, the number of the class that a cell names.
    """
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
        recording, wrong = _read_row(row, columns, files, classes)
        recordings.append(recording)
        problems += wrong
    return recordings, problems


def _read_row(
    row: Row, columns: Columns, files: SignalFolder, classes: tuple[str, ...] | None
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

    cells = row.cells
    signal = attempt(_signal, columns.file, cells[columns.file], files)
    own_rate = None if signal is None else signal.sample_rate
    steps = None
    if columns.events is not None and signal is not None:
        steps = attempt(event_steps, cells[columns.events], len(signal.samples), files.folder)
    signal, steps = attempt(_at_one_rate, signal, steps, files) or (None, None)
    length = None if signal is None else len(signal.samples)
    signal = attempt(_windowed, cells[columns.file], signal, files.window)
    proxy = None if columns.proxy is None else attempt(finite_number, columns.proxy, cells[columns.proxy])
    condition = None if columns.condition is None else cells[columns.condition]
    if condition == "":
        problems.append(Problem(row.line, f"{columns.condition} must not be empty"))
    recording = Recording(
        line=row.line,
        file=cells[columns.file],
        signal=signal,
        label=attempt(finite_number, columns.label, cells[columns.label])
        if classes is None
        else attempt(class_number, columns.label, cells[columns.label], classes),
        proxy=proxy,
        condition=condition,
        events=steps,
        own_rate=own_rate,
        length=length,
    )
    return recording, problems


def _resolved(path: Path) -> Path:
    """The path without links; as it is where it can be none, which reading it reports."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # too long, with a NUL, a circle of links
        return path


def _signal(column: str, cell: str, files: SignalFolder) -> Signal:
    if not cell:
        raise ValueError(f"{column} must not be empty")
    key, columns, time, largest = files.selection
    return read_signal(files.folder / cell, key, columns=columns, time=time, largest=largest)


def _at_one_rate(
    signal: Signal | None, events: npt.NDArray[np.bool_] | None, files: SignalFolder
) -> tuple[Signal | None, npt.NDArray[np.bool_] | None]:
    """Signal and events at the rate that is asked for; as they are where none is, or nobody knows theirs."""
    if signal is None or files.resample is None:
        return signal, events
    rate = signal.sample_rate or files.sample_rate
    if rate is None:
        return signal, events
    ratio = rate_ratio(rate, files.resample)
    samples = resampled(signal.samples, ratio, files.selection.largest)
    return (
        signal._replace(samples=samples, sample_rate=files.resample),
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


def common_rate(recordings: list[Recording], problems: list[Problem], given: float | None) -> float | None:
    """The sample rate of all files, `given` or what most of them say; those that differ become problems.

    Rates that differ by less than a thousandth are one: printed times have few digits.
    """
    rates = [(one, one.signal.sample_rate) for one in recordings if one.signal is not None]
    said = [(recording, rate) for recording, rate in rates if rate is not None]
    if not said:
        return given
    expected = given
    if expected is None:
        expected = max(
            (rate for _, rate in said), key=lambda rate: sum(same_rate(rate, other) for _, other in said)
        )
    why = "as most files have" if given is None else "as given"
    for recording, rate in said:
        if not same_rate(rate, expected):
            reason = f"file {recording.file!r} must have sample rate {expected}, {why}, got {rate}"
            problems.append(
                Problem(recording.line, f"{reason} (resample={expected:g} brings all to one rate)")
            )
    return expected


def common_value(
    recordings: list[Recording],
    problems: list[Problem],
    what: str,
    of: Callable[[Signal], Value | None],
    given: Value | None,
    *,
    told: Callable[[Signal], str] = lambda _: "",
) -> Value | None:
    """What all files should say: `given`, or else what most of them say; those that differ become problems.

    Files that do not say it (None) are left alone. `told` has more to say of a file that differs. Most, not the first: one odd file at the top must not
    make bad rows of all the others.
    """
    found = [(recording, of(recording.signal)) for recording in recordings if recording.signal is not None]
    said = [(recording, value) for recording, value in found if value is not None]
    if not said:
        return given
    expected = Counter(value for _, value in said).most_common(1)[0][0] if given is None else given
    why = "as most files have" if given is None else "as given"
    for recording, value in said:
        if value != expected and recording.signal is not None:
            more = told(recording.signal)
            reason = f"file {recording.file!r} must have {what} {expected}, {why}, got {value}{more}"
            problems.append(Problem(recording.line, reason))
    return expected
