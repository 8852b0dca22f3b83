"""Trajectories from a table that lists recordings and a folder of their signals."""

import dataclasses
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from crest._base.arguments import require_known
from crest._base.doors import door
from crest.nuisances.scale import in_own_units
from crest.recordings.gathering import Gathered, gathered_recordings
from crest.recordings.options import RecordingOptions
from crest.recordings.problems import refuse_problems
from crest.recordings.trajectories import Trajectories
from crest.recordings.windows import cut_windows, window_starts

_AT_A_TIME = 256
"""Windows that are standardised at a time: each needs several copies of itself."""


@door
def load_recordings(
    table: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    options: RecordingOptions | None = None,
    **fields: Any,
) -> Trajectories:
    r"""Windows of all recordings that a table lists, in its order, as float32.

    `extra` says where each comes from: `file` (as the table spells it), `recording` (the number of the file, from 0),
    `row` (of the table, from 0), `start` (the window's first sample in the file) and, if these columns are named,
    `condition`, `split` and `group` (text). Several condition columns are joined in `condition`, and each is there by its
    own name too. Samples after the last whole window of a row are not used.

    By default signals are in raw units and labels as in the table. Pass options to override; `options` of the result says how
    they were read.

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
        (Trajectories(2 x 4 steps x 1 channels (channel 0); raw units, as in the files), [0, 4])
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
    factors = _factors(options, found.channels)
    # Written in place: with many recordings a concatenation would hold all windows twice.
    x = np.empty((int(ends[-1]), window, signals[0].shape[1]), dtype=np.float32)
    events = None if options.events is None else np.zeros(x.shape[:2], dtype=np.bool_)
    for recording, signal, end, count in zip(recordings, signals, ends, counts, strict=True):
        part = x[end - count : end]
        part[...] = cut_windows(signal, window, hop)
        if factors is not None:
            part *= factors
        if options.standardise is not None:
            _standardise(part, recording.length or window, robust=options.standardise == "median")
        if events is not None and recording.events is not None:
            events[end - count : end] = cut_windows(recording.events, window, hop)
    extra = {
        "file": np.repeat(np.array([one.file for one in recordings]), counts),
        "recording": np.repeat(np.array([one.number for one in recordings]), counts),
        "row": np.repeat(np.arange(len(counts)), counts),
        "start": np.concatenate([one.first + start for one, start in zip(recordings, starts, strict=True)]),
    }
    texts = {name: [str(getattr(one, name)) for one in recordings] for name in ("split", "group")}
    texts = {name: column for name, column in texts.items() if getattr(options, name) is not None}
    if options.conditions:
        texts["condition"] = [str(one.condition) for one in recordings]
    if len(options.conditions) > 1:
        for place, name in enumerate(options.conditions):
            texts[name] = [one.conditions[place] for one in recordings]
    extra |= {name: np.repeat(np.array(column), counts) for name, column in texts.items()}

    def repeated(name: str) -> npt.NDArray[np.float64]:
        return np.repeat(np.array([getattr(one, name) for one in recordings], dtype=np.float64), counts)

    about = [f"recordings of {found.table.path}", f"windows of {window} samples, one every {hop}"]
    about += [] if options.resample is None else [f"resampled to {options.resample:g} samples per second"]
    about += [options.units]
    y = repeated("label")
    return Trajectories(
        x=x,
        y=y if found.classes else (y - options.label_mean) / options.label_scale,
        events=events,
        proxy=None if options.proxy is None else repeated("proxy"),
        sample_rate=float(found.rate),
        channels=found.channels,
        classes=found.classes or (),
        source=", ".join(about),
        extra=extra,
        # With the classes that were found: the numbers of further recordings must mean the same.
        options=RecordingOptions.from_dict(
            options.to_dict() | ({"classes": list(found.classes)} if found.classes else {})
        ),
    )


def _factors(options: RecordingOptions, channels: tuple[str, ...]) -> npt.NDArray[np.float32] | None:
    """What the channels are multiplied by; None for nothing."""
    factors = np.atleast_1d(np.asarray(options.scale, dtype=np.float32))
    if len(factors) not in (1, len(channels)):
        raise ValueError(
            f"scale must be one number, or one for each of the channels {', '.join(channels)}, got {options.scale!r}"
        )
    return None if (factors == 1).all() else factors


def _standardise(windows: npt.NDArray[np.float32], length: int, *, robust: bool) -> None:
    """Put windows (n, T, C) in units of their own, in place; steps behind `length` are padding and stay 0."""
    inside = windows[:, :length]
    for first in range(0, len(windows), _AT_A_TIME):
        rows = slice(first, first + _AT_A_TIME)
        inside[rows] = in_own_units(torch.from_numpy(inside[rows]), robust=robust).numpy()


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
