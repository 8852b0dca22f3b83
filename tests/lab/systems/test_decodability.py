import dataclasses

import numpy as np
import pytest

from crest.lab.systems import OUTSIDE, REGIMES, Sizes, global_features, read_by_ridge, regime
from crest.lab.systems.decodability import EVENT_FEATURES, gear_features, impact_features

SIZES = Sizes(train=384, id=128, ood=128)


READABLE = [(system, name) for system, names in REGIMES.items() for name in names if name not in OUTSIDE]


@pytest.mark.parametrize(("system", "name"), READABLE)
def test_the_target_is_in_the_events_in_every_regime(system: str, name: str) -> None:
    for seed in (1000, 1001):
        events = read_by_ridge(regime(system, name).splits(seed, SIZES), EVENT_FEATURES[system])
        assert events.id < 0.25
        assert events.ood < 0.4


@pytest.mark.parametrize("system", REGIMES)
def test_global_statistics_break_where_the_events_do_not(system: str) -> None:
    splits = regime(system).splits(1000, SIZES)
    events, everything = read_by_ridge(splits, EVENT_FEATURES[system]), read_by_ridge(splits, global_features)
    assert everything.id < 0.2
    assert everything.ood > 2 * events.ood


@pytest.mark.parametrize("system", REGIMES)
def test_products_of_global_statistics_break_too(system: str) -> None:
    """A reader of second order has more of the event in its products, and is still worse off than in distribution."""
    splits = regime(system).splits(1000, SIZES)
    events = read_by_ridge(splits, EVENT_FEATURES[system], degree=2)
    everything = read_by_ridge(splits, global_features, degree=2)
    assert everything.ood > 3 * everything.id
    assert everything.ood > events.ood


def test_only_the_training_labels_are_learned_from() -> None:
    splits = regime("gear").splits(1000, Sizes(train=32, id=16, ood=16))
    blank = dataclasses.replace(splits, train=dataclasses.replace(splits.train, y=np.zeros(32)))
    errors = read_by_ridge(blank, gear_features)
    expected = [np.sqrt(np.mean(part.y**2)) for part in (splits.id, splits.ood)]
    assert errors == pytest.approx(expected)


def test_gear_features_by_hand() -> None:
    splits = regime("gear").splits(1000, Sizes(train=1, id=1, ood=1))
    x = np.zeros((1, 512, 3), dtype=np.float32)
    events = np.zeros((1, 512), dtype=bool)
    events[0, 10:14] = True
    x[0, 10:14, 0] = [1.0, 4.0, 3.0, -2.0]
    # ten times the transmission error less one: 1.7 around, so that the yardstick is 17 in these units
    x[..., 0] += 7.0
    data = dataclasses.replace(splits.train, x=x, events=events)
    np.testing.assert_allclose(gear_features(data), np.array([[3.5, 4.0, -2.0]]) / 17, atol=1e-6)


def test_a_slow_load_is_taken_out_of_the_gear_features() -> None:
    splits = regime("gear").splits(1000, Sizes(train=1, id=1, ood=1))
    events = np.zeros((1, 512), dtype=bool)
    events[0, 100:108] = events[0, 300:308] = True
    load = 1 + 0.5 * np.sin(2 * np.pi * np.arange(512) / 400)
    x = np.zeros((1, 512, 3), dtype=np.float32)
    x[0, :, 0] = 10 * (load * np.where(events[0], 1.2, 1.0) - 1)
    data = dataclasses.replace(splits.train, x=x, events=events)
    np.testing.assert_allclose(gear_features(data)[0, :2], [0.2, 0.2], atol=0.02)


@pytest.mark.parametrize(
    ("velocity", "steps"),
    [
        # Three steps lose 1 each; one loses all of it; three lose different parts.
        ([2.0, 1.0, 0.0, -1.0], 3.0),
        ([2.0, -1.0, -1.0, -1.0], 1.0),
        ([2.0, 1.0, -0.5, -1.0], 3.0**2 / (1.0 + 1.5**2 + 0.5**2)),
    ],
)
def test_impact_features_by_hand(velocity: list[float], steps: float) -> None:
    splits = regime("impact").splits(1000, Sizes(train=1, id=1, ood=1))
    x = np.zeros((1, 512, 4), dtype=np.float32)
    events = np.zeros((1, 512), dtype=bool)
    for start in (10, 100):
        events[0, start : start + 4] = True
        x[0, start - 1, 1] = 2.0  # the approach began before
        x[0, start : start + 4, 1] = velocity
    # Neither a drifting accelerometer nor an unknown zero has a say.
    x[..., 2] += 1.5
    x[..., 0] -= 0.7
    data = dataclasses.replace(splits.train, x=x, events=events)
    np.testing.assert_allclose(impact_features(data), [[np.log(steps), np.log(0.5)]], atol=1e-6)


def test_a_trajectory_without_events_is_refused() -> None:
    data = regime("gear").splits(1000, Sizes(train=2, id=1, ood=1)).train
    for events in (None, np.zeros((2, 512), dtype=bool)):
        with pytest.raises(ValueError, match="events must mark at least one step of every trajectory"):
            gear_features(dataclasses.replace(data, events=events))
