"""The trajectories of a run: made once, shared by every run and process that needs the same."""

import contextlib
import fcntl
import functools
from pathlib import Path

from crest._base.files import held_folder
from crest.lab.runs.spec import RunSpec
from crest.lab.systems import make_system
from crest.recordings import Splits, load, save

_PARTS = ("train", "id", "ood")
_PREFIX = "crest-data-"
_latest: dict[str, Splits] = {}


def shared_folder() -> contextlib.AbstractContextManager[Path]:
    """A temporary folder for trajectories; those that killed processes left behind are removed first."""
    return held_folder(_PREFIX)


def splits_of(spec: RunSpec, folder: Path | None = None) -> Splits:
    """Training, ID and OOD trajectories of a run.

    Args:
        spec: names them by system, parameters, sizes and seed; the model has no say.
        folder: where processes share them: the first that needs some makes them, the others wait and read.
            If the folder has no room, each makes its own.
    """
    if folder is None:
        return _remembered(spec)
    place = folder / spec.data_key
    try:
        place.mkdir(parents=True, exist_ok=True)
        # Blocking: to wait for a neighbour who simulates is cheaper than to simulate the same. The kernel lets go of the
        # lock of a killed process, and what it left half done is made again.
        with (place / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not all((place / f"{part}.npz").exists() for part in _PARTS):
                made = _make(spec)
                for part in _PARTS:
                    save(getattr(made, part), place / f"{part}.npz")
    except OSError:  # a full disk costs time here, and no run
        return _remembered(spec)
    return _load(place)


def _make(spec: RunSpec) -> Splits:
    return make_system(spec.system, spec.regime, **spec.system_options).splits(spec.seed, spec.sizes)


def _remembered(spec: RunSpec) -> Splits:
    """The trajectories that this process made last, or new ones: runs with the same data follow each other."""
    # One only: a thousand trajectories take megabytes, and a worker may live for days.
    if spec.data_key not in _latest:
        _latest.clear()
        _latest[spec.data_key] = _make(spec)
    return _latest[spec.data_key]


@functools.lru_cache(maxsize=1)
def _load(place: Path) -> Splits:
    return Splits(**{part: load(place / f"{part}.npz") for part in _PARTS})
