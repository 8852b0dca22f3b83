"""HIT-SM bearings on a SpectraQuest rig: real recordings at three speeds, in training tied to the size of the fault."""

import dataclasses
import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from crest._base import rng
from crest._base.arguments import require_fields
from crest._base.doors import door
from crest.lab.systems.base import Sizes
from crest.lab.systems.public import HITSM
from crest.lab.systems.public_files import folder_of, require_files
from crest.lab.systems.tied import drawn_rows
from crest.recordings.loading import load_recordings
from crest.recordings.trajectories import Splits, Trajectories

# Hz; the data README
_RECORDED_RATE = 51200.0
# A quarter of it: the resonances that carry the fault are below. our choice: docs/evidence/choices.md#hitsm
_RATE = 12800.0
# The largest fault at the lowest speed, as a rig that is spared would be recorded. our choice: docs/evidence/choices.md#hitsm
_SPEED_OF = {2: 1200, 5: 900, 8: 600}
# Shares of each recording. Windows do not reach from one part into the next. our choice: docs/evidence/choices.md#hitsm
_PARTS = {"train": (0.0, 0.6), "id": (0.6, 0.8), "ood": (0.8, 1.0)}


@functools.lru_cache(maxsize=2)
def _windows(folder: Path, steps: int, hop: int) -> Trajectories:
    """All windows of the recordings, read as a user's recordings are; sizes are labels, speeds conditions."""
    require_files(HITSM, folder)
    names = [file.name for file in HITSM.files]
    rows = [f"{name},{name[2]},{Path(name).stem.split('_')[1]}" for name in names]
    with tempfile.TemporaryDirectory() as place:
        table = Path(place) / "table.csv"
        table.write_text("\n".join(["file,size,speed", *rows]) + "\n")
        return load_recordings(
            table, folder, label="size", condition="speed", window=steps, hop=hop,
            sample_rate=_RECORDED_RATE, resample=_RATE, time=False,
        )  # fmt: skip


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class HitsmSystem:
    """Windows of eighteen recordings: faults of 2, 5 and 8 degrees on both races at 600, 900 and 1200 rpm.

    Target: the size of the fault, standardised. In training and ID windows a share `tie` is at the one speed that its size
    has there, the largest fault at the lowest speed; the rest is at others. OOD windows have every size at every speed, as
    often. Nothing is added to a recording: the tie is made by choosing windows. Training, ID and OOD windows are of
    different parts of each recording, but of the same bearings.

    x is the acceleration over the standard deviation of all training windows; proxy is the log-RMS. Reasons:
    docs/evidence/choices.md#hitsm.
    """

    folder: Path | str | None = None
    """Folder of the .mat files; None: `hitsm` in CREST_DATA."""
    tie: float = 0.95
    """Share of the windows whose size has its speed; a third is no tie at all, as OOD."""
    steps: int = 2048
    """Samples per window, at 12.8 kHz: 0.16 s, 1.6 to 3.2 turns."""
    hop: int = 512
    """Samples between the starts of neighbouring windows."""

    def __post_init__(self) -> None:
        require_fields(self, "lie in [0, 1]", "tie")
        require_fields(self, "be a whole number, 1 or more", "steps", "hop")

    def splits(self, seed: int, sizes: Sizes | None = None) -> Splits:
        """Training, ID and OOD windows of one seed, at most as many as `sizes` says and as there are with this tie."""
        sizes = sizes or Sizes()
        found = _windows(Path(self.folder or folder_of(HITSM)), self.steps, self.hop)
        parts = {name: self._chosen(found, name, getattr(sizes, name), seed) for name in _PARTS}
        scale = float(found.x[parts["train"]].std())
        return Splits(**{name: _part(found, rows, scale) for name, rows in parts.items()})

    def _chosen(self, found: Trajectories, name: str, most: int, seed: int) -> npt.NDArray[np.int64]:
        """Rows of a part of the recordings, as many of each pair of size and speed as the tie asks for."""
        numbers = rng.generator(seed, f"hitsm/{name}")
        start, stop = (share * found.extra["start"].max() for share in _PARTS[name])
        first, last = found.extra["start"], found.extra["start"] + self.steps * (name != "ood")
        inside = (first >= start) & (last <= stop)
        speeds = found.extra["condition"].astype(int)
        tie = 1 / 3 if name == "ood" else self.tie
        cells = {
            (size, speed): numbers.permutation(np.flatnonzero(inside & (found.y == size) & (speeds == speed)))
            for size in _SPEED_OF
            for speed in sorted(_SPEED_OF.values())
        }
        wanted = {(size, speed): tie if _SPEED_OF[size] == speed else (1 - tie) / 2 for size, speed in cells}
        return drawn_rows(cells, wanted, most / 3, numbers)


def _part(found: Trajectories, rows: npt.NDArray[Any], scale: float) -> Trajectories:
    part = found[rows]
    sizes = np.array(sorted(_SPEED_OF), dtype=np.float64)
    power = np.square(part.x, dtype=np.float64).mean(1)[:, 0]
    return dataclasses.replace(
        part,
        x=(part.x / scale).astype(np.float32),
        y=(part.y - sizes.mean()) / sizes.std(),
        proxy=0.5 * np.log(power),
        channels=("acceleration",),
        source="HIT-SM bearings, SpectraQuest rig, 12.8 kHz; size tied to speed",
    )
