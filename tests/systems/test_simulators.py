"""What both simulators promise: labels, cue, events and seeds."""

import dataclasses

import numba
import numpy as np
import pytest
from scipy.stats import ks_2samp

from crest.systems import OUTSIDE, REGIMES, SIMULATORS, GearSystem, ImpactSystem, Sizes, Trajectories, regime
from crest.systems.base import correlation
from crest.systems.bias import biased_labels

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


@pytest.mark.parametrize("correlated", [-0.99, 0.985, 0.5])
def test_only_the_link_between_label_and_cue_is_broken(correlated: float) -> None:
    n = 20_000
    seen = biased_labels(n, np.random.default_rng(0), correlated, broken=False)
    unseen = biased_labels(n, np.random.default_rng(1), correlated, broken=True)
    assert correlation(seen.y, seen.cue) == pytest.approx(correlated, abs=0.01)
    assert abs(correlation(unseen.y, unseen.cue)) < 0.03
    for name in ("y", "cue"):
        a, b = getattr(seen, name), getattr(unseen, name)
        assert ks_2samp(a, b).pvalue > 0.01
        assert (a.mean(), a.std()) == pytest.approx((0, 1), abs=0.02)
    assert np.abs(seen.cue).max() <= 2.5


def test_the_correlation_is_checked() -> None:
    with pytest.raises(ValueError, match=r"cue_correlation must lie in \[-1, 1\], got 1.2"):
        GearSystem(cue_correlation=1.2).splits(1000, SMALL)


def test_the_gear_cue_is_its_speed_and_the_average_reads_it() -> None:
    data = GearSystem().splits(1000, Sizes(train=128)).train
    assert correlation(data.x[..., 2].mean(1), data.proxy) > 0.98
    assert correlation(data.x[:, 100, 2], data.proxy) < 0.85
    severity = data.extra["severity"]
    assert correlation(severity, data.y) == pytest.approx(1)
    assert (severity.min(), severity.max()) == pytest.approx((0.2, 1.0), abs=0.03)


def test_the_ripple_tells_the_speed_too() -> None:
    """A known property of the regime, published in docs/choices.md: 32 steps between events hold the cue."""
    data = GearSystem().splits(1000, Sizes(train=1, id=1, ood=512)).ood
    spread = np.empty(len(data))
    for row, events in enumerate(data.events):
        quiet = np.flatnonzero(~events)
        runs = np.split(quiet, np.flatnonzero(np.diff(quiet) > 1) + 1)
        spread[row] = data.x[row, next(run for run in runs if len(run) >= 32)[-32:], 1].std()
    for target, explained in ((data.proxy, 0.59), (data.y, 0.0)):
        left = target - np.polyval(np.polyfit(spread, target, 2), spread)
        assert 1 - np.var(left) / np.var(target) == pytest.approx(explained, abs=0.03)


def test_gear_events_follow_from_the_angle() -> None:
    system = GearSystem(ring_down=2)
    turn = np.array([[0.95, 0.97, 0.99, 1.01, 1.05, 1.08, 1.09, 1.11, 1.13, 1.15]])
    assert system.events(turn)[0].astype(int).tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 0, 0]
    # Disengaged one sample before the window, at the same speed: one step of the ring-down is left.
    late = 1.0 + 1 / 12 + 0.01 + 0.02 * np.arange(6)[None]
    assert system.events(late)[0].astype(int).tolist() == [1, 1, 0, 0, 0, 0]


def test_gear_events_hold_the_transient() -> None:
    """The response that severity adds is in the events: most of its energy, in an eighth of the steps."""
    quiet = GearSystem(response_noise=0.0)
    generator = np.random.default_rng(1000)
    turn, level, phase = generator.random(6), np.full(6, 60.0), generator.random(6)
    bad = quiet.simulate(turn, level, phase, np.ones(6), np.ones(6))
    mild = quiet.simulate(turn, level, phase, np.zeros(6), np.ones(6))
    added = (bad[..., 2] - mild[..., 2]) ** 2
    events = quiet.events(bad[..., 0])
    assert events.mean() < 0.15
    assert added[events].sum() / added.sum() > 0.8


def drawn(system: GearSystem | ImpactSystem, n: int = 16) -> Trajectories:
    """Trajectories whose random numbers are the same for every setting of the sensors."""
    return system.trajectories(n, np.random.default_rng(1000))


def test_gear_events_are_every_worn_tooth() -> None:
    turn = np.arange(24)[None] / 24 + 0.001
    three = GearSystem(worn_teeth=3, ring_down=0).events(turn)[0]
    np.testing.assert_array_equal(three, turn[0] < 3 / 12)
    assert GearSystem(worn_teeth=12).events(turn).all()


def test_diffuse_wear_is_everywhere_and_an_event_nowhere() -> None:
    data = drawn(regime("gear", "diffuse_wear"))
    assert data.events is not None
    assert data.events.all()


def test_a_cue_on_the_event_is_the_speed_there_and_nothing_elsewhere() -> None:
    everywhere, on_event = (drawn(GearSystem(cue_noise=0.0, cue_on_event=on)) for on in (False, True))
    events = on_event.events
    assert events is not None
    np.testing.assert_array_equal(events, everywhere.events)
    np.testing.assert_array_equal(on_event.x[events], everywhere.x[events])
    np.testing.assert_array_equal(on_event.x[..., :2], everywhere.x[..., :2])
    assert (on_event.x[~events, 2] == 0).all()
    assert (everywhere.x[~events, 2] != 0).mean() > 0.99
    noisy = drawn(GearSystem(cue_on_event=True))
    assert noisy.x[~events, 2].std() == pytest.approx(GearSystem().cue_noise, rel=0.05)


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


@pytest.mark.parametrize(("system", "name"), [(s, name) for s, names in REGIMES.items() for name in names])
def test_every_regime_runs_and_differs_from_the_default(system: str, name: str) -> None:
    changed = regime(system, name)
    data = changed.splits(1000, Sizes(train=8, id=4, ood=4)).train
    assert data.events.any(axis=1).all()
    assert (changed == regime(system)) == (name == "default")


def test_what_is_outside_of_crests_reach_is_a_regime_of_the_gear() -> None:
    assert OUTSIDE
    assert set(OUTSIDE) <= set(REGIMES["gear"])


def test_unknown_names_list_the_choices() -> None:
    with pytest.raises(ValueError, match="system must be one of gear, impact, got 'pump'"):
        regime("pump")
    with pytest.raises(ValueError, match=r"regime of gear must be one of default, weak_cue, .* got 'x'"):
        regime("gear", "x")


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


@pytest.mark.unchecked
def test_a_switch_is_true_or_false() -> None:
    with pytest.raises(ValueError, match="cue_on_event must be True or False, got 1"):
        GearSystem(cue_on_event=1)  # type: ignore[arg-type]


def test_an_overdamped_wall_is_refused() -> None:
    with pytest.raises(ValueError, match=r"wall_damping must leave the contact underdamped, got 2\.5"):
        ImpactSystem(wall_damping=2.5)
