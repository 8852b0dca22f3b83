"""Is the target in the events? A hand-designed reader of the event windows, beside one of global statistics.

The event reader sees the event masks and knows the physics, so it is a floor and a sanity check, not a
competitor: a regime in which it fails is not used. Its features are quantities that depend little on the cue;
global statistics are what a pooled reader has. Both are read by ridge regression on the training split.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from crest._base.arguments import require
from crest._base.doors import door
from crest._base.floats import Floats
from crest.recordings.trajectories import Splits, Trajectories

SURROUNDINGS = 8.0
"""Standard deviation, in steps, of the average that an event is compared with: two engagements wide."""

FeatureMap: TypeAlias = Callable[[Trajectories], Floats]
"""A function from trajectories to hand-designed features, one row per trajectory."""


class Errors(NamedTuple):
    """Root mean square errors of one reader: never one without the other."""

    id: float
    ood: float


def gear_features(data: Trajectories) -> Floats:
    """How far the transmission error moves while the faulty tooth is engaged, (N, 3).

    In units of the transmission error around it, which is its yardstick for the load: the plateau that the
    lost stiffness leads to (the mean of the upper half of the rise), its highest and its lowest point. The
    plateau is nearly static, so it depends little on the speed; the two transients tell how much.
    """
    events = _events(data)
    error = data.x[..., 0].astype(float) / 10 + 1
    rise = np.where(events, error / _surroundings(error, events) - 1, 0.0)
    high, low = rise.max(1), rise.min(1)
    plateau = _mean(rise, rise > 0.5 * high[:, None])
    return np.stack([plateau, high, low], axis=1)


def impact_features(data: Trajectories) -> Floats:
    """Logs of the time in which a contact turns the velocity around and of the speed kept, (N, 2).

    A contact is half a period of the mass on the wall: its length falls with the root of the stiffness,
    however hard the drive pushes.
    """
    events = _events(data)
    velocity = data.x[..., 1].astype(float)
    lost = np.where(events, -np.diff(velocity, axis=1, prepend=velocity[:, :1]), 0.0)
    starts = np.diff(events.astype(int), axis=1, prepend=0) == 1
    contacts = np.maximum(starts.sum(1), 1)
    # As many steps as would lose all of it if each lost the same.
    steps = lost.sum(1) ** 2 / (contacts * (lost**2).sum(1))
    approach = np.where(events, velocity, -np.inf).max(1)
    rebound = -np.where(events, velocity, np.inf).min(1)
    small = 1e-3
    return np.stack(
        [
            np.log(np.maximum(steps, small)),
            np.log(np.maximum(rebound, small) / np.maximum(approach, small)),
        ],
        axis=1,
    )


def _surroundings(signal: Floats, events: npt.NDArray[np.bool_]) -> Floats:
    """The signal's level around each step, (N, T): a Gaussian average over the steps outside of events."""
    outside = (~events).astype(float)
    weight = gaussian_filter1d(outside, SURROUNDINGS, axis=1)
    level = gaussian_filter1d(signal * outside, SURROUNDINGS, axis=1)
    return np.asarray(level / np.maximum(weight, 1e-9))


@door
def global_features(data: Trajectories) -> Floats:
    """Mean and spread of every channel over all steps, (N, 2 C): what averaging leaves."""
    x = data.x.astype(float)
    return np.concatenate([x.mean(1), x.std(1)], axis=1)


EVENT_FEATURES: dict[str, FeatureMap] = {
    "gear": gear_features,
    "impact": impact_features,
}
"""The hand-designed features of each simulator, by its name."""


@door
def read_by_ridge(splits: Splits, features: FeatureMap, degree: int = 1) -> Errors:
    """Errors of ridge regression on the features and their products up to `degree`, fitted on training."""
    reader = make_pipeline(
        StandardScaler(),
        PolynomialFeatures(degree, include_bias=False),
        StandardScaler(),
        RidgeCV(alphas=np.logspace(-4, 3, 15)),
    )
    require("degree", degree, "be a whole number, 1 or more")

    def read(split: Trajectories) -> Floats:
        values = features(split)
        if not isinstance(values, np.ndarray) or values.ndim != 2 or len(values) != len(split):
            raise ValueError(f"features must return an array of shape (N, F), N = {len(split)}")
        return values

    reader.fit(read(splits.train), splits.train.y)
    rms = [
        float(np.sqrt(np.mean((reader.predict(read(split)) - split.y) ** 2)))
        for split in (splits.id, splits.ood)
    ]
    return Errors(*rms)


def _events(data: Trajectories) -> npt.NDArray[np.bool_]:
    if data.events is None or not data.events.any(1).all():
        raise ValueError("events must mark at least one step of every trajectory")
    return data.events


def _mean(values: Floats, where: npt.NDArray[np.bool_]) -> Floats:
    return np.asarray((values * where).sum(1) / np.maximum(where.sum(1), 1))
