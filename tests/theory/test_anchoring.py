import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crest.theory import (
    TwoChannel,
    anchored_risk_ood,
    anchored_snr,
    anchored_snr_blend,
    best_anchor_weight,
    contrast_snr_blend,
    event_snr,
    fit_reader,
    reader_risk,
    risk_ood_from_snr,
)

ALPHAS = np.linspace(0, 1, 201)


@st.composite
def selections(draw: st.DrawFn) -> dict[str, float]:
    """K < T steps of which a whole number `hits` are among the L events."""
    T = draw(st.integers(3, 60))
    L = draw(st.integers(1, T - 1))
    K = draw(st.integers(1, T - 1))
    hits = draw(st.integers(max(0, K - (T - L)), min(K, L)))
    return {"precision": hits / K, "K": K, "T": T, "epsilon": L / T}


def selected(events: np.ndarray, K: int, hits: int) -> np.ndarray:
    """Mask of the first `hits` event steps and the first K - hits others of each row."""
    return (events & (events.cumsum(axis=1) <= hits)) | (~events & ((~events).cumsum(axis=1) <= K - hits))


def measured_snr(pooled: np.ndarray, y: np.ndarray) -> float:
    signal = np.mean(pooled * y)
    return signal**2 / np.mean((pooled - signal * y) ** 2)


@pytest.mark.parametrize(
    ("L", "K", "hits"), [(1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 2, 1), (2, 3, 2), (3, 2, 1)]
)
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.8, 1.0])
def test_closed_forms_are_the_population_values(population, L: int, K: int, hits: int, alpha: float) -> None:
    x, y, events = population(TwoChannel(T=4, epsilon=L / 4, s0=1.3, s1=0.8, gamma=0.6))
    mask = selected(events, K, hits)
    channel = x[..., 0]
    chosen = np.sum(channel * mask, axis=1) / K
    rest = np.sum(channel * ~mask, axis=1) / (4 - K)
    whole = channel.mean(axis=1)
    law = {"alpha": alpha, "precision": hits / K, "K": K, "T": 4, "epsilon": L / 4, "s0": 1.3}

    blend = measured_snr(alpha * chosen + (1 - alpha) * whole, y)
    assert blend == pytest.approx(anchored_snr_blend(**law), rel=1e-9)
    contrast = measured_snr(alpha * (chosen - rest) + (1 - alpha) * whole, y)
    assert contrast == pytest.approx(contrast_snr_blend(**law), rel=1e-9, abs=1e-12)
    assert measured_snr(chosen, y) == pytest.approx(anchored_snr(hits / K, K, 1.3), rel=1e-9)


@pytest.mark.parametrize(("L", "K", "hits"), [(1, 2, 1), (2, 3, 2), (2, 2, 1)])
def test_anchored_risk_is_that_of_a_reader_fitted_to_the_selection(
    population, L: int, K: int, hits: int
) -> None:
    model = TwoChannel(T=4, epsilon=L / 4, s0=1.3, s1=0.8, gamma=0.6)
    seen, unseen = population(model), population(model, g=0.0)
    mask = selected(seen.events, K, hits)[..., None]
    weights = fit_reader(np.sum(seen.x * mask, axis=1) / K, seen.y)
    risk = reader_risk(weights, np.sum(unseen.x * mask, axis=1) / K, unseen.y)
    law = anchored_risk_ood(hits / K, K, s0=1.3, s1=0.8, gamma=0.6)
    assert risk == pytest.approx(law, rel=1e-9)


@given(selections())
def test_blend_joins_global_averaging_to_full_anchoring(selection: dict[str, float]) -> None:
    ends = anchored_snr_blend(alpha=[0, 1], s0=1.7, **selection)
    assert ends[0] == pytest.approx(event_snr(epsilon=selection["epsilon"], T=selection["T"], s0=1.7))
    assert ends[1] == pytest.approx(anchored_snr(selection["precision"], selection["K"], 1.7))


@given(selections())
def test_ratio_rises_to_the_best_weight_and_falls_beyond(selection: dict[str, float]) -> None:
    ratio = anchored_snr_blend(alpha=ALPHAS, s0=1.0, **selection)
    best = best_anchor_weight(**selection)
    slack = 1e-9 * ratio.max()
    below = best >= ALPHAS
    assert (np.diff(ratio[below]) > -slack).all()
    assert (np.diff(ratio[~below]) < slack).all()


@given(selections())
def test_ratio_rises_all_the_way_only_if_no_event_is_missed(selection: dict[str, float]) -> None:
    complete = np.isclose(selection["precision"] * selection["K"], selection["epsilon"] * selection["T"])
    assert complete == np.isclose(best_anchor_weight(**selection), 1.0)


def test_precision_above_epsilon_is_not_enough() -> None:
    selection = {"precision": 0.25, "K": 4, "T": 100, "epsilon": 0.2}
    none, full = anchored_snr_blend(alpha=[0, 1], s0=1.0, **selection)
    assert (none, full) == (pytest.approx(4.0), pytest.approx(0.25))
    assert best_anchor_weight(**selection) == pytest.approx(0.05 * 4 / (0.2 * 96))


@given(selections())
def test_contrast_peaks_below_one_half(selection: dict[str, float]) -> None:
    gain = (selection["precision"] - selection["epsilon"]) * selection["K"]
    if gain <= 0:
        return
    best = gain / (gain + selection["epsilon"] * selection["T"])
    ratio = contrast_snr_blend(alpha=ALPHAS, s0=1.0, **selection)
    peak = contrast_snr_blend(alpha=best, s0=1.0, **selection)
    assert best < 0.5
    assert peak >= ratio.max() * (1 - 1e-9)


def test_contrast_of_a_complete_selection_pays_for_the_rest() -> None:
    K = np.array([5, 10, 50])
    full = contrast_snr_blend(alpha=1.0, precision=5 / K, K=K, T=100, epsilon=0.05, s0=2.0)
    np.testing.assert_allclose(full, (1 - K / 100) * anchored_snr(5 / K, K, 2.0))


@given(st.floats(0, 50), st.floats(0, 50), st.floats(0.01, 10))
def test_risk_falls_with_the_event_ratio_at_a_fixed_background(
    event: float, background: float, more: float
) -> None:
    stronger = risk_ood_from_snr(np.float64(event + more), np.float64(background))
    assert stronger < risk_ood_from_snr(np.float64(event), np.float64(background))


def test_more_precision_can_raise_the_risk_of_the_two_channel_reader() -> None:
    risk = anchored_risk_ood([0.0, 0.8, 1.0], 10, s0=30.0, s1=1.0, gamma=1.0)
    assert risk[1] > risk[0] > risk[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 1.2}, r"alpha must lie in \[0, 1\], got 1.2"),
        ({"precision": -0.1}, r"precision must lie in \[0, 1\], got -0.1"),
        ({"s0": 0.0}, "s0 must be positive, got 0"),
        ({"K": 0}, "K must be 1 or more, got 0"),
        ({"K": 101, "precision": 0.1}, "K must be .* T, got K = 101"),
        ({"K": 30, "precision": 0.5}, "precision must leave at most epsilon T events"),
        ({"K": 95, "precision": 0.0}, "precision must leave at most epsilon T events"),
    ],
)
@pytest.mark.parametrize("law", [anchored_snr_blend, contrast_snr_blend])
def test_bad_arguments_are_named(law, change, message) -> None:
    good = {"alpha": 0.5, "precision": 0.5, "K": 10, "T": 100, "epsilon": 0.1, "s0": 1.0}
    with pytest.raises(ValueError, match=message):
        law(**good | change)


def test_contrast_needs_a_rest() -> None:
    with pytest.raises(ValueError, match="K must be less than T"):
        contrast_snr_blend(alpha=0.5, precision=0.1, K=100, T=100, epsilon=0.1, s0=1.0)


@pytest.mark.parametrize("far", [1e-305, 1e-60, 1e60, 1e305])
@pytest.mark.parametrize("name", ["K", "s0", "s1", "gamma"])
def test_numbers_whose_ratios_leave_float64_are_refused_by_their_own_names(name: str, far: float) -> None:
    good = {"precision": 0.5, "K": 4.0, "s0": 1.0, "s1": 1.0, "gamma": 1.0}
    with pytest.raises(ValueError, match=rf"^{name} must "):
        anchored_risk_ood(**good | {name: far})


def test_at_the_ends_of_the_reach_every_risk_is_a_number() -> None:
    ends = [1e-50, 1.0, 1e50]
    s0, s1, K, gamma, precision = np.meshgrid(ends, ends, [1.0, 1e50], [1e-50, 1.0], [0.0, 1e-50, 1.0])
    with np.errstate(all="raise", under="ignore"):
        risk = anchored_risk_ood(precision, K, s0=s0, s1=s1, gamma=gamma)
    assert ((risk >= 0) & (risk <= 1.25)).all()
