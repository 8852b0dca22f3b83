"""How recordings are read. Each option is spelled here once: `load_recordings`, systems and studies take it from here."""

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from crest._base.arguments import require, require_choice, require_known
from crest._base.doors import door, door_leaving
from crest._base.files import whole_file
from crest._base.plain_json import read_json
from crest.recordings.selection import ColumnSelection

IdBy = Literal["block", "recording", "group"]
OwnUnits = Literal["mean", "median"]
"""What a window is standardised by: mean and standard deviation, or median and median absolute deviation."""
TABLE_COLUMNS = ("file", "label", "condition", "start", "stop", "split", "group", "events", "proxy")
"""Options that name a column of the table, or several."""
SPLIT_PARTS = ("train", "id", "ood")
"""What a cell of the split's column may say."""
EXTRA_NAMES = ("file", "recording", "row", "start", "condition", "split", "group", "label")
"""Names in `Trajectories.extra` that have a meaning of their own, so no condition column among several may have them."""
SETTINGS_FORMAT = "crest-recording-options-1"
_WHOLE, _POSITIVE = "be a whole number, 1 or more", "be positive"
_OF_ONE_TABLE = frozenset(TABLE_COLUMNS) - {"file", "label"}
_OWN_UNITS = {
    "mean": "each window standardised by its mean and standard deviation",
    "median": "each window standardised by its median and median absolute deviation",
}


@door_leaving("channels", "columns", "classes", "condition", "scale")
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
    """Samples per second of files that do not say it; .wav files and time columns do. A file with another rate is a
    bad row, unless you pass `resample`."""
    resample: float | None = None
    """Samples per second that all recordings are brought to, with a filter against aliases, and their events with
    them. `window` and `hop` then count samples of this rate. Needs SciPy."""
    file: str = "file"
    """Column of the table with the path of a signal, which `crest.recordings.signal_files.read_signal` reads. A file
    may have several rows if `start` and `stop` cut it into parts that do not overlap."""
    label: str = "label"
    """Column with the label: finite numbers, or names of classes."""
    condition: str | Sequence[str] | None = None
    """Column with the operating condition, or several columns: their combinations are then the conditions."""
    start: str | None = None
    """Column with the place where a row begins in its file: seconds (`12.5` or `12.5 s`), samples of the file as it was
    recorded (`6400 samples`) or a share of its length (`60 %`). An empty cell is the beginning."""
    stop: str | None = None
    """Column with the place where a row ends in its file, in the same form; the place itself is no longer part of it. An
    empty cell is the end."""
    split: str | None = None
    """Column that says `train`, `id` or `ood`, for `split_by_column`."""
    group: str | None = None
    """Column with what belongs together, such as a machine or a person, for `id_by="group"` and `crest cues`."""
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
    scale: float | Sequence[float] = 1.0
    """Factor on the signals, one for all channels or one for each: from volts to g, for example."""
    unit: str = ""
    """Unit of the signals after `scale`, told in text output. By default they are called raw."""
    standardise: OwnUnits | None = None
    """Put every window in units of its own, channel by channel: "mean" takes mean and standard deviation, "median" takes
    median and median absolute deviation, as `crest.Standardise` does. By default the level and size of a signal stay."""
    label_mean: float = 0.0
    """Taken off labels that are numbers. `split_by_condition(..., standardise_labels=True)` finds it."""
    label_scale: float = 1.0
    """What labels that are numbers are divided by, after `label_mean` was taken off."""
    largest: int | None = None
    """Bytes that the content of one file may take in memory, 4 GiB by default; a larger one is a bad row."""

    def __post_init__(self) -> None:
        rules = {
            "window": _WHOLE,
            "hop": _WHOLE,
            "largest": _WHOLE,
            "sample_rate": _POSITIVE,
            "resample": _POSITIVE,
            "label_mean": "be finite",
            "label_scale": _POSITIVE,
        }
        for name, rule in rules.items():
            if name == "window" or getattr(self, name) is not None:
                require(name, getattr(self, name), rule)
        named = isinstance(self.channels, list | tuple) and all(
            isinstance(name, str) for name in self.channels
        )
        if self.channels is not None and not (named and self.channels):
            raise ValueError(f"channels must be a list of names, got {self.channels!r}")
        self._require_conditions()
        factors = self.scale if isinstance(self.scale, list | tuple) else [self.scale]
        for factor in factors or [self.scale]:
            require("scale", factor, _POSITIVE)
        if self.standardise is not None:
            require_choice("standardise", self.standardise, get_args(OwnUnits))
        # Refuses bad columns now, before any file is opened.
        self.selection()

    def _require_conditions(self) -> None:
        given = [self.condition] if isinstance(self.condition, str) else self.condition
        named = isinstance(given, list | tuple) and all(isinstance(name, str) and name for name in given)
        if given is not None and not (named and given):
            raise ValueError(
                f"condition must be the name of a column or a list of them, got {self.condition!r}"
            )
        names = self.conditions
        if len(set(names)) < len(names):
            raise ValueError(f"condition must not repeat a column, got {', '.join(names)}")
        taken = [name for name in names if name in EXTRA_NAMES]
        if len(names) > 1 and taken:
            raise ValueError(
                f"condition must not have a column called {taken[0]} among several, since extra[{taken[0]!r}] has a meaning "
                "of its own: rename the column"
            )

    @property
    def step(self) -> int:
        """Samples from one window's start to the next."""
        return self.window if self.hop is None else self.hop

    def selection(self) -> ColumnSelection:
        """What to read of each signal file."""
        return ColumnSelection.checked(self.key, self.columns, self.time, self.largest)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The columns with operating conditions."""
        if self.condition is None:
            return ()
        return (self.condition,) if isinstance(self.condition, str) else tuple(self.condition)

    @property
    def units(self) -> str:
        """The units of the signals, in words.

        Example:
            >>> RecordingOptions(window=8).units, RecordingOptions(window=8, unit="g", scale=0.1).units
            ('raw units, as in the files', 'g, 0.1 times the files')
        """
        if self.standardise is not None:
            return _OWN_UNITS[self.standardise]
        factors = list(self.scale) if isinstance(self.scale, list | tuple) else [self.scale]
        same = all(factor == 1 for factor in factors)
        told = ", ".join(f"{factor:g}" for factor in factors)
        return f"{self.unit or 'raw units'}, {'as in the files' if same else f'{told} times the files'}"

    @property
    def label_units(self) -> str:
        """The units of labels that are numbers, in words.

        Example:
            >>> RecordingOptions(window=8, label="size").label_units, RecordingOptions(window=8, label_mean=5, label_scale=2.5).label_units
            ("as in column 'size'", "column 'label' less 5, divided by 2.5")
        """
        if (self.label_mean, self.label_scale) == (0, 1):
            return f"as in column {self.label!r}"
        return f"column {self.label!r} less {self.label_mean:g}, divided by {self.label_scale:g}"

    def table_columns(self) -> dict[str, str]:
        """The columns of the table that are read, by the option that names them; of several conditions each by its own name."""
        named = {name: getattr(self, name) for name in TABLE_COLUMNS if name != "condition"}
        several = {f"condition {number}": column for number, column in enumerate(self.conditions)}
        named |= several if len(several) > 1 else {"condition": next(iter(self.conditions), None)}
        return {name: column for name, column in named.items() if column is not None}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write these options to a JSON file that travels with a model, so that field recordings are read in the same way.

        Columns that belong to one table and not to a model are left out: condition, start, stop, split, group, events and proxy.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     RecordingOptions(window=500, standardise="median").save(Path(folder) / "settings.json")
            ...     RecordingOptions.load(Path(folder) / "settings.json").standardise
            'median'
        """
        with whole_file(Path(path)) as file:
            kept = {name: value for name, value in self.to_dict().items() if name not in _OF_ONE_TABLE}
            file.write((json.dumps(kept, indent=2) + "\n").encode())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "RecordingOptions":
        """The options that `save` wrote."""
        if not Path(path).is_file():
            raise FileNotFoundError(f"settings must be a file that exists, got {str(path)!r}")
        try:
            return RecordingOptions.from_dict(read_json(Path(path).read_bytes()))
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"settings must be a file of recording options, got {str(path)!r}: {error}"
            ) from error

    def to_dict(self) -> dict[str, Any]:
        """The options as plain values."""
        fields = [field.name for field in dataclasses.fields(RecordingOptions)]
        return {"format": SETTINGS_FORMAT, **{name: _plain(getattr(self, name)) for name in fields}}

    @staticmethod
    def from_dict(given: Any) -> "RecordingOptions":
        """The options that `to_dict` gave."""
        if not isinstance(given, dict) or given.get("format") != SETTINGS_FORMAT:
            raise ValueError(f"format must be {SETTINGS_FORMAT!r}")
        fields = {name: value for name, value in given.items() if name != "format"}
        require_known(
            "settings", "option", fields, [field.name for field in dataclasses.fields(RecordingOptions)]
        )
        return RecordingOptions(**fields)


def _plain(value: Any) -> Any:
    """A value as JSON has it: lists for tuples, Python's numbers for NumPy's."""
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.item() if hasattr(value, "item") else value


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class Division:
    """How ID windows are held out; the words are those of `split_by_condition`."""

    id_fraction: float = 0.2
    id_by: IdBy = "block"
    gap: float = 1
    seed: int = 0
    standardise_labels: bool = False

    def __post_init__(self) -> None:
        require("id_fraction", self.id_fraction, "lie in (0, 1)")
        require("gap", self.gap, "be 0 or more")
        require_choice("id_by", self.id_by, get_args(IdBy))
