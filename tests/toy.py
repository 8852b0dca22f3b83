"""Small things to train on: a learnable problem, and the spec of a run that takes a tenth of a second."""

from typing import Any

import numpy as np

from crest.lab.runs.spec import RunSpec
from crest.lab.systems import Sizes
from crest.lab.training import Schedule
from crest.recordings import Trajectories

STEPS = 24


def toy(n: int = 32, seed: int = 0, *, events: bool = True, proxy: bool = True) -> Trajectories:
    """The label is the height of a short event; a second channel hints at it all the time."""
    draw = np.random.default_rng(seed)
    y = draw.normal(size=n)
    starts = draw.integers(0, STEPS - 3, size=n)
    inside = (np.arange(STEPS) >= starts[:, None]) & (np.arange(STEPS) < starts[:, None] + 3)
    x = 0.05 * draw.normal(size=(n, STEPS, 2))
    x[..., 0] += inside * (2 + y[:, None])
    x[..., 1] += 0.5 * y[:, None]
    parts: dict[str, Any] = {"events": inside if events else None, "proxy": y.copy() if proxy else None}
    return Trajectories(x=x.astype(np.float32), y=y, sample_rate=1.0, channels=("a", "b"), **parts)


TINY = {"steps": 128, "burn_in": 10, "substeps": 4}


def tiny_spec(**changes: Any) -> RunSpec:
    """A run of 16 short gear trajectories over two epochs."""
    fields: dict[str, Any] = {
        "system": "gear",
        "system_options": TINY,
        "readout": "crest",
        "seed": 1000,
        "sizes": Sizes(train=16, id=8, ood=8),
        "schedule": Schedule(epochs=2, batch=8),
    }
    return RunSpec(**{**fields, **changes})
