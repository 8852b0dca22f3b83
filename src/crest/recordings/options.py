"""How recordings are read. Each option is spelled here once: `load_recordings`, systems and studies take it from here."""

import dataclasses
from collections.abc import Sequence
from typing import Literal, get_args

from crest._base.arguments import require, require_choice
from crest._base.doors import door, door_leaving
from crest.recordings.selection import ColumnSelection

IdBy = Literal["block", "recording"]
TABLE_COLUMNS = ("file", "label", "condition", "events", "proxy")
"""Options that name a column of the table."""
_WHOLE, _POSITIVE = "be a whole number, 1 or more", "be positive"


@door_leaving("channels", "columns", "classes")
@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordingOptions:
    """What to read of the recordings that a table lists, and how.

    Example:
        >>> RecordingOptions(window=500, condition="speed").step
        500
        >>> RecordingOptions(window=0)
        Traceback (most recent call last):
        ValueError: window must be a whole number, 1 or more, got 0
    """

    window: int
    """Samples per window."""
    hop: int | None = None
    """Samples from one window's start to the next; `window` by default."""
    sample_rate: float | None = None
    """Samples per second of files that do not say it; .wav files and time columns do. A file that says otherwise is a
    bad row, unless `resample` is given."""
    resample: float | None = None
    """Samples per second that all recordings are brought to, with a filter against aliases, and their events with
    them. `window` and `hop` then count samples of this rate. Needs SciPy."""
    file: str = "file"
    """Column of the table with the path of a signal, which `crest.recordings.signal_files.read_signal` reads. A file
    that is listed twice is a bad row."""
    label: str = "label"
    """Column with the label: finite numbers, or names of classes."""
    condition: str | None = None
    """Column with the operating condition or group, for `split_by_condition`."""
    events: str | None = None
    """Column with the event steps, as `crest.recordings.windows.event_steps` takes them. An empty cell says that the
    recording has no event."""
    proxy: str | None = None
    """Column with the smooth cue, a finite number."""
    channels: Sequence[str] | None = None
    """One name per channel, in the files' order, or in that of `columns`. By default the header of the files, else
    "channel 0" and so on. A header that differs is a bad row."""
    key: str | None = None
    """Which array of .npz and .mat files, if they hold several."""
    columns: Sequence[str | int] | None = None
    """Which columns of the signals are channels, by name or by number from 0, as `read_signal` takes them."""
    time: str | int | bool = True
    """The signals' column with the time, by name or by number; False if there is none. Found by default."""
    classes: Sequence[str] | bool | None = None
    """Names of the classes in the order of their numbers. True: labels are names whatever they look like, numbered in
    sorted order. False: they are numbers. By default they are names if none is a number. `Trajectories.classes`
    keeps the names, and `y` has the numbers."""
    largest: int | None = None
    """Bytes that the content of one file may take in memory, 4 GiB by default; a larger one is a bad row."""

    def __post_init__(self) -> None:
        rules = {
            "window": _WHOLE,
            "hop": _WHOLE,
            "largest": _WHOLE,
            "sample_rate": _POSITIVE,
            "resample": _POSITIVE,
        }
        for name, rule in rules.items():
            if name == "window" or getattr(self, name) is not None:
                require(name, getattr(self, name), rule)
        named = isinstance(self.channels, list | tuple) and all(
            isinstance(name, str) for name in self.channels
        )
        if self.channels is not None and not (named and self.channels):
            raise ValueError(f"channels must be a list of names, got {self.channels!r}")
        # Refuses bad columns now, before any file is opened.
        self.selection()

    @property
    def step(self) -> int:
        """Samples from one window's start to the next."""
        return self.window if self.hop is None else self.hop

    def selection(self) -> ColumnSelection:
        """What to read of each signal file."""
        return ColumnSelection.checked(self.key, self.columns, self.time, self.largest)

    def table_columns(self) -> dict[str, str]:
        """The columns of the table that are read, by the option that names them."""
        named = {name: getattr(self, name) for name in TABLE_COLUMNS}
        return {name: column for name, column in named.items() if column is not None}


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class Division:
    """How ID windows are held out; the words are those of `split_by_condition`."""

    id_fraction: float = 0.2
    id_by: IdBy = "block"
    gap: float = 1
    seed: int = 0
    standardise: bool = True

    def __post_init__(self) -> None:
        require("id_fraction", self.id_fraction, "lie in (0, 1)")
        require("gap", self.gap, "be 0 or more")
        require_choice("id_by", self.id_by, get_args(IdBy))
