"""Windows of one recording, and the event steps that its table cell describes."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crest.recordings.archives import read_npy
from crest.recordings.signal_files import reading

_INTERVAL = re.compile(r"\s*(\d+)\s*-\s*(\d+)\s*")


def window_starts(length: int, window: int, hop: int) -> npt.NDArray[np.int64]:
    """First samples of the windows that lie wholly in a recording; samples after the last one are not used.

    Example:
        >>> window_starts(10, window=4, hop=3).tolist()
        [0, 3, 6]
    """
    return np.arange(0, length - window + 1, hop, dtype=np.int64)


def cut_windows(signal: npt.NDArray[Any], window: int, hop: int) -> npt.NDArray[Any]:
    """View (n, window, ...) of a recording (T, ...), one row per window of `window_starts`.

    Example:
        >>> cut_windows(np.arange(6), window=4, hop=2).tolist()
        [[0, 1, 2, 3], [2, 3, 4, 5]]
    """
    views = np.lib.stride_tricks.sliding_window_view(signal, window, axis=0)[::hop]
    return np.moveaxis(views, -1, 1)


def event_steps(cell: str, length: int, folder: Path) -> npt.NDArray[np.bool_]:
    """Event steps (T,) of a recording of `length` samples.

    Args:
        cell: Empty for no event; intervals in samples, first included and last excluded, as Python slices
            are ("120-180;400-460"); or the path of a boolean .npy of shape (T,).
        length: Samples of the recording.
        folder: Where a relative path begins.

    Example:
        >>> event_steps("1-3;4-5", 6, Path()).tolist()
        [False, True, True, False, True, False]
    """
    if cell.lower().endswith(".npy"):
        return _read_mask(folder / cell, length)
    steps = np.zeros(length, dtype=np.bool_)
    for part in cell.split(";") if cell else []:
        match = _INTERVAL.fullmatch(part)
        if match is None:
            raise ValueError(f"events must be start-end;start-end in samples, or a .npy file, got {part!r}")
        start, end = int(match[1]), int(match[2])
        if not start < end <= length:
            raise ValueError(
                f"events must satisfy start < end <= {length}, the signal's length, got {part!r}"
            )
        steps[start:end] = True
    return steps


def _read_mask(path: Path, length: int) -> npt.NDArray[np.bool_]:
    """Boolean steps (T,) of a .npy file, one for each of `length` samples."""
    with reading("event file", path):
        # One byte for each sample; more only so far that the next check can say what is wrong.
        mask = read_npy(path, max(16 * length, 2**20))
    if mask.dtype != np.bool_ or mask.shape != (length,):
        raise ValueError(
            f"event file {path.name!r} must hold booleans of shape ({length},), got {mask.dtype} {mask.shape}"
        )
    return mask
