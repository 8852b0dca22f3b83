"""Which columns of a signal file are channels, and which one is the time."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crest._base.arguments import did_you_mean, require
from crest.recordings.time_axis import counts_samples, rate_of_times, rises_evenly, seconds_by_name


class ColumnSelection(NamedTuple):
    """What is wanted of a signal file; `read_signal` says what its parts mean."""

    key: str | None = None
    columns: tuple[str | int, ...] | None = None
    time: str | int | bool = True
    largest: int | None = None

    @classmethod
    def checked(cls, key: str | None, columns: Any, time: Any, largest: int | None) -> "ColumnSelection":
        """The selection, refused unless columns are a list of names and numbers, and the time is one of them.

        Example:
            >>> ColumnSelection.checked(None, ["x", 2], True, None).columns
            ('x', 2)
        """
        if not isinstance(time, str | bool):
            require("time", time, "be a whole number, 0 or more")
        if columns is None:
            return cls(key, None, time, largest)
        arrays = isinstance(columns, list | tuple) and any(isinstance(one, np.ndarray) for one in columns)
        if not isinstance(columns, list | tuple) or not columns or arrays:
            raise ValueError(f"columns must be a list of names or numbers, got {columns!r}")
        for column in columns:
            if not isinstance(column, str):
                require("columns", column, "be a whole number, 0 or more")
        if len(set(columns)) < len(columns):
            raise ValueError(f"columns must not repeat one, got {columns!r}")
        chosen = tuple(column if isinstance(column, str) else int(column) for column in columns)
        return cls(key, chosen, time, largest)


class Content(NamedTuple):
    """What a reader found in a file."""

    array: npt.NDArray[Any]
    """(T,) or (T, C): the columns that were read."""
    sample_rate: float | None = None
    names: tuple[str, ...] | None = None
    """Of all columns of the file."""
    read: tuple[int, ...] | None = None
    """Places in the file of the columns that were read; None for all."""
    dated: frozenset[int] = frozenset()
    """Places of columns that were dates, and are seconds now."""


class Signal(NamedTuple):
    """The channels of one file; all but the samples are None if the file does not say."""

    samples: npt.NDArray[Any]
    """(T, C); what `read_signal` returns is float32 and finite."""
    sample_rate: float | None
    channels: tuple[str, ...] | None
    time: str | None = None
    """The time column that told the rate: its name in quotes, or its number."""


class Plan(NamedTuple):
    """Places of columns in a file."""

    channels: tuple[int, ...]
    time: int | None
    search: bool
    """Whether the first column may turn out to be the time by its even steps."""

    @property
    def read(self) -> tuple[int, ...]:
        """All that has to be read."""
        beside = {*(() if self.time is None else (self.time,)), *((0,) if self.search else ())}
        return tuple(sorted({*self.channels} | beside))


def planned(
    selection: ColumnSelection, names: tuple[str, ...] | None, width: int, dated: frozenset[int] = frozenset()
) -> Plan:
    """What to read of a file with these columns.

    A column that is named for a time, or holds dates, is a channel only if `columns` has it or `time` is False.

    Args:
        selection: what is wanted.
        names: of all columns, if the file has them.
        width: how many there are.
        dated: places of those that hold dates.

    Raises:
        ValueError: A column does not exist, two could be the time, or none is left for a channel.

    Example:
        >>> planned(ColumnSelection(), ("t", "x", "y"), 3)
        Plan(channels=(1, 2), time=0, search=False)
    """
    chosen = None
    if selection.columns is not None:
        chosen = tuple(_place("columns", column, names, width) for column in selection.columns)
    time = None
    like_times: list[int] = []
    if selection.time is not False:
        called = [
            place for place in range(len(names or ())) if seconds_by_name((names or ())[place]) is not None
        ]
        like_times = sorted({*called, *dated} - {*(chosen or ())})
    if not isinstance(selection.time, bool):
        time = _place("time", selection.time, names, width)
        if chosen is not None and time in chosen:
            raise ValueError(f"columns must not have the time column, got {selection.time!r} in both")
    elif len(like_times) > 1:
        both = " and ".join(_called(place, names) for place in like_times)
        raise ValueError(f"time must say which column is the time if there are several, got {both}")
    elif like_times:
        time = like_times[0]
    if chosen is None:
        no_channels = {time, *like_times}
        chosen = tuple(place for place in range(width) if place not in no_channels)
    if not chosen:
        called_so = "nothing" if time is None else f"only the time column {_called(time, names)}"
        raise ValueError(f"it must have a channel, got {called_so} (time=False takes it for a channel)")
    search = (
        selection.time is True
        and time is None
        and width > 1
        and (selection.columns is None or 0 not in chosen)
    )
    return Plan(chosen, time, search)


def chosen_columns(content: Content, selection: ColumnSelection) -> Signal:
    """The channels of what was read, and the rate that its time column tells.

    Example:
        >>> table = np.stack([np.arange(9) / 50, np.ones(9)], axis=1)
        >>> found = chosen_columns(Content(table, names=("t", "x")), ColumnSelection())
        >>> found.samples.shape, found.sample_rate, found.channels
        ((9, 1), 50.0, ('x',))
    """
    array = content.array
    # Not a signal. A caller that needs samples reports it.
    if array.ndim not in (1, 2) or array.size == 0 or array.dtype.kind not in "iuf":
        return Signal(array, content.sample_rate, content.names)
    array = array.reshape(len(array), -1)
    read = content.read or tuple(range(array.shape[1]))
    width = len(content.names) if content.names is not None else 1 + max(read)
    if content.sample_rate is not None:
        selection = selection._replace(time=False)
    plan = planned(selection, content.names, width, content.dated)

    place_of = {place: number for number, place in enumerate(read)}

    def column(place: int) -> npt.NDArray[Any]:
        return array[:, place_of[place]]

    time, channels = plan.time, plan.channels
    if plan.search and _is_time(column, read, counted=selection.columns is not None):
        time, channels = 0, tuple(place for place in channels if place != 0)
    rate, called = content.sample_rate, None
    if time is not None:
        called = _called(time, content.names)
        unit = None if content.names is None else seconds_by_name(content.names[time])
        rate = rate_of_times(column(time), 1.0 if unit is None or time in content.dated else unit, called)
    names = None if content.names is None else tuple(content.names[place] for place in channels)
    places = [place_of[place] for place in channels]
    if places != list(range(array.shape[1])):
        array = np.take(array, places, axis=1)
    return Signal(array, rate, names, called)


def _is_time(column: Callable[[int], npt.NDArray[Any]], read: tuple[int, ...], counted: bool) -> bool:
    """Whether the first column, and no other, rises by equal steps. With `counted`, one that only counts samples is a channel."""
    if 0 not in read or not rises_evenly(column(0)):
        return False
    if any(rises_evenly(column(place)) for place in read if place != 0):
        return False
    if counts_samples(column(0)):
        if counted:
            return False
        raise ValueError(
            "time must say what the first column is if it counts the samples (1, 2, 3): time=0 takes it for "
            "seconds, time=False for a channel, and columns= leaves it out"
        )
    return True


def _place(argument: str, column: str | int, names: tuple[str, ...] | None, width: int) -> int:
    """The place of a column in the file. Digits that are no name are a number, as a command line gives it."""
    if isinstance(column, str) and column not in (names or ()) and column.isdecimal() and len(column) < 10:
        column = int(column)
    if isinstance(column, str):
        if names is None:
            raise ValueError(
                f"{argument} must be numbers if the file does not name its columns, got {column!r}"
            )
        if names.count(column) != 1:
            many = did_you_mean(column, names) if column not in names else " several times"
            raise ValueError(
                f"{argument} must name a column of the file, got {column!r}; it has {', '.join(names)}{many}"
            )
        return names.index(column)
    if column >= width:
        has = f": {', '.join(names)}" if names is not None else ""
        raise ValueError(
            f"{argument} must be numbers below {width}, got {column}; the file has {width} columns{has}"
        )
    return column


def _called(place: int, names: tuple[str, ...] | None) -> str:
    return f"{place}" if names is None else repr(names[place])
