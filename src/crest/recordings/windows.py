"""Windows of one recording, and the event steps that its table cell describes."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crest.recordings.archives import read_npy
from crest.recordings.signal_files import reading
from crest.recordings.wfdb_files import read_annotations

# our choice: docs/evidence/choices.md#cues
SHORT_WINDOW = 16
"""Up to this many steps, a window is too short to tell what is brief from what is smooth."""
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


def event_file(cell: str) -> str:
    """The path that a cell of events names, empty if the steps stand in the cell itself.

    Example:
        >>> event_file("100.atr:V,E:0.15"), event_file("mask.npy"), event_file("120-180;400-460")
        ('100.atr', 'mask.npy', '')
    """
    if cell.lower().endswith(".npy"):
        return cell
    return cell.rsplit(":", 2)[0] if cell.count(":") >= 2 else ""


def event_steps(
    cell: str, length: int, folder: Path, sample_rate: float | None = None
) -> npt.NDArray[np.bool_]:
    """Event steps (T,) of a recording of `length` samples.

    Args:
        cell: Empty for no event; intervals in samples, first included and last excluded, as Python slices
            are ("120-180;400-460"); the path of a boolean .npy of shape (T,); or a WFDB annotation file, the symbols
            to take from it and the seconds that each event lasts, centred on the annotation ("100.atr:V,E:0.15").
        length: Samples of the recording.
        folder: Where a relative path begins.
        sample_rate: Of the recording; needed for annotations only.

    Example:
        >>> event_steps("1-3;4-5", 6, Path()).tolist()
        [False, True, True, False, True, False]
    """
    if cell.lower().endswith(".npy"):
        return _read_mask(folder / cell, length)
    if cell.count(":") >= 2:
        _, symbols, seconds = cell.rsplit(":", 2)
        return _annotated_steps(folder / event_file(cell), symbols.split(","), seconds, length, sample_rate)
    steps = np.zeros(length, dtype=np.bool_)
    for part in cell.split(";") if cell else []:
        match = _INTERVAL.fullmatch(part)
        if match is None:
            raise ValueError(
                "events must be start-end;start-end in samples, or a .npy file, "
                f"or annotations as file:symbols:seconds, got {part!r}"
            )
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


def _annotated_steps(
    path: Path, symbols: list[str], seconds: str, length: int, rate: float | None
) -> npt.NDArray[np.bool_]:
    """Steps (T,) around the annotations that have one of these symbols."""
    if rate is None:
        raise ValueError(
            f"events of {path.name!r} last seconds, so sample_rate must be given: the file has none"
        )
    try:
        width = float(seconds) * rate
    except ValueError:
        width = -1.0
    if not 0 < width <= length:
        raise ValueError(
            f"events must last more than 0 seconds and at most the recording's {length / rate:g}, got {seconds!r}"
        )
    with reading("event file", path):
        found = read_annotations(path)
    wrong = [symbol for symbol in symbols if symbol not in found.known]
    if wrong:
        raise ValueError(
            f"events must have symbols of {path.name!r}, such as {' '.join(sorted(found.known))}, got {wrong[0]!r}"
        )
    chosen = found.samples[[symbol in symbols for symbol in found.symbols]]
    centres = chosen if found.rate is None else np.rint(chosen * (rate / found.rate)).astype(np.int64)
    outside = centres[(centres < 0) | (centres >= length)]
    if len(outside):
        raise ValueError(
            f"event file {path.name!r} must annotate the signal's {length} samples, got one at {outside[0]}"
        )
    count = max(1, round(width))
    steps = np.zeros(length, dtype=np.bool_)
    for start in (centres - count // 2).tolist():
        steps[max(start, 0) : start + count] = True
    return steps
