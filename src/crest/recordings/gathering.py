"""All that a table of recordings lists, read and compared, with all that is wrong: for those who load it and who check it."""

import dataclasses
import operator
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import TypeVar

from crest.recordings.labels import class_names
from crest.recordings.options import RecordingOptions
from crest.recordings.rows import Recording, read_rows
from crest.recordings.selection import Signal
from crest.recordings.table import Problem, RecordingTable, read_table, require_columns
from crest.recordings.time_axis import same_rate

Value = TypeVar("Value", bound=Hashable)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Gathered:
    """The recordings of a table, what they have in common, and what is wrong with them."""

    table: RecordingTable
    options: RecordingOptions
    recordings: list[Recording]
    problems: list[Problem]
    channels: tuple[str, ...]
    rate: float | None
    classes: tuple[str, ...] | None
    silent: list[str]
    """Files whose sample rate is not known."""
    advice: list[str]
    """What to do if one cause is behind many problems."""

    def rate_missing(self) -> str:
        """The sentence for files whose sample rate is not known."""
        file = self.silent[0] if self.silent else ""
        return f"sample_rate must be given if files do not say it, got none for {file!r}"


def gathered_recordings(
    table: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None,
    options: RecordingOptions,
    chosen: Callable[[RecordingTable], RecordingTable] | None = None,
) -> Gathered:
    r"""Every row of the table with its file, which is in the folder, by default the table's own.

    Args:
        table: A .csv or .parquet file.
        folder: Where relative paths in the table begin.
        options: How the recordings are read.
        chosen: From the table to that with some of its rows; files of the others are not opened.

    Raises:
        ValueError: An argument is wrong, or the table; what is wrong with rows is among the problems.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "table.csv").write_text("file,label\nnone.npy,0.5\n")
        ...     gathered_recordings(Path(folder) / "table.csv", None, RecordingOptions(window=4)).problems[0].line
        2
    """
    whole = read_table(Path(table))
    found = whole if chosen is None else chosen(whole)
    require_columns(found, options.table_columns())
    place = found.path.parent if folder is None else Path(folder)
    if not place.is_dir():
        raise ValueError(f"folder must exist, got {str(place)!r}")
    # Of the whole table: the number of a class must not depend on which rows are looked at.
    classes = class_names([row.cells[options.label] for row in whole.rows], options.classes)
    recordings, problems = read_rows(found, place, options, classes)

    given = None if options.channels is None else tuple(options.channels)
    width = common_value(
        recordings,
        problems,
        "channels:",
        lambda signal: signal.samples.shape[1],
        None if given is None else len(given),
        more=_beside(recordings),
    )
    names = common_value(
        recordings,
        problems,
        "channel names",
        lambda signal: signal.channels if signal.samples.shape[1] == width else None,
        given,
    )
    rate = options.resample
    if rate is None:
        rate = common_value(
            recordings, problems, "sample rate", lambda signal: signal.sample_rate, options.sample_rate, same=same_rate,
            more=lambda _, expected: f" (resample={expected:g} brings all to one rate)",
        )  # fmt: skip
    silent = [one.file for one in recordings if one.signal is not None and one.signal.sample_rate is None]
    return Gathered(
        table=found,
        options=options,
        recordings=recordings,
        problems=problems,
        channels=names or tuple(f"channel {number}" for number in range(width or 0)),
        rate=rate,
        classes=classes,
        silent=silent if options.sample_rate is None else [],
        advice=[*_elsewhere(recordings, place), *_shorter(recordings, options.window)],
    )


def common_value(
    recordings: list[Recording],
    problems: list[Problem],
    what: str,
    of: Callable[[Signal], Value | None],
    given: Value | None,
    *,
    same: Callable[[Value, Value], bool] = operator.eq,
    more: Callable[[Signal, Value], str] = lambda *_: "",
) -> Value | None:
    """What all files should say: `given`, or else what most of them say; those that differ become problems.

    Files that do not say it (None) are left alone. Most, not the first: one odd file at the top must not make bad rows
    of all the others. `more` has more to say of a file that differs from what is expected.
    """
    found = [
        (recording, recording.signal, of(recording.signal))
        for recording in recordings
        if recording.signal is not None
    ]
    said = Counter(value for _, _, value in found if value is not None)
    if not said:
        return given
    why = "as most files have" if given is None else "as given"
    expected = given
    if expected is None:
        # Over the different values: there may be many thousand files.
        expected = max(said, key=lambda value: sum(said[other] for other in said if same(value, other)))
    for recording, signal, value in found:
        if value is not None and not same(value, expected):
            reason = f"file {recording.file!r} must have {what} {expected}, {why}, got {value}{more(signal, expected)}"
            problems.append(Problem(recording.line, reason))
    return expected


def _beside(recordings: list[Recording]) -> Callable[[Signal, object], str]:
    """What says which channels a file has beside those of most files, if both are named."""
    named = Counter(
        one.signal.channels
        for one in recordings
        if one.signal is not None and one.signal.channels is not None
    )
    usual = named.most_common(1)[0][0] if named else ()

    def beside(signal: Signal, _: object) -> str:
        extra = [name for name in signal.channels or () if name not in usual]
        if not extra or not {*usual} <= {*(signal.channels or ())}:
            return ""
        return f", with {', '.join(extra)}; columns={list(usual)} takes the same of all"

    return beside


def _elsewhere(recordings: list[Recording], folder: Path) -> Iterator[str]:
    """What to do if no file of the table is in the folder."""
    named = [one.file for one in recordings if one.file]
    if not named or any(_is_file(folder / name) for name in named):
        return
    inside = [place for place in sorted(folder.iterdir()) if _is_file(place / named[0])]
    hint = f"try folder={str(inside[0])!r}" if inside else "folder= says where they are"
    yield f"none of the files is in {str(folder)!r}: {hint}"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, with a NUL, in a folder that is closed to us
        return False


def _shorter(recordings: list[Recording], window: int) -> Iterator[str]:
    """What to do if recordings have fewer samples than a window."""
    lengths = [one.length for one in recordings if one.length is not None]
    shortest, longest = min(lengths, default=window), max(lengths, default=window)
    if shortest < window:
        span = f"{shortest}" if shortest == longest else f"{shortest} to {longest}"
        others = ", or leave the shorter ones out of the table" if longest >= window else ""
        yield f"recordings have {span} samples: take window={shortest} or less{others}"
