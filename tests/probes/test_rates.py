"""From the steps of the inputs to those of the features and back: against loops over exact fractions."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import crest
from crest.probes import credit, events_at, scores_at

STEPS = st.integers(1, 40)


def overlap(step: int, steps: int, feature: int, features: int) -> Fraction:
    """How much of an input step lies in the stretch of a step of the features."""
    start, stop = Fraction(feature * steps, features), Fraction((feature + 1) * steps, features)
    return max(min(Fraction(step + 1), stop) - max(Fraction(step), start), Fraction(0))


@given(STEPS, STEPS, st.integers(0, 2**32))
def test_a_stretch_has_an_event_where_any_of_its_steps_has(one: int, other: int, seed: int) -> None:
    features, steps = sorted((one, other))
    events = torch.rand(3, steps, generator=torch.Generator().manual_seed(seed)) < 0.2
    expected = [
        [any(row[t] and overlap(t, steps, s, features) > 0 for t in range(steps)) for s in range(features)]
        for row in events.tolist()
    ]
    assert events_at(events, features).tolist() == expected


@given(STEPS, STEPS, st.integers(0, 2**32))
def test_a_step_has_the_scores_of_its_stretches(one: int, other: int, seed: int) -> None:
    features, steps = sorted((one, other))
    scores = torch.randn(2, features, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    weights = torch.tensor(
        [[float(overlap(t, steps, s, features)) for s in range(features)] for t in range(steps)],
        dtype=torch.float64,
    )
    spread = scores_at(scores, steps)
    torch.testing.assert_close(spread, scores @ weights.T, rtol=0, atol=1e-12)
    torch.testing.assert_close(spread.mean(1), scores.mean(1), rtol=0, atol=1e-12)


@given(STEPS, STEPS)
def test_equal_scores_stay_equal_to_the_last_bit(one: int, other: int) -> None:
    features, steps = sorted((one, other))
    assert (scores_at(torch.full((1, features), 0.1), steps) == 0.1).all()


@given(STEPS, st.integers(1, 6))
def test_whole_strides(features: int, stride: int) -> None:
    scores = torch.randn(2, features)
    torch.testing.assert_close(
        scores_at(scores, features * stride), scores.repeat_interleave(stride, 1), rtol=0, atol=0
    )
    events = scores > 0
    assert torch.equal(events_at(events.repeat_interleave(stride, 1), features), events)


def test_as_many_steps_change_nothing() -> None:
    events, scores = torch.rand(2, 7) < 0.5, torch.randn(2, 7)
    assert events_at(events, 7) is events
    assert scores_at(scores, 7) is scores
    assert torch.equal(events_at(events.long(), 7), events)


def test_one_step_of_features() -> None:
    assert events_at(torch.tensor([[0, 0, 1], [0, 0, 0]]), 1).tolist() == [[True], [False]]
    assert scores_at(torch.tensor([[2.0], [3.0]]), 3).tolist() == [[2.0] * 3, [3.0] * 3]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int64, torch.float32, torch.float64])
@pytest.mark.parametrize("steps", [2, 3, 4])
def test_scores_are_computed_in_float32_at_least(dtype: torch.dtype, steps: int) -> None:
    spread = scores_at(torch.tensor([[1, 2]], dtype=dtype), steps)
    assert spread.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert spread.tolist() == {2: [[1.0, 2.0]], 3: [[1.0, 1.5, 2.0]], 4: [[1.0, 1.0, 2.0, 2.0]]}[steps]


def test_a_score_that_is_not_finite_stays_where_it_is() -> None:
    assert scores_at(torch.tensor([[float("inf"), 1.0]]), 4).tolist() == [[float("inf"), float("inf"), 1, 1]]


def test_scores_carry_gradients() -> None:
    scores = torch.zeros(1, 2, requires_grad=True)
    scores_at(scores, 3).sum().backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[1.5, 1.5]]


def test_they_are_public() -> None:
    assert crest.events_at is events_at
    assert crest.scores_at is scores_at


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("events", "steps", "message"),
    [
        (torch.zeros(2, 4), 2, "events must hold booleans or the integers 0 and 1"),
        (torch.full((2, 4), 3), 2, "events must hold booleans or the integers 0 and 1, got 3"),
        (torch.zeros(4).bool(), 2, r"events must have shape \(B, T\).*got \(4,\)"),
        (torch.zeros(2, 0).bool(), 1, r"events must have shape \(B, T\)"),
        ([[True]], 1, "events must be a torch tensor, got list"),
        (torch.zeros(2, 4).bool(), 5, "steps must be at most those of the events, T = 4, got 5"),
        (torch.zeros(2, 4).bool(), 0, "steps must be a whole number, 1 or more, got 0"),
        (torch.zeros(2, 4).bool(), 2.0, "steps must be a whole number, 1 or more, got 2.0"),
    ],
)
def test_bad_events_are_refused_by_name(events: torch.Tensor, steps: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        events_at(events, steps)


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("scores", "steps", "message"),
    [
        (torch.zeros(2, 4, 1), 8, r"scores must have shape \(B, S\).*got \(2, 4, 1\)"),
        ([[1.0]], 8, "scores must be a torch tensor, got list"),
        (torch.zeros(2, 4), 3, "steps must be at least those of the scores, S = 4, got 3"),
        (torch.zeros(2, 4), -1, "steps must be a whole number, 1 or more, got -1"),
    ],
)
def test_bad_scores_are_refused_by_name(scores: torch.Tensor, steps: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scores_at(scores, steps)


def test_credit_says_how_to_bring_events_to_the_features() -> None:
    features, events = torch.randn(2, 5, 3), torch.rand(2, 20) < 0.3
    message = r"events must have shape \(B, T\) = \(2, 5\), got \(2, 20\): crest.events_at\(events, 5\) gives"
    with pytest.raises(ValueError, match=message):
        credit(features, features.mean(1), events)
    assert credit(features, features.mean(1), events_at(events, 5)).n_trajectories == 2
