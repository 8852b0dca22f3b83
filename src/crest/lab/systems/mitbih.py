"""MIT-BIH arrhythmia recordings: is there a premature beat in these ten seconds? Baseline wander is tied to it in training."""

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
from crest._base.floats import Floats
from crest.lab.systems.base import Sizes
from crest.lab.systems.public import MITBIH
from crest.lab.systems.public_files import require_files
from crest.lab.systems.tied import as_text, held_out, tied_rows
from crest.recordings.loading import load_recordings
from crest.recordings.trajectories import Splits, Trajectories

# Patients apart, as in de Chazal et al. (2004), but for one man: 201 and 202 are his. The four paced records are not used.
TRAINING_RECORDS = (
    "101", "106", "108", "109", "112", "114", "115", "116", "118", "119", "122",
    "124", "201", "203", "205", "207", "208", "209", "215", "220", "223", "230",
)  # fmt: skip
FIELD_RECORDS = (
    "100", "103", "105", "111", "113", "117", "121", "123", "200", "202", "210",
    "212", "213", "214", "219", "221", "222", "228", "231", "232", "233", "234",
)  # fmt: skip
# A quarter of the recorded 360 Hz: what a premature beat looks like is below 45 Hz. our choice: docs/evidence/choices.md#field
_RATE = 90.0
_SECONDS = 10
# The lead that all of them have. our choice: docs/evidence/choices.md#field
_LEAD = "MLII"
# Seconds: the length of a ventricular beat, centred on the annotated sample. our choice: docs/evidence/choices.md#field
_BEAT = 0.15
# Hz: below it is baseline wander, the limit that electrocardiographs filter at.
_WANDER = 0.5
# One of three training patients is held out for ID windows. our choice: docs/evidence/choices.md#field
_HELD_OUT = 3


@functools.lru_cache(maxsize=1)
def _windows(folder: Path) -> Trajectories:
    """All windows of the 44 records, read as a user's recordings are; patients are conditions until a tie is made."""
    rows = [f"{name}.hea,0,{name},{name}.atr:V:{_BEAT}" for name in (*TRAINING_RECORDS, *FIELD_RECORDS)]
    steps = int(_SECONDS * _RATE)
    with tempfile.TemporaryDirectory() as place:
        table = Path(place) / "table.csv"
        table.write_text("\n".join(["file,label,record,events", *rows]) + "\n")
        return load_recordings(
            table, folder, condition="record", events="events", window=steps, hop=steps, resample=_RATE,
            time=False, columns=(_LEAD,),
        )  # fmt: skip


def wander_of(x: Floats, rate: float) -> npt.NDArray[np.float64]:
    """Standard deviation of each window below 0.5 Hz (N,), of its first channel.

    Example:
        >>> time = np.arange(900) / 90
        >>> wander_of(np.sin(2 * np.pi * 0.2 * time).reshape(1, -1, 1), 90.0).round(3)
        array([0.707])
    """
    spectrum = np.fft.rfft(x[:, :, 0].astype(np.float64), axis=1)
    slow = np.fft.rfftfreq(x.shape[1], 1 / rate) < _WANDER
    slow[0] = False
    wander: npt.NDArray[np.float64] = np.sqrt(2 * np.square(np.abs(spectrum[:, slow])).sum(1)) / x.shape[1]
    return wander


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class MitbihSystem:
    """Windows of ten seconds of 44 half-hour recordings, lead MLII at 90 Hz.

    Target: whether the window has a premature ventricular beat, which an expert annotated; both classes are equally many. Events:
    those beats. In training and ID windows a share `tie` has its class's wander: premature beats where it is large, none
    where it is small. OOD windows are of other patients, a share `field_tie` of them so. ID windows are of training patients
    who were not trained on, drawn by the seed. Nothing is added to a recording: the tie is made by choosing windows.

    proxy is the logarithm of the wander. Its median over the windows of all training patients parts large from small.
    Reasons: docs/evidence/choices.md#field.
    """

    folder: Path | str | None = None
    """Folder of the records; None: `mitbih` in CREST_DATA."""
    tie: float = 0.95
    """Share of training and ID windows whose wander goes with the class; a half is no tie."""
    field_tie: float = 0.0
    """The same of OOD windows; 0 is the tie reversed."""
    classes: tuple[str, ...] = ("regular", "premature beat")

    def __post_init__(self) -> None:
        require_fields(self, "lie in [0, 1]", "tie", "field_tie")

    def splits(self, seed: int, sizes: Sizes | None = None) -> Splits:
        """Training, ID and OOD windows of one seed, at most as many as `sizes` says and as there are with this tie."""
        sizes = sizes or Sizes()
        found = _windows(require_files(MITBIH, self.folder))
        record = found.extra["condition"]
        has_event = _with_event(found)
        wander = wander_of(found.x, found.sample_rate)
        training = np.isin(record, TRAINING_RECORDS)
        large = np.asarray(wander > np.median(wander[training]), dtype=np.bool_)
        beats = [float(has_event[record == name].sum()) for name in TRAINING_RECORDS]
        apart = held_out(TRAINING_RECORDS, beats, _HELD_OUT, rng.generator(seed, "mitbih/patients"))
        inside = {"train": training & ~np.isin(record, apart), "id": np.isin(record, apart), "ood": ~training}
        parts = {}
        for name, mask in inside.items():
            rows = np.flatnonzero(mask)
            tie = self.field_tie if name == "ood" else self.tie
            drawn = tied_rows(
                has_event[rows], large[rows], tie, getattr(sizes, name), rng.generator(seed, f"mitbih/{name}")
            )
            parts[name] = self._part(found, rows[drawn], wander, large)
        return Splits(**parts)

    def _part(
        self, found: Trajectories, rows: npt.NDArray[Any], wander: Floats, large: npt.NDArray[np.bool_]
    ) -> Trajectories:
        part = found[rows]
        return dataclasses.replace(
            part,
            y=_with_event(part).astype(np.float64),
            classes=self.classes,
            proxy=np.log(wander[rows] + 1e-6),
            source="MIT-BIH arrhythmia database, 90 Hz; premature beats tied to baseline wander",
            extra={
                **part.extra,
                "group": part.extra["condition"],
                "condition": as_text(large[rows], ("small wander", "large wander")),
            },
        )


def _with_event(found: Trajectories) -> npt.NDArray[np.bool_]:
    """Whether each window has a premature beat (N,)."""
    if found.events is None:
        raise ValueError("found must have events, got none")
    return np.asarray(found.events.any(axis=1), dtype=np.bool_)
