"""CWRU bearings: windows of real drive-end recordings. Target: the diameter of the inner-race fault."""

import dataclasses
import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crest._base import rng
from crest._base.arguments import require_choice, require_fields
from crest._base.doors import door
from crest._base.floats import Floats
from crest.lab.systems.base import Sizes
from crest.lab.systems.cwru.files import RECORDINGS, RecordingFile, require_recordings
from crest.lab.systems.cwru.order_tracking import EVENT_FRACTION, track
from crest.lab.systems.cwru.recording import read_recording
from crest.recordings.trajectories import Splits, Trajectories

# Hz; the data README
SAMPLE_RATE = 12000.0


class Segment(NamedTuple):
    """Samples start to stop of one recording."""

    start: int
    stop: int


class Place(NamedTuple):
    """First sample of a window, and its recording's place in the table."""

    recording: int
    start: int


def log_rms(x: Floats) -> npt.NDArray[np.float64]:
    """Natural logarithm of the root mean square over steps: (N, T, C) to (N, C).

    Example:
        >>> log_rms(np.array([[[1.0], [-1.0], [1.0]]])).tolist()
        [[0.0]]
    """
    power = np.mean(np.square(x, dtype=np.float64), axis=1)
    if not (power > 0).all():
        raise ValueError(f"x must not be silent, got RMS 0 in trajectory {np.argwhere(power <= 0)[0][0]}")
    return np.asarray(0.5 * np.log(power))


@functools.lru_cache(maxsize=32)
def _tracked(
    path: Path, file: RecordingFile, fraction: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Signal and event mask of a file whose checksum agreed: the checksum in `file` makes the cache safe."""
    recording = read_recording(path)
    order = file.bearing.inner_race_order
    return recording.signal, track(recording.signal, SAMPLE_RATE, order, recording.rpm, fraction).events


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class CwruSystem:
    """Windows of the sixteen inner-race recordings, split by motor load or by bearing.

    split="load" is the paper's: loads other than `held_load` train and are the ID split, `held_load` is OOD.
    Each diameter is one bearing, so the same bearings are on both sides. split="bearing" holds out
    `held_diameter` at all loads instead. In both the ID windows come from time blocks of their own, at least
    `gap` samples away from any training window.

    x is the drive-end acceleration less the mean, over the standard deviation, of all training samples: one
    pair of numbers for all recordings, since the level carries information; or, `standardized`, of each window by
    itself, as is common in bearing diagnostics: nothing can then be read from the level. y is the diameter standardised
    over the training recordings, or with `size_classes` its number among the diameters; proxy the log-RMS of the window in g.
    Reasons: docs/evidence/choices.md#cwru.
    """

    folder: Path | str | None = None
    """Folder of the .mat files; None: `crest.lab.systems.cwru.files.data_folder()`."""
    split: str = "load"
    """What is held out: "load" or "bearing"."""
    held_load: int = 3
    """OOD load of split="load", hp (the paper's)."""
    held_diameter: float = 0.014
    """OOD diameter of split="bearing", inches."""
    steps: int = 1024
    """Samples per window: 2.5 turns, 14 impacts."""
    hop: int = 512
    """Samples between the starts of neighbouring windows."""
    blocks: int = 10
    """Equal time blocks that a training recording is cut into."""
    id_every: int = 5
    """One block in this many is ID."""
    gap: int = 1200
    """Training samples dropped on either side of an ID block: 0.1 s, 3 turns."""
    event_fraction: float = EVENT_FRACTION
    """Share of the time between impacts that counts as event."""
    standardized: bool = False
    """Whether each window is less its own mean and over its own standard deviation."""
    size_classes: bool = False
    """Whether the label is the class of the diameter. False: the label is the diameter itself."""
    recordings: tuple[RecordingFile, ...] = RECORDINGS
    """The files, with their labels and checksums."""

    def __post_init__(self) -> None:
        require_choice("split", self.split, ("load", "bearing"))
        require_fields(self, "be True or False", "standardized", "size_classes")
        for name, least in {"steps": 2, "hop": 1, "id_every": 2, "blocks": self.id_every, "gap": 0}.items():
            require_fields(self, f"be a whole number, {least} or more", name)
        name = "held_load" if self.split == "load" else "held_diameter"
        require_choice(name, getattr(self, name), sorted({self._condition(file) for file in self.recordings}))
        kept = {file.diameter for file in self.recordings if not self._held(file)}
        if len(kept) < 2:
            raise ValueError(f"recordings must leave two diameters to train on, got {sorted(kept)}")
        if self.size_classes and len(kept) < len(self._diameters):
            raise ValueError(
                "size_classes must be False if a diameter is held out, because no model can learn its class, got True"
            )

    @property
    def _diameters(self) -> list[float]:
        return sorted({file.diameter for file in self.recordings})

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes that the labels number, from the smallest fault on; none if the label is the diameter."""
        return tuple(f"{diameter:g} in" for diameter in self._diameters) if self.size_classes else ()

    def _condition(self, file: RecordingFile) -> float:
        return file.load if self.split == "load" else file.diameter

    def _held(self, file: RecordingFile) -> bool:
        return self._condition(file) == (self.held_load if self.split == "load" else self.held_diameter)

    def segments(self, samples: int) -> tuple[list[Segment], list[Segment]]:
        """Training and ID segments of a recording with this many samples.

        Example:
            >>> train, held = CwruSystem(blocks=5, gap=100).segments(10000)
            >>> [tuple(part) for part in train], [tuple(part) for part in held]
            ([(0, 3900), (6100, 10000)], [(4000, 6000)])
        """
        edges = np.linspace(0, samples, self.blocks + 1).astype(int).tolist()
        chosen = range(self.id_every // 2, self.blocks, self.id_every)
        held = [Segment(edges[block], edges[block + 1]) for block in chosen]
        starts = [0, *(part.stop + self.gap for part in held)]
        stops = [*(part.start - self.gap for part in held), samples]
        return [Segment(*ends) for ends in zip(starts, stops, strict=True) if ends[0] < ends[1]], held

    def _places(self, recording: int, parts: list[Segment]) -> list[Place]:
        starts = (range(part.start, part.stop - self.steps + 1, self.hop) for part in parts)
        return [Place(recording, start) for row in starts for start in row]

    def splits(self, seed: int, sizes: Sizes | None = None) -> Splits:
        """Training, ID and OOD windows of one seed, each drawn without replacement."""
        sizes = sizes or Sizes()
        folder = require_recordings(self.folder, self.recordings)
        data = [_tracked(folder / file.name, file, self.event_fraction) for file in self.recordings]
        places: dict[str, list[Place]] = {"train": [], "id": [], "ood": []}
        training: list[npt.NDArray[np.float64]] = []
        for row, (file, (signal, _)) in enumerate(zip(self.recordings, data, strict=True)):
            if self._held(file):
                places["ood"] += self._places(row, [Segment(0, len(signal))])
                continue
            train, held = self.segments(len(signal))
            places["train"] += self._places(row, train)
            places["id"] += self._places(row, held)
            training += [signal[part.start : part.stop] for part in train]
        if not all(places.values()):
            raise ValueError(f"steps must leave a window in each split, got {self.steps}, gap {self.gap}")
        pool = np.concatenate(training)
        draw = functools.partial(self._trajectories, data, pool.mean(), pool.std())
        return Splits(
            train=draw(self._drawn("train", places["train"], sizes.train, seed)),
            id=draw(self._drawn("id", places["id"], sizes.id, seed)),
            ood=draw(self._drawn("ood", places["ood"], sizes.ood, seed)),
        )

    def _drawn(self, name: str, places: list[Place], size: int, seed: int) -> npt.NDArray[np.int64]:
        """Rows (recording, start) of `size` windows in random order, none of them twice."""
        if size > len(places):
            raise ValueError(
                f"sizes.{name} must be at most the {len(places)} windows that there are "
                f"(steps {self.steps}, hop {self.hop}), got {size}"
            )
        rows = rng.generator(seed, f"cwru/{name}").permutation(len(places))[:size]
        return np.array(places, dtype=np.int64)[rows]

    def _trajectories(
        self,
        data: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]],
        mean: float | npt.NDArray[np.float64],
        deviation: float | npt.NDArray[np.float64],
        places: npt.NDArray[np.int64],
    ) -> Trajectories:
        raw = np.stack([data[row][0][start : start + self.steps] for row, start in places])[..., None]
        if self.standardized:
            mean, deviation = raw.mean(1, keepdims=True), raw.std(1, keepdims=True)
        files = [self.recordings[row] for row, _ in places]
        diameters = np.array([file.diameter for file in files])
        known = np.array([file.diameter for file in self.recordings if not self._held(file)])
        label = (diameters - known.mean()) / known.std()
        return Trajectories(
            x=((raw - mean) / deviation).astype(np.float32),
            y=np.searchsorted(self._diameters, diameters).astype(np.float64) if self.size_classes else label,
            events=np.stack([data[row][1][start : start + self.steps] for row, start in places]),
            proxy=log_rms(raw)[:, 0],
            sample_rate=SAMPLE_RATE,
            channels=("drive-end acceleration",),
            source=f"CWRU Bearing Data Center, inner-race faults, 12 kHz; split by {self.split}",
            classes=self.classes,
            extra={
                "recording": np.array([file.number for file in files]),
                "load": np.array([file.load for file in files]),
                "diameter": diameters,
                "start": places[:, 1],
                **({"label": label} if self.size_classes else {}),
            },
        )
