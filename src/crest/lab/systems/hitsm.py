"""HIT-SM bearings on a SpectraQuest rig: real recordings at three speeds, in training tied to the size of the fault."""

import dataclasses
import functools
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pooch

from crest._base import rng
from crest._base.arguments import require_fields
from crest._base.doors import door
from crest.lab.systems.base import Sizes
from crest.recordings.loading import load_recordings
from crest.recordings.trajectories import Splits, Trajectories

CHECKSUMS = {
    "IR2_1200.mat": "28bae33f046020f3bfb223567711ccba5d50cdd66c7a3461a4776222c46276a8",
    "IR2_600.mat": "71eac6cf1b129ceb4f074d6e3d56d5feadf8a764e8fd3a5b38e91a1bcc1645a1",
    "IR2_900.mat": "9a307bc8d61fe79f7154d50d6811f490a551228f7c57c0d02efe39bbc2c6cef2",
    "IR5_1200.mat": "72afc227e70795bb015df0aebdffa33223dc7650bb62b8046d2a32fbca01ab72",
    "IR5_600.mat": "52ac7e7aabc670a0a6de267347572e6e9110c64783b8fabe662ee407a1c754c8",
    "IR5_900.mat": "e1c5e77952fb090c7656cd91811af8bcb6512e135602b8c926d1b800a41d7cf4",
    "IR8_1200.mat": "faca72b7efe952a340a5be15ce04efe39a24b9f5c5e329d0e8cf35c59e6e2d91",
    "IR8_600.mat": "d8a3c772834a828997c89559ffdb4cba6d6f886ab99ba1c1a129080497556789",
    "IR8_900.mat": "c8720261d5feb0bb8dc83e99bb9a8875a2cb3ab6c2572995d8dea067bc48676a",
    "OR2_1200.mat": "5663525bdd773e2281167e534ec3f1b024064c9a575ca7446a1d46b2cc7a3bca",
    "OR2_600.mat": "61783f3ba7b2153bd80e586d4cc7fbb2bf5eb7f261007794faa8f542e6666489",
    "OR2_900.mat": "4b0f8e74dd0f56b01ec055a0e70b486ee619baa7d1da75ff8b36eee1f3f7bb5b",
    "OR5_1200.mat": "83d3918b67020ad91b5173fde5b0d39d0225763371fe331ee8a78aee43e361a1",
    "OR5_600.mat": "59f71b3919c3104753099155606162f14a7b194ad12ac650586377c9eb607ff8",
    "OR5_900.mat": "5fbfadce16c23cea3fb5c3a269136cc42a6744ab92cc0556c315584ec176b35b",
    "OR8_1200.mat": "008ee453e6731a87283e58d9aefa36f97b237a0b12e49adefb138b0bafe896d6",
    "OR8_600.mat": "d96d60f65fa1136ac5f56a4c4bfa531f99b12fcb3381a175ea6310928e8fb89d",
    "OR8_900.mat": "391c990aadb196b79df15cc4b6fcbcb3fa206ef2551f1777e096901bd8b8ddf4",
}
"""SHA-256 of the eighteen recordings with a fault, by name: race, size in degrees, speed in rpm."""

# Hz; the data README
_RECORDED_RATE = 51200.0
# A quarter of it: the resonances that carry the fault are below. our choice: docs/choices.md#hitsm
_RATE = 12800.0
# The largest fault at the lowest speed, as a rig that is spared would be recorded. our choice: docs/choices.md#hitsm
_SPEED_OF = {2: 1200, 5: 900, 8: 600}
# Shares of each recording. Windows do not reach from one part into the next. our choice: docs/choices.md#hitsm
_PARTS = {"train": (0.0, 0.6), "id": (0.6, 0.8), "ood": (0.8, 1.0)}


def hitsm_folder() -> Path:
    """Folder of the recordings: `hitsm` inside CREST_DATA or, where that is unset, the user's cache folder."""
    return Path(os.environ.get("CREST_DATA") or pooch.os_cache("crest")).expanduser() / "hitsm"


@functools.lru_cache(maxsize=2)
def _windows(folder: Path, steps: int, hop: int) -> Trajectories:
    """All windows of the recordings, read through the door for anybody's recordings; sizes are labels, speeds conditions."""
    for name, digest in CHECKSUMS.items():
        path = folder / name
        if not path.is_file():
            raise ValueError(f"folder must hold the recordings of HIT-SM, got {str(folder)!r} without {name}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise ValueError(f"{path} must have the published content, got another checksum")
    rows = [f"{name},{name[2]},{Path(name).stem.split('_')[1]}" for name in CHECKSUMS]
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
    docs/choices.md#hitsm.
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
        found = _windows(Path(self.folder or hitsm_folder()), self.steps, self.hop)
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
        # As many as the scarcest cell allows.
        scale = min([most / 3, *(len(cells[cell]) / share for cell, share in wanted.items() if share > 0)])
        rows = [cells[cell][: round(scale * share)] for cell, share in wanted.items()]
        return numbers.permutation(np.concatenate(rows))


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
