"""Some trajectories with every field filled."""

import numpy as np

from crest.recordings.trajectories import Trajectories


def data(n: int = 6, steps: int = 10) -> Trajectories:
    generator = np.random.default_rng(0)
    return Trajectories(
        x=generator.normal(size=(n, steps, 2)).astype(np.float32),
        y=np.arange(float(n)),
        events=generator.random((n, steps)) < 0.3,
        proxy=generator.normal(size=n),
        sample_rate=50.0,
        channels=("a", "b"),
        source="made here: ünïcode",
        extra={"core": generator.random((n, steps)) < 0.1, "name": np.array([f"r{i}" for i in range(n)])},
    )
