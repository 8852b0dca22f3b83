"""The trajectories of a run: made once, shared by every run and process that needs the same."""

import fcntl
import functools
from pathlib import Path

from crest.experiments.spec import RunSpec
from crest.systems import Splits, load, make_system, save

_PARTS = ("train", "id", "ood")


def splits_of(spec: RunSpec, folder: Path | None = None) -> Splits:
    """Training, ID and OOD trajectories of a run.

    Args:
        spec: names them by system, parameters, sizes and seed; the model has no say.
        folder: where processes share them: the first that needs some makes them, the others wait and read.
    """
    if folder is None:
        return _make(spec)
    place = folder / spec.data_key
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((place / f"{part}.npz").exists() for part in _PARTS):
            made = _make(spec)
            for part in _PARTS:
                save(getattr(made, part), place / f"{part}.npz")
    return _load(place)


def _make(spec: RunSpec) -> Splits:
    return make_system(spec.system, spec.regime, **spec.system_options).splits(spec.seed, spec.sizes)


@functools.lru_cache(maxsize=1)
def _load(place: Path) -> Splits:
    return Splits(**{part: load(place / f"{part}.npz") for part in _PARTS})
