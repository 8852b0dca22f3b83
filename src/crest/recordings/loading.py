"""Trajectories from a table that lists recordings and a folder of their signals."""

import dataclasses
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from crest._base.arguments import require_known
from crest._base.doors import door
from crest.recordings.gathering import Gathered, gathered_recordings
from crest.recordings.options import RecordingOptions
from crest.recordings.problems import refuse_problems
from crest.recordings.trajectories import Trajectories
from crest.recordings.windows import cut_windows, window_starts


@door
def load_recordings(
    table: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    options: RecordingOptions | None = None,
    **fields: Any,
) -> Trajectories:
    r"""Windows of all recordings that a table lists, in its order, as float32.

    `extra` says where each comes from: `recording` (the row of the table, from 0), `start` (the window's
    first sample) and, if that column is named, `condition` (text). Samples after the last whole window of a
    recording are not used.

    Args:
        table: A .csv (header line, UTF-8) or .parquet file with one row per recording.
        folder: Where relative paths in the table begin; the table's own folder by default.
        options: How the recordings are read.
        **fields: Fields of `RecordingOptions`, such as `window=500`. They replace those of `options`; without
            `options`, `window` must be among them.

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
    known = [field.name for field in dataclasses.fields(RecordingOptions)]
    require_known("load_recordings", "option", fields, known)
    options = RecordingOptions(**fields) if options is None else dataclasses.replace(options, **fields)
    return joined(gathered_recordings(table, folder, options))


def joined(found: Gathered) -> Trajectories:
    """The windows of what was gathered.

    Raises:
        ValueError: Something is wrong with it.
    """
    options, recordings = found.options, found.recordings
    refuse_problems(found.table, found.problems, found.advice)
    if found.rate is None or found.silent:
        raise ValueError(found.rate_missing())
    window, hop = options.window, options.step
    signals = [recording.signal.samples for recording in recordings if recording.signal is not None]
    starts = [window_starts(len(signal), window, hop) for signal in signals]
    counts = [len(start) for start in starts]
    ends = np.cumsum(counts)
    # Written in place: with many recordings a concatenation would hold all windows twice.
    x = np.empty((int(ends[-1]), window, signals[0].shape[1]), dtype=np.float32)
    events = None if options.events is None else np.zeros(x.shape[:2], dtype=np.bool_)
    for recording, signal, end, count in zip(recordings, signals, ends, counts, strict=True):
        x[end - count : end] = cut_windows(signal, window, hop)
        if events is not None and recording.events is not None:
            events[end - count : end] = cut_windows(recording.events, window, hop)
    extra = {"recording": np.repeat(np.arange(len(counts)), counts), "start": np.concatenate(starts)}
    if options.condition is not None:
        extra["condition"] = np.repeat(np.array([str(one.condition) for one in recordings]), counts)

    def repeated(name: str) -> npt.NDArray[np.float64]:
        return np.repeat(np.array([getattr(one, name) for one in recordings], dtype=np.float64), counts)

    about = [f"recordings of {found.table.path}", f"windows of {window} samples, one every {hop}"]
    about += [] if options.resample is None else [f"resampled to {options.resample:g} samples per second"]
    return Trajectories(
        x=x,
        y=repeated("label"),
        events=events,
        proxy=None if options.proxy is None else repeated("proxy"),
        sample_rate=float(found.rate),
        channels=found.channels,
        classes=found.classes or (),
        source=", ".join(about),
        extra=extra,
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
    options = dataclasses.replace(found.options, window=longest, hop=longest)
    return dataclasses.replace(found, recordings=recordings, options=options)


def _longer(steps: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    return np.pad(steps, [(0, length - len(steps)), *[(0, 0)] * (steps.ndim - 1)])
