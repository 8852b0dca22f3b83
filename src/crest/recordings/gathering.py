"""All that a table of recordings lists, read and compared, with all that is wrong: for those who load it and who check it."""

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from crest._base.arguments import require
from crest.recordings.labels import class_names
from crest.recordings.rows import Recording, SignalFolder, common_rate, common_value, read_rows
from crest.recordings.selection import ColumnSelection, checked_columns, checked_time
from crest.recordings.signal_files import Signal
from crest.recordings.table import Columns, Problem, RecordingTable, read_table, require_columns


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to read and how, in the words of `load_recordings`."""

    table: str | os.PathLike[str]
    folder: str | os.PathLike[str] | None = None
    window: int
    hop: int | None = None
    sample_rate: float | None = None
    channels: Sequence[str] | None = None
    file: str = "file"
    label: str = "label"
    condition: str | None = None
    events: str | None = None
    proxy: str | None = None
    key: str | None = None
    columns: Sequence[str | int] | None = None
    time: str | int | bool = True
    resample: float | None = None
    classes: Sequence[str] | bool | None = None
    largest: int | None = None

    def __post_init__(self) -> None:
        require("window", self.window, "be a whole number, 1 or more")
        if self.hop is not None:
            require("hop", self.hop, "be a whole number, 1 or more")
        for name in ("sample_rate", "resample"):
            if getattr(self, name) is not None:
                require(name, getattr(self, name), "be positive")
        named = isinstance(self.channels, list | tuple) and all(
            isinstance(name, str) for name in self.channels
        )
        if self.channels is not None and not (named and self.channels):
            raise ValueError(f"channels must be a list of names, got {self.channels!r}")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Gathered:
    """The recordings of a table, what they have in common, and what is wrong with them."""

    table: RecordingTable
    columns: Columns
    recordings: list[Recording]
    problems: list[Problem]
    channels: tuple[str, ...]
    rate: float | None
    classes: tuple[str, ...] | None
    window: int
    hop: int
    resample: float | None
    silent: list[str]
    """Files of which nobody says the sample rate."""
    advice: list[str]
    """What to do where one cause is behind many problems."""

    def rate_missing(self) -> str:
        """The sentence for files of which nobody says the sample rate."""
        file = self.silent[0] if self.silent else ""
        return f"sample_rate must be given where files do not say it, got none for {file!r}"


def gathered_recordings(wanted: Wanted) -> Gathered:
    r"""Every row of the table with its file.

    Raises:
        ValueError: An argument is wrong, or the table; what is wrong with rows is among the problems.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "table.csv").write_text("file,label\nnone.npy,0.5\n")
        ...     gathered_recordings(Wanted(table=Path(folder) / "table.csv", window=4)).problems[0].line
        2
    """
    selection = ColumnSelection(
        wanted.key, checked_columns(wanted.columns), checked_time(wanted.time), wanted.largest
    )
    table = read_table(Path(wanted.table))
    columns = Columns(
        file=wanted.file,
        label=wanted.label,
        condition=wanted.condition,
        events=wanted.events,
        proxy=wanted.proxy,
    )
    require_columns(table, columns)
    folder = table.path.parent if wanted.folder is None else Path(wanted.folder)
    if not folder.is_dir():
        raise ValueError(f"folder must exist, got {str(folder)!r}")
    classes = class_names([row.cells[columns.label] for row in table.rows], wanted.classes)
    files = SignalFolder(folder, selection, wanted.window, wanted.sample_rate, wanted.resample)
    recordings, problems = read_rows(table, columns, files, classes)

    given = None if wanted.channels is None else tuple(wanted.channels)
    width = None if given is None else len(given)
    width = common_value(
        recordings, problems, "channels:", lambda s: s.samples.shape[1], width, told=_beside(recordings)
    )
    names = common_value(
        recordings,
        problems,
        "channel names",
        lambda s: s.channels if s.samples.shape[1] == width else None,
        given,
    )
    if wanted.resample is None:
        rate = common_rate(recordings, problems, wanted.sample_rate)
    else:
        rate = wanted.resample
    silent = [one.file for one in recordings if one.signal is not None and one.signal.sample_rate is None]
    return Gathered(
        table=table,
        columns=columns,
        recordings=recordings,
        problems=problems,
        channels=names or tuple(f"channel {number}" for number in range(width or 0)),
        rate=rate,
        classes=classes,
        window=wanted.window,
        hop=wanted.window if wanted.hop is None else wanted.hop,
        resample=wanted.resample,
        silent=silent if wanted.sample_rate is None else [],
        advice=[*_elsewhere(recordings, folder), *_shorter(recordings, wanted.window)],
    )


def _beside(recordings: list[Recording]) -> Callable[[Signal], str]:
    """What says which channels a file has beside those of most files, where both are named."""
    named = Counter(
        one.signal.channels
        for one in recordings
        if one.signal is not None and one.signal.channels is not None
    )
    usual = named.most_common(1)[0][0] if named else ()

    def beside(signal: Signal) -> str:
        extra = [name for name in signal.channels or () if name not in usual]
        if not extra or not {*usual} <= {*(signal.channels or ())}:
            return ""
        return f", with {', '.join(extra)}; columns={list(usual)} takes the same of all"

    return beside


def _elsewhere(recordings: list[Recording], folder: Path) -> Iterator[str]:
    """What to do where no file of the table is in the folder."""
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
    """What to do where recordings have fewer samples than a window."""
    lengths = [one.length for one in recordings if one.length is not None]
    shortest, longest = min(lengths, default=window), max(lengths, default=window)
    if shortest < window:
        span = f"{shortest}" if shortest == longest else f"{shortest} to {longest}"
        others = ", or leave the shorter ones out of the table" if longest >= window else ""
        yield f"recordings have {span} samples: take window={shortest} or less{others}"
