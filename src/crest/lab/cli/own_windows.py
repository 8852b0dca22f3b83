"""The user's recordings for an audit: windows of them or whole ones, and what is assumed about them, in words."""

import collections
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from crest._base.arguments import require_choice
from crest.lab.cli.where import rows_where
from crest.recordings.gathering import Gathered, gathered_recordings
from crest.recordings.inventory import about_options
from crest.recordings.labels import require_named
from crest.recordings.loading import joined, padded
from crest.recordings.names import window_names
from crest.recordings.options import SPLIT_PARTS, RecordingOptions
from crest.recordings.trajectories import Trajectories


class OwnWindows(NamedTuple):
    """What was read."""

    windows: Trajectories
    lengths: Tensor
    """(N,), how many steps of each window are no padding."""
    assumed: list[str]
    """Sentences."""
    names: list[str]
    """What each window is called: its file, its start and its condition."""
    rate: float | None
    """Samples per second; None if unknown."""


def own_windows(
    table: Path,
    folder: Path | None,
    options: RecordingOptions,
    *,
    whole: bool,
    parts: Sequence[str] = SPLIT_PARTS,
    where: Sequence[str] = (),
) -> OwnWindows:
    """The windows of the recordings.

    Args:
        table: which recordings.
        folder: of the signals; the table's own by default.
        options: how they are read.
        whole: whether each recording is one window, the shorter ones padded with zeros.
        parts: which rows are wanted if the options name a column of splits. If the table has none of them, all
            but training rows are, or else all.
        where: which rows of the table, as `rows_where` takes them; all by default.
    """
    found = gathered_recordings(table, folder, options, rows_where(where) if where else None)
    assumed = [
        f"signals are in {options.units}" if options.standardise is None else f"signals: {options.units}"
    ]
    assumed += [] if found.classes else [f"labels are {options.label_units}"]
    assumed += (
        [] if found.classes is None else [_about_classes(found, given=options.classes not in (None, True))]
    )
    assumed += about_options(found, cut=not whole)
    found = padded(found) if whole else found
    if options.resample is not None and found.silent:
        raise ValueError(found.rate_missing())
    # Nothing else here asks for the rate, so nobody need know it.
    windows = joined(dataclasses.replace(found, rate=found.rate or 1.0, silent=[]))
    lengths = torch.tensor([one.length for one in found.recordings]).clamp(max=found.options.window)
    if whole:
        assumed.append(_about_lengths(lengths))
    if options.split is not None:
        windows, told = _of_parts(windows, parts)
        assumed.append(told)
    rate = None if found.silent else found.rate
    return OwnWindows(
        windows,
        lengths[windows.extra["row"]],
        assumed,
        names=window_names(windows.extra, rate, whole=whole),
        rate=rate,
    )


def _of_parts(windows: Trajectories, parts: Sequence[str]) -> tuple[Trajectories, str]:
    """The windows of these parts of a split, or of others if there are none, and how many of which part, in words."""
    for part in parts:
        require_choice("parts", part, SPLIT_PARTS)
    cells = windows.extra["split"]
    there = collections.Counter(cells.tolist())
    chosen = [part for part in SPLIT_PARTS if part in parts and there[part]]
    # A model may know its training rows by heart.
    chosen = chosen or [part for part in SPLIT_PARTS if part != "train" and there[part]] or list(there)
    left = [part for part in SPLIT_PARTS if there[part] and part not in chosen]
    told = " and ".join(f"{there[part]} {part}" for part in chosen)
    rest = (
        f"; {' and '.join(f'{there[part]} {part}' for part in left)} left out (choose with --parts)"
        if left
        else ""
    )
    return windows[
        [part in chosen for part in cells.tolist()]
    ], f"windows by the column of splits: {told}{rest}"


def _about_classes(found: Gathered, given: bool) -> str:
    """The classes with their numbers, in words; a ValueError if the given names leave one out that the table has."""
    column = found.options.label
    names = found.classes or ()
    there = require_named(column, (row.cells[column] for row in found.table.rows), names)
    numbered = ", ".join(f"{number} {name}" for number, name in enumerate(names))
    unseen = [name for name in names if name not in there]
    rest = f"; no recording has {', '.join(unseen)}" if unseen else ""
    return f"classes{'' if given else ' in sorted order, because --classes gives no names'}: {numbered}{rest}"


def _about_lengths(lengths: Tensor) -> str:
    """What stands in the place of windows, in words."""
    shortest, longest = int(lengths.min()), int(lengths.max())
    uneven = f"{shortest} to {longest} samples, the shorter ones padded with zeros"
    return f"whole recordings, without --window: {uneven if shortest < longest else f'{shortest} samples'}"
