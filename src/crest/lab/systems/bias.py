"""Labels of the simulators and their collection bias: a smooth cue that follows the label, until it does not."""

import dataclasses
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crest._base.arguments import require
from crest.recordings.trajectories import Trajectories

# our choice: docs/evidence/choices.md#cue
CUE_CLIP = 2.5


class Labels(NamedTuple):
    """Labels and cue of n trajectories."""

    share: npt.NDArray[np.float64]
    """The label's place in its range, uniform in [0, 1]."""
    y: npt.NDArray[np.float64]
    """The same, with mean 0 and variance 1."""
    cue: npt.NDArray[np.float64]
    """The smooth cue, variance close to 1, clipped to +-2.5."""


def biased_labels(n: int, generator: np.random.Generator, correlation: float, broken: bool) -> Labels:
    """Labels with a cue of the given correlation, or, `broken`, with the same cue of another label.

    Out of distribution the cue is built from an independent copy of the label, so that its marginal law is
    exactly that of training: only the link between the two is gone.

    Example:
        >>> seen = biased_labels(1000, np.random.default_rng(0), -0.9, broken=False)
        >>> unseen = biased_labels(1000, np.random.default_rng(0), -0.9, broken=True)
        >>> [round(float(np.corrcoef(labels.y, labels.cue)[0, 1]), 1) + 0.0 for labels in (seen, unseen)]
        [-0.9, 0.0]
    """
    require("cue_correlation", correlation, "lie in [-1, 1]")
    share, other = generator.random(n), generator.random(n)
    noise = generator.standard_normal(n)
    y, stranger = ((2 * place - 1) * np.sqrt(3) for place in (share, other))
    cue = correlation * (stranger if broken else y) + np.sqrt(1 - correlation**2) * noise
    return Labels(share, y, np.clip(cue, -CUE_CLIP, CUE_CLIP))


def by_class(
    data: Trajectories,
    share: npt.NDArray[np.float64],
    threshold: float | None,
    names: tuple[str, ...],
) -> Trajectories:
    """The same trajectories with a class for a label: the second from `threshold` of the label's range on, else the first.

    The signals, events and cue stay as they are, and `extra["label"]` keeps the number. Without a threshold nothing changes.

    Args:
        data: trajectories whose label is a number.
        share: (N,), the place of each label in its range, as in `Labels`.
        threshold: in (0, 1); 0.5 is the median.
        names: of the two classes.

    Example:
        >>> data = Trajectories(x=np.zeros((2, 4, 1)), y=np.array([-1.0, 1.0]), sample_rate=1.0, channels=("a",))
        >>> by_class(data, np.array([0.2, 0.8]), 0.5, ("no fault", "fault")).y
        array([0., 1.])
    """
    if threshold is None:
        return data
    return dataclasses.replace(
        data,
        y=(share >= threshold).astype(np.float64),
        classes=names,
        source=f"{data.source}, {names[1]} from {threshold:g} of its range on",
        extra={**data.extra, "label": data.y},
    )
