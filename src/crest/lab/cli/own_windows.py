"""Somebody's recordings for an audit: windows of them or whole ones, and what is assumed about them, in words."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from crest.recordings.gathering import Gathered, gathered_recordings
from crest.recordings.loading import joined, padded
from crest.recordings.options import RecordingOptions
from crest.recordings.trajectories import Trajectories

_LISTED = 5
"""So many classes that nobody named are listed: a column of numbers would have hundreds."""


class OwnWindows(NamedTuple):
    """What was read."""

    windows: Trajectories
    lengths: Tensor
    """(N,), how many steps of each window are no padding."""
    assumed: list[str]
    """Sentences."""


def own_windows(table: Path, folder: Path | None, options: RecordingOptions, *, whole: bool) -> OwnWindows:
    """The windows of the recordings.

    Args:
        table: which recordings.
        folder: of the signals; the table's own by default.
        options: how they are read.
        whole: whether each recording is one window, with zeros behind the shorter ones.
    """
    found = gathered_recordings(table, folder, options)
    assumed = [] if found.classes is None else [_about_classes(found, given=options.classes is not None)]
    found = padded(found) if whole else found
    if options.resample is not None and found.silent:
        raise ValueError(found.rate_missing())
    # Nothing else here asks for the rate, so nobody need know it.
    windows = joined(dataclasses.replace(found, rate=found.rate or 1.0, silent=[]))
    lengths = torch.tensor([one.length for one in found.recordings]).clamp(max=found.options.window)
    if whole:
        assumed.append(_about_lengths(lengths))
    return OwnWindows(windows, lengths[windows.extra["recording"]], assumed)


def _about_classes(found: Gathered, given: bool) -> str:
    """The classes with their numbers, in words; a ValueError where the given names leave one out that the table has."""
    column = found.options.label
    there = {row.cells[column] for row in found.table.rows if row.cells[column]}
    names = found.classes or ()
    if missing := sorted(there.difference(names)):
        raise ValueError(
            f"class_names must name every class of the column {column!r}, got {', '.join(names)}, and it also has "
            f"{', '.join(missing[:_LISTED])}{' and others' if len(missing) > _LISTED else ''}"
        )
    numbered = ", ".join(f"{number} {name}" for number, name in enumerate(names))
    unseen = [name for name in names if name not in there]
    rest = f"; no recording is of {', '.join(unseen)}" if unseen else ""
    return f"classes{'' if given else ' by alphabet, without --class-names'}: {numbered}{rest}"


def _about_lengths(lengths: Tensor) -> str:
    """What stands in the place of windows, in words."""
    shortest, longest = int(lengths.min()), int(lengths.max())
    uneven = f"{shortest} to {longest} samples, with zeros behind the shorter ones"
    return f"whole recordings, without --window: {uneven if shortest < longest else f'{shortest} samples'}"
