"""The demo's recordings: simulated, written to files and a table, and read back as your own would be."""

import csv
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

from crest._base.files import whole_file
from crest.recordings import load_recordings
from crest.recordings.trajectories import Splits, Tensors, Trajectories

# What the column `set` says of a recording.
_TRAINING, _HELD_OUT, _FIELD = "training", "held out", "field"


def write_recordings(folder: Path, splits: Splits) -> Path:
    """Write a signal for each trajectory, and then the table that lists them; return where the table is.

    A folder that has a table is complete.

    Args:
        folder: made if it is missing.
        splits: what to write: as in training, held out, and at the changed operating condition.
    """
    (folder / "signals").mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["file", "stiffness", "set", "drive", "events"])
    for name, part in ((_TRAINING, splits.train), (_HELD_OUT, splits.id), (_FIELD, splits.ood)):
        for number in range(len(part)):
            file = f"{name.replace(' ', '_')}_{number:04d}.npy"
            np.save(folder / "signals" / file, part.x[number])
            rows.writerow([file, f"{part.y[number]:.6g}", name, *_known(part, number)])
    table = folder / "table.csv"
    with whole_file(table) as written:
        written.write(text.getvalue().encode())
    return table


def _known(part: Trajectories, number: int) -> tuple[str, str]:
    """The cells for the cue and the events, empty if they are not known."""
    cue = "" if part.proxy is None else f"{part.proxy[number]:.6g}"
    return cue, "" if part.events is None else intervals(part.events[number])


def intervals(steps: npt.NDArray[np.bool_]) -> str:
    """True steps (T,) as a table has them: first sample included, last excluded.

    Example:
        >>> intervals(np.array([True, True, False, True]))
        '0-2;3-4'
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], steps.astype(np.int8), [0]])))
    return ";".join(f"{start}-{end}" for start, end in edges.reshape(-1, 2))


class DemoData(NamedTuple):
    """Inputs (N, C, T) and targets (N,)."""

    training: tuple[Tensor, Tensor]
    held_out: tuple[Tensor, Tensor]
    """Further units under the conditions of training."""
    field: tuple[Tensor, Tensor]
    """Units whose drive no longer follows the stiffness: shown, never used to choose."""
    events: Tensor | None
    """(N, T) of the units held out; no training and no choice sees them."""
    channels: tuple[str, ...]


def read_recordings(table: Path, *, steps: int, sample_rate: float, channels: tuple[str, ...]) -> DemoData:
    """What the table lists, through the door for your own recordings.

    Args:
        table: of `write_recordings`.
        steps: samples of each signal.
        sample_rate: of the signals.
        channels: their names.
    """
    data = load_recordings(
        table,
        table.parent / "signals",
        window=steps,
        sample_rate=sample_rate,
        channels=list(channels),
        label="stiffness",
        condition="set",
        events="events",
    )
    training, held_out, field = (
        data[data.extra["condition"] == name].tensors() for name in (_TRAINING, _HELD_OUT, _FIELD)
    )

    def pair(part: Tensors) -> tuple[Tensor, Tensor]:
        return part.x.mT.contiguous(), part.y

    return DemoData(
        training=pair(training),
        held_out=pair(held_out),
        field=pair(field),
        events=held_out.events,
        channels=channels,
    )
