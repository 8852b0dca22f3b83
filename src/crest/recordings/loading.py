"""Trajectories from a table that lists recordings and a folder of their signals."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from crest._base.doors import door_leaving
from crest.recordings.gathering import Gathered, Wanted, gathered_recordings
from crest.recordings.problems import refuse_problems
from crest.recordings.rows import Recording
from crest.recordings.table import Columns
from crest.recordings.trajectories import Trajectories
from crest.recordings.windows import cut_windows, window_starts


@door_leaving("channels", "columns", "classes")
def load_recordings(
    table: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    window: int,
    hop: int | None = None,
    sample_rate: float | None = None,
    channels: Sequence[str] | None = None,
    file: str = "file",
    label: str = "label",
    condition: str | None = None,
    events: str | None = None,
    proxy: str | None = None,
    key: str | None = None,
    columns: Sequence[str | int] | None = None,
    time: str | int | bool = True,
    resample: float | None = None,
    classes: Sequence[str] | bool | None = None,
    largest: int | None = None,
) -> Trajectories:
    r"""Windows of all recordings that a table lists, in its order, as float32.

    `extra` says where each comes from: `recording` (the row of the table, from 0), `start` (the window's
    first sample) and, if that column is named, `condition` (text). Samples after the last whole window of a
    recording are not used.

    Args:
        table: A .csv (header line, UTF-8) or .parquet file with one row per recording.
        folder: Where relative paths in the table begin; the table's own folder by default.
        window: Samples per window.
        hop: Samples from one window's start to the next; `window` by default.
        sample_rate: Samples per second of files that do not say it; .wav files and time columns do. A file that says
            otherwise is a bad row, unless `resample` is given.
        channels: One name per channel, in the files' order, or in that of `columns`. By default the header of the
            files, else "channel 0" and so on. A header that differs is a bad row.
        file: Column with the path of a signal; `crest.recordings.signal_files.read_signal` reads it. A file
            that is listed twice is a bad row.
        label: Column with the label: finite numbers, or names of classes.
        condition: Column with the operating condition or group, for `split_by_condition`.
        events: Column with the event steps, as `crest.recordings.windows.event_steps` takes them. An
            empty cell says that the recording has no event.
        proxy: Column with the smooth cue, a finite number.
        key: Which array of .npz and .mat files, where they hold several.
        columns: Which columns of the signals are channels, by name or by number from 0, as `read_signal` takes them.
        time: The signals' column with the time, by name or by number; False where there is none. Found by default.
        resample: Samples per second that all recordings are brought to, with a filter against aliases, and their
            events with them. `window` and `hop` then count samples of this rate. Needs SciPy.
        classes: Names of the classes in the order of their numbers. True: labels are names whatever they look like,
            numbered in sorted order. False: they are numbers. By default they are names if none is a number.
            `Trajectories.classes` keeps the names, and `y` has the numbers.
        largest: Bytes that the content of one file may take in memory, 4 GiB unless given; a larger one is a bad
            row.

    Raises:
        ValueError: An argument is wrong, or rows are: the message then lists them with line and reason.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.save(Path(folder) / "a.npy", np.arange(10.0))
        ...     _ = (Path(folder) / "table.csv").write_text("file,label\na.npy,0.5\n")
        ...     data = load_recordings(Path(folder) / "table.csv", window=4, sample_rate=100)
        >>> data, data.extra["start"].tolist()
        (Trajectories(2 x 4 steps x 1 channels (channel 0)), [0, 4])
    """
    found = gathered_recordings(
        Wanted(
            table=table, folder=folder, window=window, hop=hop, sample_rate=sample_rate, channels=channels, file=file,
            label=label, condition=condition, events=events, proxy=proxy, key=key, columns=columns, time=time,
            resample=resample, classes=classes, largest=largest,
        )
    )  # fmt: skip
    return joined(found)


def joined(found: Gathered) -> Trajectories:
    """The windows of what was gathered.

    Raises:
        ValueError: Something is wrong with it.
    """
    refuse_problems(found.table, found.problems, found.advice)
    if found.rate is None or found.silent:
        raise ValueError(found.rate_missing())
    about = [f"recordings of {found.table.path}", f"windows of {found.window} samples, one every {found.hop}"]
    about += [] if found.resample is None else [f"resampled to {found.resample:g} samples per second"]
    return Trajectories(
        **_joined(found.recordings, found.columns, found.window, found.hop),
        sample_rate=float(found.rate),
        channels=found.channels,
        classes=found.classes or (),
        source=", ".join(about),
    )


def padded(found: Gathered) -> Gathered:
    """The same with zeros behind the shorter recordings, in windows as long as the longest: one for each recording.

    `Recording.length` still says how many samples are its own.
    """
    longest = max((one.length for one in found.recordings if one.length is not None), default=1)
    recordings = [
        one
        if one.signal is None
        else dataclasses.replace(
            one,
            signal=one.signal._replace(samples=_longer(one.signal.samples, longest)),
            events=None if one.events is None else _longer(one.events, longest),
        )
        for one in found.recordings
    ]
    return dataclasses.replace(found, recordings=recordings, window=longest, hop=longest)


def _longer(steps: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    return np.pad(steps, [(0, length - len(steps)), *[(0, 0)] * (steps.ndim - 1)])


def _joined(recordings: list[Recording], columns: Columns, window: int, hop: int) -> dict[str, Any]:
    """The windows of all recordings, none of which has a problem."""
    signals = [recording.signal.samples for recording in recordings if recording.signal is not None]
    starts = [window_starts(len(signal), window, hop) for signal in signals]
    counts = [len(start) for start in starts]
    ends = np.cumsum(counts)
    # Written in place: with many recordings a concatenation would hold all windows twice.
    x = np.empty((int(ends[-1]), window, signals[0].shape[1]), dtype=np.float32)
    events = None if columns.events is None else np.zeros(x.shape[:2], dtype=np.bool_)
    for recording, signal, end, count in zip(recordings, signals, ends, counts, strict=True):
        x[end - count : end] = cut_windows(signal, window, hop)
        if events is not None and recording.events is not None:
            events[end - count : end] = cut_windows(recording.events, window, hop)
    extra = {"recording": np.repeat(np.arange(len(counts)), counts), "start": np.concatenate(starts)}
    if columns.condition is not None:
        extra["condition"] = np.repeat(np.array([str(r.condition) for r in recordings]), counts)
    proxy = None
    if columns.proxy is not None:
        proxy = np.repeat(np.array([r.proxy for r in recordings], dtype=np.float64), counts)
    y = np.repeat(np.array([r.label for r in recordings], dtype=np.float64), counts)
    return {"x": x, "y": y, "events": events, "proxy": proxy, "extra": extra}
