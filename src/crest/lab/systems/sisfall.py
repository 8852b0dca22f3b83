"""SisFall: did the person fall? In training only people who fell lie down, so posture separates falls from the rest."""

import dataclasses
import functools
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from crest._base import rng
from crest._base.arguments import require_fields
from crest._base.doors import door
from crest._base.files import whole_file
from crest.lab.systems.base import Sizes
from crest.lab.systems.public import SISFALL
from crest.lab.systems.public_files import require_files
from crest.lab.systems.tied import as_text, drawn_rows, held_out
from crest.recordings.archives import read_archive
from crest.recordings.trajectories import Splits, Trajectories

_TRIALS = "trials.npz"
PEOPLE = tuple(f"SA{number:02d}" for number in range(1, 24))
# Fixed by their numbers before any result: the first fourteen train, the others are the field. our choice: docs/evidence/choices.md#field
TRAINING_PEOPLE, FIELD_PEOPLE = PEOPLE[:14], PEOPLE[14:]
LYING = ("D12", "D13", "D14")
"""Activities that end in a lying position: sitting and lying down, lying and turning."""
_ACTIVITIES = tuple(f"D{number:02d}" for number in range(7, 20)) + tuple(
    f"F{number:02d}" for number in range(1, 16)
)
_RECORDED_RATE, _RATE, _SECONDS = 200.0, 50.0, 12
# g per count of the first accelerometer: 13 bits over 32 g.
_SCALE = 32 / 8192
# One of three training people is held out for ID trials. our choice: docs/evidence/choices.md#field
_HELD_OUT = 3
# Bytes that the trials may take in memory; they take 11 MB.
_LARGEST = 2**28


class _ShortTrialError(ValueError):
    """A file of fewer than 12 seconds."""


def read_trial(path: Path) -> npt.NDArray[np.float32]:
    """The first accelerometer of an original file in g: the middle 12 seconds at 50 Hz, (600, 3).

    Falls last longer than most activities, so that the length would tell the label: all are cut alike.
    """
    with path.open() as lines:
        numbers = [line.rstrip("; \n").split(",")[:3] for line in lines if line.strip()]
    try:
        counts = np.array(numbers, dtype=np.float64).reshape(len(numbers), 3)
    except ValueError as error:
        raise ValueError(f"{path.name} must hold three numbers or more on each line: {error}") from error
    keep, fewer = int(_RECORDED_RATE * _SECONDS), int(_RECORDED_RATE / _RATE)
    if len(counts) < keep:
        raise _ShortTrialError(f"{path.name} must hold {keep} samples or more, got {len(counts)}")
    start = (len(counts) - keep) // 2
    middle = counts[start : start + keep] * _SCALE
    trial: npt.NDArray[np.float32] = middle.reshape(-1, fewer, 3).mean(1).astype(np.float32)
    return trial


def build_trials(source: Path, folder: Path | None = None) -> Path:
    """Write `trials.npz` from the unpacked text files of SisFall; its path.

    Args:
        source: a folder with files such as SA01/F01_SA01_R01.txt, at any depth.
        folder: where to put it; `source` by default.
    """
    found = sorted(source.rglob("*_SA*_R*.txt"))
    wanted = [path for path in found if path.name[:3] in _ACTIVITIES and path.name[4:8] in PEOPLE]
    trials, kept = [], []
    for path in wanted:
        try:
            trials.append(read_trial(path))
        except _ShortTrialError:
            continue
        kept.append(path.name)
    if not trials:
        raise ValueError(
            f"source must hold text files of SisFall such as F01_SA01_R01.txt, got none in {source}"
        )
    target = (folder or source) / _TRIALS
    with whole_file(target) as file:
        np.savez_compressed(
            file,
            x=np.stack(trials).transpose(0, 2, 1).astype(np.float16),
            who=np.array([name[4:8] for name in kept]),
            what=np.array([name[:3] for name in kept]),
        )
    return target


@functools.lru_cache(maxsize=1)
def _trials(folder: Path) -> Trajectories:
    path = folder / _TRIALS
    try:
        arrays = read_archive(path, _LARGEST, lambda _: ["x", "who", "what"])
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} must hold the trials of SisFall: {error}") from error
    what = arrays["what"].astype(str)
    return Trajectories(
        x=arrays["x"].astype(np.float32).transpose(0, 2, 1),
        y=np.char.startswith(what, "F").astype(np.float64),
        sample_rate=_RATE,
        channels=("x", "y", "z"),
        source="SisFall, accelerometer at the waist in g, 50 Hz; falls tied to lying down",
        extra={"group": arrays["who"].astype(str), "activity": what},
    )


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class SisfallSystem:
    """Trials of twelve seconds of 23 adults: falls, and daily activities with and without lying down.

    Target: whether it is a fall; both classes are equally many. Of the activities of training and ID a share `tie` does not end in lying; of OOD
    activities a share `field_tie`. OOD trials are of other people. ID trials are of training people who were not trained on, drawn by
    the seed. Nothing is added to a recording. proxy is the mean of the axis along the body: its posture.
    Reasons: docs/evidence/choices.md#field.
    """

    folder: Path | str | None = None
    """Folder of `trials.npz`; None: `sisfall` in CREST_DATA."""
    tie: float = 1.0
    """Share of the activities of training and ID that stay upright; a half is no tie."""
    field_tie: float = 0.0
    """The same of OOD activities; 0: all lie down."""
    classes: tuple[str, ...] = ("activity", "fall")

    def __post_init__(self) -> None:
        require_fields(self, "lie in [0, 1]", "tie", "field_tie")

    def splits(self, seed: int, sizes: Sizes | None = None) -> Splits:
        """Training, ID and OOD trials of one seed, at most as many as `sizes` says and as there are with this tie."""
        sizes = sizes or Sizes()
        found = _trials(require_files(SISFALL, self.folder))
        who = found.extra["group"]
        apart = held_out(
            TRAINING_PEOPLE, [0.0] * len(TRAINING_PEOPLE), _HELD_OUT, rng.generator(seed, "sisfall/people")
        )
        inside = {
            "train": np.isin(who, TRAINING_PEOPLE) & ~np.isin(who, apart),
            "id": np.isin(who, apart),
            "ood": np.isin(who, FIELD_PEOPLE),
        }
        return Splits(
            **{
                name: self._part(found, name, mask, getattr(sizes, name), seed)
                for name, mask in inside.items()
            }
        )

    def _part(
        self, found: Trajectories, name: str, mask: npt.NDArray[np.bool_], most: int, seed: int
    ) -> Trajectories:
        numbers = rng.generator(seed, f"sisfall/{name}")
        lying, fell = np.isin(found.extra["activity"], LYING), found.y == 1
        tie = self.field_tie if name == "ood" else self.tie
        kinds = {"fall": fell, "upright": ~fell & ~lying, "lying": lying}
        cells = {kind: numbers.permutation(np.flatnonzero(mask & rows)) for kind, rows in kinds.items()}
        rows = drawn_rows(cells, {"fall": 1.0, "upright": tie, "lying": 1 - tie}, most / 2, numbers)
        part = found[rows]
        return dataclasses.replace(
            part,
            classes=self.classes,
            proxy=part.x[:, :, 1].mean(1, dtype=np.float64),
            extra={**part.extra, "condition": as_text((lying | fell)[rows], ("stays up", "lies down"))},
        )
