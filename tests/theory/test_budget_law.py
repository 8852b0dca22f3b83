import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crest._base import rng
from crest.theory import (
    TwoChannel,
    anchored_snr,
    best_budget,
    best_precision,
    budget_risk,
    event_snr,
    fit_reader,
    reader_risk,
    simulated_budget_risk,
)


@pytest.mark.parametrize("K", [1, 2, 3, 4])
@pytest.mark.parametrize("L", [1, 2, 3])
def test_risk_is_that_of_a_reader_fitted_to_the_best_selection(population, K: int, L: int) -> None:
    x, y, events = population(TwoChannel(T=4, epsilon=L / 4, s0=0.9, s1=1.0, gamma=1.0))
    best = np.argsort(~events, axis=1, kind="stable")[:, :K]
    pooled = np.take_along_axis(x[..., 0], best, axis=1).mean(axis=1, keepdims=True)
    assert np.take_along_axis(events, best, axis=1).mean() == pytest.approx(best_precision(K, L))
    risk = reader_risk(fit_reader(pooled, y), pooled, y)
    assert risk == pytest.approx(budget_risk(K, L, 0.9), rel=1e-9)


@pytest.mark.parametrize("K", [2, 5, 10, 40, 80])
def test_the_ideal_selector_reproduces_the_law_to_three_decimals(K: int) -> None:
    simulated = simulated_budget_risk(K, 10, 0.5, 4_000_000, rng.generator(0, "budget_law/selector"))
    assert abs(simulated - budget_risk(K, 10, 0.5)) < 5e-4


@given(st.integers(1, 50), st.integers(51, 200), st.floats(0.05, 10.0))
def test_u_shape_with_its_minimum_at_the_event_support(L: int, T: int, s0: float) -> None:
    K = np.arange(1, T + 1)
    risk = budget_risk(K, L, s0)
    assert K[risk.argmin()] == L == best_budget(L)
    assert (np.diff(risk[:L]) < 0).all()
    assert (np.diff(risk[L - 1 :]) > 0).all()


@given(st.integers(1, 50), st.integers(51, 200), st.floats(0.05, 10.0))
def test_the_whole_trajectory_is_global_averaging(L: int, T: int, s0: float) -> None:
    diluted = event_snr(epsilon=L / T, T=T, s0=s0)
    assert anchored_snr(best_precision(T, L), T, s0) == pytest.approx(diluted)
    assert budget_risk(T, L, s0) == pytest.approx(1 / (1 + diluted))


def test_arguments_broadcast() -> None:
    K = np.array([[1], [8]])
    table = budget_risk(K, [2, 4, 8], 1.0)
    assert table.shape == (2, 3)
    assert table[1, 0] == budget_risk(8, 2, 1.0) == pytest.approx(1 / 1.5)
    np.testing.assert_array_equal(best_budget([2, 4]), [2, 4])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 1.0), "K must be 1 or more, got 0"),
        ((5, 0.5, 1.0), "L must be 1 or more, got 0.5"),
        ((5, 5, -2.0), "s0 must be positive, got -2"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[float, float, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        budget_risk(*arguments)
