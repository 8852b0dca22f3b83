"""The oracles against cases worked out by hand."""

import math

import numpy as np
import pytest

from reference.credit_reference import credit
from reference.crest_reference import (
    between_class_variance,
    budget_count,
    contrast_weight,
    crest,
    dilate,
    epsilon_hat,
    low_pass,
    otsu_tail,
    participation_width,
    top_steps,
)

EPS = {"eps_min": 0.02, "eps_max": 0.30}


def impulses(*places: int, T: int = 101) -> np.ndarray:
    """One trajectory, channel j a unit impulse at places[j]."""
    F = np.zeros((1, T, len(places)))
    for j, place in enumerate(places):
        F[0, place, j] = 1.0
    return F


def test_low_pass_of_a_step_and_of_a_constant() -> None:
    g = math.exp(-0.5)
    np.testing.assert_allclose(
        low_pass(np.array([[0.0], [1.0]]), np.array([True, True]), 1.0)[:, 0],
        [g / (1 + g), 1 / (1 + g)],
        rtol=1e-15,
    )
    F = np.full((30, 1), 0.1)
    assert np.array_equal(low_pass(F, np.ones(30, dtype=bool), 8.0), F)


def test_low_pass_skips_a_padded_step_but_keeps_its_place() -> None:
    g = math.exp(-2.0)
    out = low_pass(np.array([[0.0], [np.nan], [1.0]]), np.array([True, False, True]), 1.0)
    np.testing.assert_allclose(out[:, 0], [g / (1 + g), 0.0, 1 / (1 + g)], rtol=1e-15)


def test_low_pass_has_the_stated_frequency_response() -> None:
    sigma, f, t = 3.0, 0.05, np.arange(201)
    out = low_pass(np.cos(2 * np.pi * f * t)[:, None], np.ones(201, dtype=bool), sigma)
    assert out[100, 0] == pytest.approx(math.exp(-2 * math.pi**2 * sigma**2 * f**2), rel=1e-9)


def test_width_tail_and_budget_of_half_a_profile() -> None:
    S = [0.0, 1.0, 0.0, 1.0]
    assert participation_width(S) == pytest.approx(0.5, abs=1e-11)
    assert otsu_tail(S) == 0.5
    assert epsilon_hat(0.5, 0.5, **EPS) == pytest.approx(0.5 * 0.105 + 0.5 * 0.30)
    assert epsilon_hat(0.40, 0.9, **EPS) == pytest.approx(0.05)
    assert epsilon_hat(0.60, 0.01, **EPS) == pytest.approx(0.02)
    assert contrast_weight(0.1) == pytest.approx(0.7625)
    assert contrast_weight(0.3) == 0.5
    assert contrast_weight(0.0) == 1.0


def test_otsu_takes_the_smallest_upper_class_of_equal_variance() -> None:
    S = [0.5, 1.0, 0.0]
    assert between_class_variance(S, 1) == between_class_variance(S, 2) == pytest.approx(0.125)
    assert otsu_tail(S) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("epsilon", "T_v", "d", "count"),
    [
        (0.1, 500, 2, 10),
        (0.1, 501, 2, 11),
        (0.02, 10, 2, 1),
        (0.3, 100, 2, 6),
        (0.7, 10, 0, 7),
        (0.0, 5, 2, 1),
    ],
)
def test_budget_count(epsilon: float, T_v: int, d: int, count: int) -> None:
    assert budget_count(epsilon, T_v, d) == count


def test_ties_are_all_selected_among_valid_steps() -> None:
    values, m = np.array([9.0, 3.0, 2.0, 2.0, 1.0, 1.0]), np.array([False, True, True, True, True, True])
    assert top_steps(values, m, 1, "transient") == [1]
    assert top_steps(values, m, 2, "transient") == [1, 2, 3]
    assert top_steps(values, m, 1, "stable") == [4, 5]


def test_dilation_is_by_position_and_drops_padded_steps() -> None:
    m = np.array([True, True, False, True, True, True])
    assert dilate([1], m, 2).tolist() == [True, True, False, True, False, False]


def test_two_steps_by_hand() -> None:
    """Residuals equal, so a flat profile; both steps selected, so no contrast."""
    out = crest(np.array([[[0.0], [1.0]]]), sigma=1.0)
    assert (out.width[0], out.tail[0], out.epsilon[0], out.alpha[0]) == (1.0, 1.0, 0.30, 0.5)
    assert out.selected.all()
    assert out.votes.tolist() == [[1, 1]]
    assert out.pooled[0, 0] == 0.25


def test_constant_channels_leave_the_global_share() -> None:
    out = crest(np.full((1, 40, 3), [0.1, -2.0, 0.0]))
    assert out.selected.all()
    assert (out.votes == 3).all()
    np.testing.assert_allclose(out.pooled[0], [0.05, -1.0, 0.0], rtol=1e-14)


def test_impulse_at_a_fixed_budget() -> None:
    out = crest(impulses(50), budget=0.04)
    assert np.flatnonzero(out.selected[0, :, 0]).tolist() == [48, 49, 50, 51, 52]
    assert out.alpha[0] == pytest.approx(0.92)
    assert out.pooled[0, 0] == pytest.approx(0.92 * (1 / 5) + 0.08 / 101)
    assert out.tail[0] == pytest.approx(1 / 101)


def test_stable_direction_selects_the_step_farthest_from_the_impulse() -> None:
    out = crest(impulses(40), budget=0.04, direction="stable", sigma=30.0)
    assert np.flatnonzero(out.selected[0, :, 0]).tolist() == [98, 99, 100]
    assert out.pooled[0, 0] == pytest.approx(-0.92 / 98 + 0.08 / 101)


def test_padding_equals_absence_at_the_end() -> None:
    F = np.random.default_rng(0).normal(size=(1, 60, 3))
    padded = np.concatenate([F, np.full((1, 15, 3), np.nan)], axis=1)
    mask = np.arange(75)[None] < 60
    for options in ({}, {"split": True}, {"budget": "pooled"}, {"direction": "stable"}):
        short, long = crest(F, **options), crest(padded, mask, **options)
        for name in ("pooled", "width", "tail", "epsilon", "alpha"):
            assert np.array_equal(getattr(short, name), getattr(long, name))
        assert np.array_equal(short.selected, long.selected[:, :60])
        assert not long.selected[:, 60:].any()
        assert not long.votes[:, 60:].any()


def test_pooled_budget_averages_width_and_tail_of_the_trajectories_that_have_steps() -> None:
    F = np.concatenate([impulses(50), np.ones((1, 101, 1)), impulses(50)])
    mask = np.ones((3, 101), dtype=bool)
    mask[2] = False
    own, out = crest(F, mask), crest(F, mask, budget="pooled")
    b = (own.width[0] + 1.0) / 2
    tail = (1 / 101 + 1.0) / 2
    assert out.epsilon[0] == out.epsilon[1] == pytest.approx(epsilon_hat(b, tail, **EPS))
    assert np.isnan(out.epsilon[2])
    assert out.pooled[2, 0] == 0.0
    assert not out.selected[2].any()


def test_split_halves_select_for_each_other() -> None:
    out = crest(impulses(30, 70), budget=0.04, split=True)
    assert np.flatnonzero(out.selected[0, :, 0]).tolist() == [68, 69, 70, 71, 72]
    assert np.flatnonzero(out.selected[0, :, 1]).tolist() == [28, 29, 30, 31, 32]
    np.testing.assert_allclose(out.pooled[0], [-0.92 / 96 + 0.08 / 101] * 2, rtol=1e-12)
    assert np.flatnonzero(out.votes[0]).tolist() == [*range(28, 33), *range(68, 73)]


def test_split_swaps_alpha_with_the_mask() -> None:
    """Even channel flat (alpha 0.5), odd an impulse (eps 0.02, alpha 0.9725)."""
    F = impulses(50, 50)
    F[0, :, 0] = 3.0
    out = crest(F, split=True)
    np.testing.assert_allclose(out.epsilon[0], [0.30, 0.02])
    np.testing.assert_allclose(out.alpha[0], [0.5, 0.9725])
    assert out.pooled[0, 0] == pytest.approx((1 - 0.9725) * 3.0)
    assert out.pooled[0, 1] == pytest.approx(0.5 / 101)  # the flat half selects every step: no contrast


def test_credit_by_hand() -> None:
    F = np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]]])
    out = credit(F, np.array([[2.0, 0.0]]), np.array([[True, True, False, False]]))
    np.testing.assert_allclose(out.scores[0], [1.0, 0.0, math.sqrt(0.5), -1.0], rtol=1e-15)
    np.testing.assert_allclose(out.positive[0], [1.0, 0.0, math.sqrt(0.5), 0.0], rtol=1e-15)
    assert out.ecm[0] == pytest.approx(1 / (1 + math.sqrt(0.5)))
    assert (out.precision[0], out.cie[0], out.chance[0]) == (0.5, 1.0, 0.5)


def test_credit_of_ties_is_chance() -> None:
    events = np.arange(7)[None] < 3
    out = credit(np.ones((1, 7, 3)), np.ones((1, 3)), events)
    assert out.precision[0] == out.cie[0] == out.chance[0] == 3 / 7
    zero = credit(np.ones((1, 7, 3)), np.zeros((1, 3)), events)
    assert not zero.scores.any()
    assert zero.ecm[0] == 0.0
    assert zero.precision[0] == zero.cie[0] == 3 / 7


def test_credit_of_a_partial_tie() -> None:
    """Scores 1, 0, 0, 0, -1 with events at 1 and 4: one slot for three tied steps, one of them an event."""
    F = np.array([[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 2.0], [-1.0, 0.0]]])
    out = credit(F, np.array([[1.0, 0.0]]), np.array([[False, True, False, False, True]]))
    assert out.precision[0] == pytest.approx(1 / 6)
    assert out.cie[0] == 0.0


def test_credit_counts_only_trajectories_with_valid_events() -> None:
    F = np.array([[[1.0], [-1.0], [1.0]]] * 3)
    F[1, 2] = np.nan
    events = np.array([[True, False, False], [False, False, True], [False, False, False]])
    mask = np.array([[True] * 3, [True, True, False], [True] * 3])
    out = credit(F, np.ones((3, 1)), events, mask)
    np.testing.assert_array_equal(np.isnan(out.ecm), [False, True, True])
    assert (out.counted, out.total) == (1, 3)
    assert out.mean_ecm == pytest.approx(0.5)
    assert out.mean_precision == out.mean_cie == 0.5
    assert out.mean_chance == pytest.approx(1 / 3)
    assert out.scores[1].tolist() == [1.0, -1.0, 0.0]
