"""The level alone: known answers on made splits, and the data README's numbers on the real files."""

import dataclasses

import numpy as np
import pytest

from crest.lab.systems.cwru import CwruSystem
from crest.lab.systems.cwru.rms_baselines import rms_baselines
from crest.recordings.trajectories import Splits, Trajectories
from real_recordings import FOLDER, real


def levels(y: np.ndarray, level: np.ndarray) -> Trajectories:
    sign = np.where(np.arange(8) % 2, 1.0, -1.0)
    x = (np.exp(level)[:, None] * sign)[..., None]
    return Trajectories(x=x, y=y, sample_rate=1.0, channels=("a",))


def test_a_linear_law_is_read_by_the_linear_reader() -> None:
    y = np.linspace(-1, 1, 50)
    splits = Splits(train=levels(y, 2 * y + 1), id=levels(y, 2 * y + 1), ood=levels(y + 10, 2 * y + 1))
    linear, nearest = rms_baselines(splits, neighbours=1)
    assert (linear.reader, nearest.reader) == ("linear", "1-nearest")
    assert linear.id == pytest.approx(0.0, abs=1e-9)
    assert linear.ood == pytest.approx(10.0)
    assert (nearest.id, nearest.ood) == (pytest.approx(0.0, abs=1e-9), pytest.approx(10.0))


def test_only_the_neighbours_read_a_level_that_is_not_monotone() -> None:
    y = np.repeat([-1.0, 0.0, 1.0], 20)
    data = levels(y, np.repeat([0.5, 0.0, 0.6], 20))
    linear, nearest = rms_baselines(Splits(train=data, id=data, ood=data), neighbours=20)
    assert linear.id > 0.7
    assert nearest.id == pytest.approx(0.0, abs=1e-9)


def test_neighbours_are_checked() -> None:
    data = levels(np.arange(3.0), np.arange(3.0))
    with pytest.raises(ValueError, match=r"neighbours must be a whole number in \[1, 3\], got 4"):
        rms_baselines(Splits(train=data, id=data, ood=data), neighbours=4)


def test_numbers_of_classes_are_no_levels_to_be_read() -> None:
    data = dataclasses.replace(levels(np.arange(3.0), np.arange(3.0)), classes=("a", "b", "c"))
    with pytest.raises(ValueError, match="splits must have numbers for labels, got the classes a, b, c"):
        rms_baselines(Splits(train=data, id=data, ood=data), neighbours=1)


@real
def test_the_held_load_does_not_break_the_level() -> None:
    linear, nearest = rms_baselines(CwruSystem(folder=FOLDER).splits(1000))
    assert linear.ood == pytest.approx(0.641, abs=0.03)
    assert linear.id == pytest.approx(0.615, abs=0.03)
    assert nearest.id < 0.02
    assert nearest.ood < 0.02


@real
def test_the_held_bearing_does() -> None:
    linear, nearest = rms_baselines(CwruSystem(folder=FOLDER, split="bearing").splits(1000))
    # A constant at the training mean has 0.535: both readers do worse than knowing nothing.
    assert linear.ood == pytest.approx(1.82, abs=0.06)
    assert nearest.ood == pytest.approx(0.80, abs=0.02)
    assert nearest.id < 0.02
