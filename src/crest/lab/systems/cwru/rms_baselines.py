"""What the level alone achieves: log-RMS with a linear and with a nearest-neighbour reader."""

from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from crest._base.arguments import require
from crest._base.floats import Floats
from crest.lab.systems.cwru.system import log_rms
from crest.recordings.trajectories import Splits

# The data README's reader
NEIGHBOURS = 15


class BaselineScore(NamedTuple):
    """Root-mean-square error of one reader, in units of the standardised target."""

    reader: str
    id: float
    ood: float


def rms_baselines(splits: Splits, neighbours: int = NEIGHBOURS) -> tuple[BaselineScore, BaselineScore]:
    """Errors of the linear and of the nearest-neighbour reader, fitted on the training windows.

    Both read one number per channel, the log-RMS of the window: no order in time, no event. A model that does
    no better than these has learned nothing that the level does not say.
    """
    if splits.train.classes:
        raise ValueError(
            f"splits must have numbers for labels, got the classes {', '.join(splits.train.classes)}"
        )
    require("neighbours", neighbours, f"be a whole number in [1, {len(splits.train)}]")
    readers = {"linear": LinearRegression(), f"{neighbours}-nearest": KNeighborsRegressor(neighbours)}
    level = {"train": log_rms(splits.train.x), "id": log_rms(splits.id.x), "ood": log_rms(splits.ood.x)}
    scores = []
    for name, reader in readers.items():
        reader.fit(level["train"], splits.train.y)
        scores.append(
            BaselineScore(
                name,
                root_mean_square_error(reader.predict(level["id"]), splits.id.y),
                root_mean_square_error(reader.predict(level["ood"]), splits.ood.y),
            )
        )
    return scores[0], scores[1]


def root_mean_square_error(predicted: Floats, wanted: Floats) -> float:
    """Root of the mean squared difference.

    Example:
        >>> root_mean_square_error(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
        2.0
    """
    return float(np.sqrt(np.mean((predicted - wanted) ** 2)))
