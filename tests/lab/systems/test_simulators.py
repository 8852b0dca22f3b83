"""What both simulators promise: labels, cue, events and seeds."""

import dataclasses

import numba
import numpy as np
import pytest

from crest.lab.systems import SIMULATORS, GearSystem, ImpactSystem, Sizes

SMALL = Sizes(train=48, id=16, ood=16)


@pytest.mark.parametrize("system", SIMULATORS)
def test_a_split_has_the_declared_form(system: str) -> None:
    splits = SIMULATORS[system]().splits(1000, SMALL)
    for name, size in dataclasses.asdict(SMALL).items():
        data = getattr(splits, name)
        assert data.x.shape == (size, 512, len(data.channels))
        assert data.x.dtype == np.float32
        assert data.events.any(axis=1).all()
        assert 0.03 < data.events.mean() < 0.2
        assert data.sample_rate > 0


def test_default_sizes_are_the_papers() -> None:
    splits = GearSystem(steps=16, burn_in=0, substeps=2).splits(1000)
    assert (len(splits.train), len(splits.id), len(splits.ood)) == (1024, 256, 256)


@pytest.mark.parametrize("system", SIMULATORS)
def test_the_same_seed_gives_the_same_bits_whatever_the_threads(system: str) -> None:
    threads = numba.get_num_threads()
    first = SIMULATORS[system]().splits(1000, SMALL)
    try:
        numba.set_num_threads(1)
        again = SIMULATORS[system]().splits(1000, SMALL)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(first.train.x, again.train.x)
    np.testing.assert_array_equal(first.ood.y, again.ood.y)
    other = SIMULATORS[system]().splits(1001, SMALL)
    assert not np.array_equal(first.train.x, other.train.x)
    assert not np.array_equal(first.train.y[:16], first.id.y)


@pytest.mark.parametrize(
    ("system", "change", "message"),
    [
        (GearSystem, {"steps": 1}, "steps must be a whole number, 2 or more, got 1"),
        (GearSystem, {"teeth": 0}, "teeth must be a whole number, 2 or more, got 0"),
        (GearSystem, {"engagement_edge": 0.7}, r"engagement_edge must lie in \(0, 0\.5\], got 0\.7"),
        (GearSystem, {"natural_frequency": 2e4}, "substeps must resolve natural_frequency"),
        (GearSystem, {"nominal_speed": 6000.0}, "sample_rate must resolve the tooth-pass frequency"),
        (ImpactSystem, {"center": 10.0}, "center .* half_range must leave contacts longer than a sample"),
        (ImpactSystem, {"damping": 1.9, "wall_damping": 1.99, "center": 0.0}, "wall_damping must leave"),
        (ImpactSystem, {"damping": 0.0}, r"damping must be positive, got 0\.0"),
        (GearSystem, {"substeps": 0}, "substeps must be a whole number, 1 or more, got 0"),
        (GearSystem, {"sample_rate": float("nan")}, "sample_rate must be positive, got nan"),
        (GearSystem, {"damping": -0.1}, r"damping must be 0 or more, got -0\.1"),
        (GearSystem, {"worn_teeth": 13}, "worn_teeth must be at most teeth = 12, got 13"),
        (GearSystem, {"worn_teeth": 9, "teeth": 8}, "worn_teeth must be at most teeth = 8, got 9"),
        (GearSystem, {"worn_teeth": 0}, "worn_teeth must be a whole number, 1 or more, got 0"),
        (ImpactSystem, {"sensor_range": 0.0}, r"sensor_range must be positive, got 0\.0"),
        (ImpactSystem, {"position_offset": -0.5}, r"position_offset must be 0 or more, got -0\.5"),
        (GearSystem, {"stiffness_loss": 1.5}, r"stiffness_loss must lie in \[0, 1\], got 1\.5"),
        (ImpactSystem, {"halo": -1}, "halo must be a whole number, 0 or more, got -1"),
        (ImpactSystem, {"drive_frequency": 0.0}, r"drive_frequency must be positive, got 0\.0"),
        (ImpactSystem, {"gap": float("inf")}, "gap must be 0 or more, got inf"),
        (ImpactSystem, {"center": float("nan")}, "center must be finite, got nan"),
        (ImpactSystem, {"damping": 2.0}, r"damping must leave the oscillator underdamped, below 2, got 2\.0"),
    ],
)
def test_bad_parameters_are_refused_by_name(system: type, change: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        system(**change)


@pytest.mark.parametrize("system", SIMULATORS)
def test_a_threshold_makes_classes_of_the_same_trajectories(system: str) -> None:
    numbers, classes = (SIMULATORS[system](threshold=at).splits(1000, SMALL) for at in (None, 0.5))
    assert numbers.train.classes == ()
    assert len(classes.train.classes) == 2
    for name in ("train", "id", "ood"):
        one, two = getattr(numbers, name), getattr(classes, name)
        for same in ("x", "events", "proxy"):
            np.testing.assert_array_equal(getattr(one, same), getattr(two, same))
        # The median of the label is 0, since it is uniform around it.
        np.testing.assert_array_equal(two.y, one.y >= 0)
        np.testing.assert_array_equal(two.extra["label"], one.y)
    assert SIMULATORS[system](threshold=0.9).splits(1000, SMALL).train.y.mean() < 0.3
    with pytest.raises(ValueError, match=r"threshold must lie in \(0, 1\), got 1\.0"):
        SIMULATORS[system](threshold=1.0)
