"""Trajectories from a table that lists recordings and a folder of their signals."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crest.checks.arguments import require
from crest.checks.doors import door_leaving
from crest.systems.base import Trajectories
from crest.systems.recordings.rows import Recording, SignalFolder, common_value, read_rows
from crest.systems.recordings.table import Columns, read_table, refuse_problems, require_columns
from crest.systems.recordings.windows import cut_windows, window_starts


@door_leaving("channels")
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
        sample_rate: Samples per second. May be left out if all files are .wav; a .wav that says otherwise
            is a bad row.
        channels: One name per channel, in the files' order. By default the header of .csv files, else
            "channel 0" and so on. A .csv header that differs is a bad row.
        file: Column with the path of a signal; `crest.systems.recordings.signal_files.read_signal` reads it. A file
            that is listed twice is a bad row.
        label: Column with the label, a finite number.
        condition: Column with the operating condition or group, for `split_by_condition`.
        events: Column with the event steps, as `crest.systems.recordings.windows.event_steps` takes them. An
            empty cell says that the recording has no event.
        proxy: Column with the smooth cue, a finite number.
        key: Which array of .npz and .mat files, where they hold several.
        largest: Bytes that the content of one file may take in memory, 4 GiB unless given; a larger one is a bad
            row.

    Raises:
        ValueError: An argument is wrong, or rows are: the message then lists them with line and reason.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.save(Path(folder) / "a.npy", np.arange(10.0))
        ...     _ = (Path(folder) / "table.csv").write_text("file,label\na.npy,0.5\n")
        ...     data = load_recordings(Path(folder) / "table.csv", window=4, sample_rate=100)
        >>> data, data.extra["start"].tolist()
        (Trajectories(2 x 4 steps x 1 channels (channel 0)), [0, 4])
    """
    hop = window if hop is None else hop
    require("window", window, "be a whole number, 1 or more")
    require("hop", hop, "be a whole number, 1 or more")
    if sample_rate is not None:
        require("sample_rate", sample_rate, "be positive")
    named = isinstance(channels, list | tuple) and all(isinstance(name, str) for name in channels)
    if channels is not None and not (named and channels):
        raise ValueError(f"channels must be a list of names, got {channels!r}")
    listing = read_table(Path(table))
    columns = Columns(file=file, label=label, condition=condition, events=events, proxy=proxy)
    require_columns(listing, columns)
    base = listing.path.parent if folder is None else Path(folder)
    if not base.is_dir():
        raise ValueError(f"folder must exist, got {str(base)!r}")

    recordings, problems = read_rows(listing, columns, SignalFolder(base, key, window, largest))
    given = None if channels is None else tuple(channels)
    width = None if given is None else len(given)
    width = common_value(recordings, problems, "channels:", lambda s: s.samples.shape[1], width)
    names = common_value(
        recordings,
        problems,
        "channel names",
        lambda s: s.channels if s.samples.shape[1] == width else None,
        given,
    )
    rate = common_value(recordings, problems, "sample rate", lambda s: s.sample_rate, sample_rate)
    refuse_problems(listing, problems)
    silent = [r.file for r in recordings if r.signal is not None and r.signal.sample_rate is None]
    if rate is None or (sample_rate is None and silent):
        raise ValueError(f"sample_rate must be given where files do not say it, got None and {silent[0]!r}")
    return Trajectories(
        **_joined(recordings, columns, window, hop),
        sample_rate=float(rate),
        channels=names or tuple(f"channel {number}" for number in range(width or 0)),
        source=f"recordings of {listing.path}, windows of {window} samples, one every {hop}",
    )


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
