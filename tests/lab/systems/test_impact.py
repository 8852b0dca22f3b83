import numpy as np
import pytest

from crest.lab.systems import GearSystem, ImpactSystem, Sizes
from crest.recordings import Trajectories
from crest.recordings.trajectories import correlation

SMALL = Sizes(train=48, id=16, ood=16)


def drawn(system: GearSystem | ImpactSystem, n: int = 16) -> Trajectories:
    """Trajectories whose random numbers are the same for every setting of the sensors."""
    return system.trajectories(n, np.random.default_rng(1000))


QUIET = {"response_noise": 0.0, "cue_noise": 0.0}


def test_the_accelerometer_saturates_before_its_amplifier_drifts() -> None:
    def acceleration(**changes: float) -> np.ndarray:
        return drawn(ImpactSystem(**QUIET, **changes)).x[..., 2].astype(float)

    true, seen = acceleration(drift=0.0, sensor_range=1e6), acceleration(drift=0.0)
    assert np.abs(true).max() > 0.5
    np.testing.assert_allclose(seen, np.clip(true, -0.3, 0.3), atol=1e-6)
    assert (np.abs(seen) > 0.299).mean() > 0.01
    # The drift goes on top, whatever the sensor gave, and is not cut.
    drift = acceleration() - seen
    np.testing.assert_allclose(acceleration(sensor_range=1e6) - true, drift, atol=1e-5)
    assert np.abs(acceleration()).max() > 0.5
    assert 0.5 < np.abs(drift).max() <= 1


def test_the_zero_of_the_position_is_each_trajectorys_own() -> None:
    def position(offset: float) -> np.ndarray:
        return drawn(ImpactSystem(**QUIET, position_offset=offset), n=64).x[..., 0].astype(float)

    true = position(0.0)
    shift = position(1.0) - true
    np.testing.assert_allclose(shift, shift[:, :1] + np.zeros(512), atol=1e-6)
    assert np.abs(shift).max() <= 1
    assert shift.min() < -0.5
    assert shift.max() > 0.5
    np.testing.assert_allclose(position(2.0) - true, 2 * shift, atol=1e-6)


def test_without_an_offset_a_position_beyond_the_gap_is_a_contact() -> None:
    data = drawn(ImpactSystem(**QUIET, position_offset=0.0))
    core, beyond = data.extra["core"], data.x[..., 0] > 0.5 + 1e-6
    assert core[beyond].all()
    assert beyond.any(axis=1).all()
    shifted = drawn(ImpactSystem(**QUIET))
    assert not shifted.extra["core"][shifted.x[..., 0] > 0.5 + 1e-6].all()


def test_impact_events_are_contacts_with_a_halo_and_the_core_is_narrower() -> None:
    system = ImpactSystem()
    data = system.splits(1000, SMALL).train
    core = data.extra["core"]
    assert core.mean() < 0.7 * data.events.mean()
    assert (data.events | ~core).all()
    pattern = np.zeros((1, 12), dtype=bool)
    pattern[0, 5] = True
    assert system.events(pattern)[0].astype(int).tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0]
    x, v, _, _, force, touched = system.simulate(np.array([0.8]), np.array([100.0]), np.array([0.0]))[0].T
    pushing = (x > 0.5) & (100.0 * (x - 0.5) + 0.2 * 10.0 * v > 0)
    np.testing.assert_array_equal(force > 0, pushing)
    assert (touched[pushing] == 1).all()
    assert touched.sum() <= pushing.sum() + 2 * (np.diff(pushing.astype(int)) != 0).sum()


def test_a_wall_out_of_reach_is_refused() -> None:
    with pytest.raises(ValueError, match="gap must be within reach of the drive, got 8 of 8 trajectories"):
        ImpactSystem(gap=10.0).splits(1000, Sizes(train=8, id=4, ood=4))


def test_impact_cue_is_the_drive() -> None:
    data = ImpactSystem().splits(1000, Sizes(train=128)).train
    assert correlation(np.log(data.extra["amplitude"]), data.proxy) == pytest.approx(1)
    assert correlation(data.x[..., 3].std(1), data.proxy) > 0.85
    assert correlation(data.extra["log_stiffness"], data.y) == pytest.approx(1)


def test_an_overdamped_wall_is_refused() -> None:
    with pytest.raises(ValueError, match=r"wall_damping must leave the contact underdamped, got 2\.5"):
        ImpactSystem(wall_damping=2.5)
