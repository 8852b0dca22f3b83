import numpy as np
import pytest

from crest.lab.systems import GearSystem, ImpactSystem, Sizes, regime
from crest.recordings import Trajectories
from crest.recordings.trajectories import correlation


def test_the_gear_cue_is_its_speed_and_the_average_reads_it() -> None:
    data = GearSystem().splits(1000, Sizes(train=128)).train
    assert correlation(data.x[..., 2].mean(1), data.proxy) > 0.98
    assert correlation(data.x[:, 100, 2], data.proxy) < 0.85
    severity = data.extra["severity"]
    assert correlation(severity, data.y) == pytest.approx(1)
    assert (severity.min(), severity.max()) == pytest.approx((0.2, 1.0), abs=0.03)


def test_the_ripple_tells_the_speed_too() -> None:
    """A known property of the regime, published in docs/evidence/choices.md: 32 steps between events hold the cue."""
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


@pytest.mark.unchecked
def test_a_switch_is_true_or_false() -> None:
    with pytest.raises(ValueError, match="cue_on_event must be True or False, got 1"):
        GearSystem(cue_on_event=1)  # type: ignore[arg-type]
