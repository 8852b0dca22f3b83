"""What simulators share: how many trajectories a split has, and the three splits of one seed."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from crest._base import rng
from crest._base.arguments import require_fields
from crest._base.doors import door
from crest.recordings.trajectories import Splits, Trajectories


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """Trajectories per split; by default the paper's numbers."""

    train: int = 1024
    id: int = 256
    ood: int = 256

    def __post_init__(self) -> None:
        require_fields(self, "be a whole number, 1 or more", "train", "id", "ood")


def simulated_splits(
    system: str,
    trajectories: Callable[[int, np.random.Generator, bool], Trajectories],
    seed: np.integer[Any] | int,
    sizes: Sizes | None = None,
) -> Splits:
    """The three splits of a simulator, whose `trajectories(n, generator, broken)` makes one of them."""
    sizes = sizes or Sizes()
    return Splits(
        train=trajectories(sizes.train, rng.generator(seed, f"{system}/train"), False),
        id=trajectories(sizes.id, rng.generator(seed, f"{system}/id"), False),
        ood=trajectories(sizes.ood, rng.generator(seed, f"{system}/ood"), True),
    )
