import dataclasses

import numpy as np
import pytest

from crest._base import rng
from crest.theory import TwoChannel, fit_reader, reader_risk

MODEL = TwoChannel(T=12, epsilon=0.25, s0=1.5, s1=0.7, gamma=0.6)


def test_events_are_uniform_sets_of_the_right_size() -> None:
    events = MODEL.sample(40_000, rng.generator(0, "two_channel/events")).events
    assert (events.sum(axis=1) == 3).all()
    # 5 standard errors of a share of 0.25 in 40 000
    np.testing.assert_allclose(events.mean(axis=0), 0.25, atol=0.011)


def test_each_channel_follows_its_equation() -> None:
    x, y, events = MODEL.sample(20_000, rng.generator(1, "two_channel/steps"))
    assert x.shape == (20_000, 12, 2)
    label = np.broadcast_to(y[:, None], events.shape)
    assert (x[events][:, 1] == 0).all()
    for residual, scale in [
        ((x[..., 0] - label)[events], 1.5),
        (x[..., 0][~events], 1.5),
        ((x[..., 1] - 0.6 * label)[~events], 0.7),
    ]:
        assert abs(residual.mean()) < 5 * scale / np.sqrt(residual.size)
        assert residual.std() == pytest.approx(scale, rel=5 / np.sqrt(2 * residual.size))


def test_cue_alone_separates_the_splits() -> None:
    seen = MODEL.sample(50, rng.generator(2, "two_channel/paired"))
    unseen = MODEL.sample(50, rng.generator(2, "two_channel/paired"), g=0.0)
    np.testing.assert_array_equal(seen.events, unseen.events)
    np.testing.assert_array_equal(seen.x[..., 0], unseen.x[..., 0])
    cue = np.where(seen.events, 0.0, 0.6 * seen.y[:, None])
    np.testing.assert_allclose(seen.x[..., 1] - unseen.x[..., 1], cue, atol=1e-12)


@pytest.mark.parametrize("g", [None, 0.0])
def test_pooled_sampler_has_the_law_of_the_pooled_trajectories(g: float | None) -> None:
    n = 200_000
    x, y, _ = MODEL.sample(n, rng.generator(3, "two_channel/long"), g)
    means, label = MODEL.sample_means(n, rng.generator(4, "two_channel/short"), g)
    long = np.column_stack([x.mean(axis=1), y])
    short = np.column_stack([means, label])
    spread = np.sqrt(np.diag(np.cov(long.T)))
    np.testing.assert_allclose(short.mean(axis=0), long.mean(axis=0), atol=5 * spread.max() * np.sqrt(2 / n))
    # a correlation-like second moment has a standard error below sqrt(2 / n) in units of the spreads
    error = (np.cov(short.T) - np.cov(long.T)) / np.outer(spread, spread)
    np.testing.assert_allclose(error, 0, atol=5 * np.sqrt(4 / n))
    quantiles = [0.01, 0.1, 0.5, 0.9, 0.99]
    np.testing.assert_allclose(
        np.quantile(short / spread, quantiles, axis=0),
        np.quantile(long / spread, quantiles, axis=0),
        atol=0.05,
    )


@pytest.mark.parametrize("g", [None, 0.0, 0.3])
def test_pooled_sampler_has_the_exact_second_moments(population, g: float | None) -> None:
    model = dataclasses.replace(MODEL, T=4)
    x, y, _ = population(model, g)
    exact = np.column_stack([x.mean(axis=1), y])
    n = 1_000_000
    means, label = model.sample_means(n, rng.generator(5, "two_channel/moments"), g)
    sampled = np.column_stack([means, label])
    np.testing.assert_allclose(sampled.T @ sampled / n, exact.T @ exact / len(y), atol=8e-3)


def test_reader_recovers_known_weights_and_risk() -> None:
    means = rng.generator(6, "two_channel/reader").standard_normal((100, 2))
    y = means @ np.array([2.0, -3.0])
    np.testing.assert_allclose(fit_reader(means, y), [2.0, -3.0], atol=1e-10)
    np.testing.assert_allclose(fit_reader(means, y + 1), np.linalg.lstsq(means, y + 1)[0], atol=1e-10)
    assert reader_risk(np.zeros(2), means, y) == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 1.4}, r"epsilon must lie in \(0, 1\), got 1.4"),
        ({"epsilon": 0.0}, r"epsilon must lie in \(0, 1\), got 0"),
        ({"T": 0}, "T must be a whole number, 1 or more, got 0"),
        ({"s0": -1.0}, "s0 must be positive, got -1"),
        ({"s1": float("nan")}, "s1 must be positive, got nan"),
        ({"gamma": 1.1}, r"gamma must lie in \(0, 1\], got 1.1"),
        ({"epsilon": 0.2}, r"epsilon \* T must be a whole number in \[1, T - 1\], got 2.4 at T = 12"),
        ({"epsilon": 1e-9}, r"epsilon \* T must be a whole number"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(MODEL, **change)


def test_a_contiguous_event_is_one_run_of_steps() -> None:
    model = TwoChannel(T=50, epsilon=0.1, s0=1.0, s1=1.0, gamma=0.5)
    events = model.sample(500, np.random.default_rng(0), contiguous=True).events
    starts = events.argmax(axis=1)
    assert (events.sum(axis=1) == 5).all()
    assert all(row[start : start + 5].all() for row, start in zip(events, starts, strict=True))
    assert starts.min() == 0
    assert starts.max() == 45
