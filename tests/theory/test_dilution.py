import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crest._base import rng
from crest.theory import (
    TwoChannel,
    background_snr,
    credit_share,
    credit_share_order,
    event_snr,
    fit_reader,
    reader_risk,
    reader_weights,
    risk_id,
    risk_id_limit,
    risk_ood,
    risk_ood_limit,
    sensitivity_ratio,
    simulated_risks,
)

scales = st.floats(0.1, 20.0)
parameters = st.fixed_dictionaries(
    {
        "epsilon": st.floats(1e-4, 0.9),
        "T": st.integers(2, 2000),
        "s0": scales,
        "s1": scales,
        "gamma": st.floats(0.05, 1.0),
    }
)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 0.75])
@pytest.mark.parametrize(("s0", "s1", "gamma"), [(1.0, 1.0, 1.0), (0.4, 2.5, 0.7), (2.0, 0.3, 0.2)])
def test_closed_forms_are_the_population_fit(
    population, epsilon: float, s0: float, s1: float, gamma: float
) -> None:
    model = TwoChannel(T=4, epsilon=epsilon, s0=s0, s1=s1, gamma=gamma)
    law = {"epsilon": epsilon, "T": 4, "s0": s0, "s1": s1, "gamma": gamma}
    seen, unseen = population(model), population(model, g=0.0)
    means = seen.x.mean(axis=1)
    weights = fit_reader(means, seen.y)

    np.testing.assert_allclose(weights, reader_weights(**law), rtol=1e-9)
    assert reader_risk(weights, means, seen.y) == pytest.approx(risk_id(**law), rel=1e-9)
    assert reader_risk(weights, unseen.x.mean(axis=1), unseen.y) == pytest.approx(risk_ood(**law), rel=1e-9)
    ratio = sensitivity_ratio(epsilon=epsilon, s0=s0, s1=s1, gamma=gamma)
    assert weights[0] / weights[1] == pytest.approx(ratio, rel=1e-9)

    signal = means.T @ seen.y / len(seen.y)
    noise = np.mean((means - np.outer(seen.y, signal)) ** 2, axis=0)
    event, background = signal**2 / noise
    assert event == pytest.approx(event_snr(epsilon=epsilon, T=4, s0=s0), rel=1e-9)
    assert background == pytest.approx(background_snr(epsilon=epsilon, T=4, s1=s1, gamma=gamma), rel=1e-9)
    # credit as the share of the prediction's covariance with y that comes through m0
    assert weights[0] * signal[0] / (weights @ signal) == pytest.approx(credit_share(**law), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.2])
def test_an_empirical_fit_agrees_to_three_decimals(epsilon: float) -> None:
    # a strong cue: for a weak one the sampling error of R_ood alone exceeds 5e-4 at this n
    law = {"epsilon": epsilon, "T": 100, "s0": 1.0, "s1": 1.0, "gamma": 0.8}
    risks = simulated_risks(TwoChannel(**law), 4_000_000, rng.generator(0, "dilution/fit"))
    assert abs(risks.id - risk_id(**law)) < 5e-4
    assert abs(risks.ood - risk_ood(**law)) < 5e-4


def test_a_fit_to_whole_trajectories_agrees() -> None:
    law = {"epsilon": 0.1, "T": 20, "s0": 1.0, "s1": 2.0, "gamma": 0.5}
    model = TwoChannel(**law)
    seen = model.sample(100_000, rng.generator(0, "dilution/trajectories"))
    unseen = model.sample(100_000, rng.generator(1, "dilution/trajectories"), g=0.0)
    weights = fit_reader(seen.x.mean(axis=1), seen.y)
    assert reader_risk(weights, seen.x.mean(axis=1), seen.y) == pytest.approx(risk_id(**law), abs=0.01)
    assert reader_risk(weights, unseen.x.mean(axis=1), unseen.y) == pytest.approx(risk_ood(**law), abs=0.02)


@given(parameters)
def test_risk_ood_by_direct_expansion(law: dict[str, float]) -> None:
    w0, w1 = reader_weights(**law)
    epsilon, T = law["epsilon"], law["T"]
    lost = (1 - w0 * epsilon) ** 2
    noise = w0**2 * law["s0"] ** 2 / T + w1**2 * law["s1"] ** 2 * (1 - epsilon) / T
    assert risk_ood(**law) == pytest.approx(lost + noise, rel=1e-9)


@given(parameters)
def test_weights_are_stationary(law: dict[str, float]) -> None:
    w0, w1 = reader_weights(**law)
    a0, a1 = law["epsilon"], (1 - law["epsilon"]) * law["gamma"]
    n0, n1 = law["s0"] ** 2 / law["T"], law["s1"] ** 2 * (1 - law["epsilon"]) / law["T"]
    left = 1 - w0 * a0 - w1 * a1
    assert w0 * n0 == pytest.approx(a0 * left, rel=1e-6)
    assert w1 * n1 == pytest.approx(a1 * left, rel=1e-6)
    assert left**2 + w0**2 * n0 + w1**2 * n1 == pytest.approx(risk_id(**law), rel=1e-6)


@given(parameters)
def test_risks_fall_with_the_event_and_stay_bounded(law: dict[str, float]) -> None:
    # s0 moves S_E alone
    quieter = law | {"s0": law["s0"] / 2}
    assert risk_id(**quieter) < risk_id(**law)
    assert risk_ood(**quieter) < risk_ood(**law)
    assert risk_id(**law) < risk_ood(**law) < 1.25 + 1e-12
    assert 0 < credit_share(**law) < 1


@given(parameters)
def test_limits_are_reached(law: dict[str, float]) -> None:
    rare = law | {"epsilon": 1e-9}
    ends = {name: law[name] for name in ("T", "s1", "gamma")}
    assert risk_id(**rare) == pytest.approx(risk_id_limit(**ends), rel=1e-6)
    assert risk_ood(**rare) == pytest.approx(risk_ood_limit(**ends), rel=1e-6)
    assert 1 < risk_ood_limit(**ends) < 1.25 + 1e-12


@given(parameters)
def test_credit_share_order_is_the_log_log_slope(law: dict[str, float]) -> None:
    factor = 1.0001
    rise = np.log(credit_share(**law | {"epsilon": law["epsilon"] * factor}) / credit_share(**law))
    assert rise / np.log(factor) == pytest.approx(credit_share_order(**law), rel=1e-2, abs=1e-3)


def test_credit_vanishes_as_epsilon_squared() -> None:
    epsilon = np.logspace(-6, -4, 9)
    share = credit_share(epsilon=epsilon, T=500, s0=1.0, s1=3.0, gamma=0.5)
    slope = np.polyfit(np.log(epsilon), np.log(share), 1)[0]
    assert slope == pytest.approx(2.0, abs=1e-3)
    order = credit_share_order(epsilon=1e-6, T=500, s0=1.0, s1=3.0, gamma=0.5)
    assert order == pytest.approx(2.0, abs=1e-4)


def test_saliency_can_favour_an_event_without_credit() -> None:
    law = {"epsilon": 0.01, "s0": 1.0, "s1": 8.0, "gamma": 0.5}
    assert sensitivity_ratio(**law) > 1
    assert credit_share(T=1000, **law) < 0.03


@given(parameters, st.floats(0.01, 5.0))
def test_sensitivity_ratio_fixes_the_ratio_of_credits(law: dict[str, float], ratio: float) -> None:
    s1 = law["s0"] * np.sqrt(ratio * law["gamma"] / law["epsilon"])
    share = credit_share(**law | {"s1": s1})
    expected = ratio * law["epsilon"] / ((1 - law["epsilon"]) * law["gamma"])
    assert share / (1 - share) == pytest.approx(expected, rel=1e-6)


def test_arguments_broadcast() -> None:
    epsilon = np.array([[0.01], [0.1]])
    s0 = np.array([0.5, 1.0, 2.0])
    rest = {"T": 100, "s1": 2.0, "gamma": 0.5}
    for law in (risk_id, risk_ood, credit_share, credit_share_order):
        table = law(epsilon=epsilon, s0=s0, **rest)
        assert table.shape == (2, 3)
        assert table[1, 2] == law(epsilon=0.1, s0=2.0, **rest)
    assert reader_weights(epsilon=epsilon, s0=s0, **rest).w0.shape == (2, 3)
    assert isinstance(risk_id(epsilon=0.1, s0=1.0, **rest), float)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 1.4}, r"epsilon must lie in \(0, 1\), got 1.4"),
        ({"epsilon": [0.1, 1.0]}, r"epsilon must lie in \(0, 1\), got 1"),
        ({"T": 0}, "T must be 1 or more, got 0"),
        ({"s0": 0.0}, "s0 must be positive, got 0"),
        ({"s1": np.inf}, "s1 must be positive, got inf"),
        ({"gamma": 0.0}, r"gamma must lie in \(0, 1\], got 0"),
    ],
)
@pytest.mark.parametrize("law", [risk_id, risk_ood, credit_share, credit_share_order, reader_weights])
def test_bad_arguments_are_named(law, change, message) -> None:
    good = {"epsilon": 0.1, "T": 100, "s0": 1.0, "s1": 1.0, "gamma": 0.5}
    with pytest.raises(ValueError, match=message):
        law(**good | change)
