"""The credit probe: numbers worked out by hand, laws, ties, padding, messages."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import Tensor

from crest.probes import (
    chance_level,
    credit,
    credit_in_event_at_1,
    credit_of_scores,
    event_credit_mass,
    positive_credit,
    precision_at_event_rate,
    step_scores,
    step_traces,
)
from crest.probes.credit import credit_shares
from stranger import Stranger

NAN = float("nan")
law = settings(max_examples=60, deadline=None)  # a loaded machine is not a failure
RATES = (event_credit_mass, precision_at_event_rate, credit_in_event_at_1)


def flags(*rows: str) -> Tensor:
    """'1' is True and '.' is False, one string per trajectory."""
    return torch.tensor([[letter == "1" for letter in row] for row in rows])


def double(*rows: list[float]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def close(actual: Tensor, *expected: float) -> None:
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=actual.dtype), equal_nan=True)


@st.composite
def problems(draw: st.DrawFn, ties: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, events and a mask, with at least one valid event in every row."""
    rows, steps = draw(st.integers(1, 4)), draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.integers(-2, 3, (rows, steps)) / 2 if ties else rng.uniform(-1, 1, (rows, steps))
    events, mask = rng.random((rows, steps)) < 0.4, rng.random((rows, steps)) < 0.7
    chosen = rng.integers(steps, size=rows)
    events[np.arange(rows), chosen] = mask[np.arange(rows), chosen] = True
    return torch.from_numpy(scores), torch.from_numpy(events), torch.from_numpy(mask)


# --- by hand ---


def test_scores_are_cosines() -> None:
    features = torch.tensor([[[3.0, 4.0], [-6.0, -8.0], [4.0, -3.0], [1.0, 0.0]]])
    close(step_scores(features, torch.tensor([[0.6, 0.8]]))[0], 1.0, -1.0, 0.0, 0.6)


def test_a_zero_vector_scores_zero() -> None:
    features = torch.tensor([[[0.0, 0.0], [1.0, 1.0]]])
    assert step_scores(features, torch.zeros(1, 2)).tolist() == [[0.0, 0.0]]
    assert step_scores(features, torch.ones(1, 2))[0, 0] == 0.0


def test_positive_credit_drops_opposing_steps() -> None:
    assert positive_credit(double([0.5, -0.5, 0.0])).tolist() == [[0.5, 0.0, 0.0]]


def test_ecm_by_hand() -> None:
    scores = double([0.6, 0.2, -0.9, 0.2], [-0.1, -0.2, -0.3, -0.4])
    close(event_credit_mass(scores, flags("1.1.", "1.1.")), 0.6, 0.0)


def test_ecm_uses_delta() -> None:
    close(event_credit_mass(double([0.6, 0.2]), flags("1."), delta=0.4), 0.5)


def test_precision_by_hand() -> None:
    scores = double([0.9, 0.1, 0.8, 0.2, 0.3], [0.1, 0.2, 0.3, 0.4, 0.5], [0.9, 0.8, 0.7, 0.1, 0.0])
    # Top 2 = {0, 2}, one hit of 2; top 1 = {4}, a hit; top 3 = {0, 1, 2}, two hits of 3.
    close(precision_at_event_rate(scores, flags("11...", "....1", "11..1")), 0.5, 1.0, 2 / 3)


def test_precision_ranks_negative_scores_too() -> None:
    close(precision_at_event_rate(double([-0.1, -0.2, -0.9]), flags("11.")), 1.0)


def test_precision_shares_the_last_places_among_ties() -> None:
    # Two places left for three tied steps, of which one is an event: 1 + 2 * 1/3 hits of 3.
    close(precision_at_event_rate(double([0.9, 0.5, 0.5, 0.5, 0.1]), flags("11..1")), (1 + 2 / 3) / 3)


def test_cie_by_hand() -> None:
    scores = double([0.1, 0.9, 0.3], [0.1, 0.9, 0.3], [0.7, 0.7, -1.0])
    close(credit_in_event_at_1(scores, flags(".1.", "1.1", "1.1")), 1.0, 0.0, 0.5)


def test_chance_by_hand() -> None:
    close(chance_level(flags("1..1", "....", "1111")), 0.5, 0.0, 1.0)
    close(chance_level(flags("1..1"), flags("111.")), 1 / 3)


@pytest.mark.parametrize("rate", RATES)
def test_a_rate_without_events_is_nan(rate: Callable[..., Tensor]) -> None:
    scores = double([0.5, 0.2], [0.5, 0.2], [0.5, 0.2])
    value = rate(scores, flags("..", "1.", ".1"), flags("11", "11", "1."))
    assert value.isnan().tolist() == [True, False, True]


def test_without_events_is_nan_and_left_out() -> None:
    features = double([1.0, 0.0], [0.0, 1.0]).repeat(3, 1, 1)
    pooled = double([1.0, 0.0], [1.0, 0.0], [0.0, 1.0])
    result = credit(features, pooled, flags("1.", "..", "1."))
    assert result.counted.tolist() == [True, False, True]
    close(result.cie, 1.0, NAN, 0.0)
    close(result.chance, 0.5, NAN, 0.5)
    assert result.mean == {
        "ecm": pytest.approx(0.5),
        "precision": pytest.approx(0.5),
        "cie": pytest.approx(0.5),
        "chance": pytest.approx(0.5),
    }
    assert (result.n_trajectories, result.n_without_events) == (3, 1)
    assert "1 without an event step left out" in str(result)


def test_no_events_at_all() -> None:
    result = credit(torch.ones(2, 3, 1), torch.ones(2, 1), flags("...", "..."))
    assert all(math.isnan(value) for value in result.mean.values())
    assert (
        repr(result) == "Credit of 2 trajectories, none with an event step: the averages are undefined (NaN)"
    )


def test_the_table_has_the_chance_level() -> None:
    features = double([1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 1.0]).unsqueeze(0)
    lines = repr(credit(features, double([1.0, 0.0]), flags(".1.."))).splitlines()
    assert lines[0] == "Credit of 1 trajectory"
    assert lines[1].split() == ["mean", "chance"]
    assert [line.split() for line in lines[2:]] == [
        ["CiE@1", "0.000", "0.250"],
        ["Prec@|E|", "0.000", "0.250"],
        ["ECM", "0.414", "0.250"],
    ]


# --- laws ---


@law
@given(problems())
def test_uniform_credit_gives_the_event_fraction(problem: tuple[Tensor, Tensor, Tensor]) -> None:
    scores, events, mask = problem
    level = chance_level(events, mask, torch.float64)
    uniform = torch.full_like(scores, 0.37)
    torch.testing.assert_close(event_credit_mass(uniform, events, mask), level)
    # Bit for bit, also where |E| / T has no exact binary form.
    assert torch.equal(precision_at_event_rate(uniform, events, mask), level)
    assert torch.equal(credit_in_event_at_1(uniform, events, mask), level)


@law
@given(problems(ties=True))
def test_rates_lie_between_zero_and_one(problem: tuple[Tensor, Tensor, Tensor]) -> None:
    for rate in RATES:
        value = rate(*problem)
        assert bool(((value >= 0) & (value <= 1)).all())


@law
@given(problems(ties=True), st.integers(0, 1000))
def test_order_of_steps_does_not_matter(problem: tuple[Tensor, Tensor, Tensor], seed: int) -> None:
    order = torch.randperm(problem[0].shape[1], generator=torch.Generator().manual_seed(seed))
    for rate in RATES:
        torch.testing.assert_close(rate(*(part[:, order] for part in problem)), rate(*problem))


@law
@given(problems(ties=True))
def test_ties_are_the_average_over_random_orders(problem: tuple[Tensor, Tensor, Tensor]) -> None:
    """Against what it means: break the ties with small noise many times, and average."""
    scores, events, mask = problem
    scores, events, mask = scores[:1], events[:1], mask[:1]
    noise = torch.rand(4000, scores.shape[1], generator=torch.Generator().manual_seed(1)) * 1e-6
    shape = (4000, -1)
    for rate in (precision_at_event_rate, credit_in_event_at_1):
        broken = rate(scores + noise, events.expand(shape), mask.expand(shape)).mean().item()
        assert rate(scores, events, mask).item() == pytest.approx(broken, abs=0.04)


@law
@given(problems(ties=True))
def test_padding_equals_cutting(problem: tuple[Tensor, Tensor, Tensor]) -> None:
    scores, events, mask = problem
    for rate in RATES:
        padded = rate(scores.masked_fill(~mask, NAN), events, mask)
        cut = [
            rate(*(part[row : row + 1, keep] for part in (scores, events))) for row, keep in enumerate(mask)
        ]
        torch.testing.assert_close(padded, torch.cat(cut))


@law
@given(
    hnp.arrays(np.float64, (2, 5, 3), elements=st.floats(-10, 10, width=16)),
    hnp.arrays(np.float64, (2, 3), elements=st.floats(-10, 10, width=16)),
    st.floats(1e-3, 1e3),
    st.floats(1e-3, 1e3),
)
def test_scores_ignore_scale(features: np.ndarray, pooled: np.ndarray, a: float, b: float) -> None:
    f, p = torch.from_numpy(features), torch.from_numpy(pooled)
    scores = step_scores(f, p)
    assert bool((scores.abs() <= 1).all())
    torch.testing.assert_close(step_scores(a * f, b * p), scores)
    torch.testing.assert_close(step_scores(f, -p), -scores)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_scores_ignore_scales_whose_squares_leave_float32(scale: float) -> None:
    features, pooled = torch.randn(2, 4, 3), torch.randn(2, 3)
    torch.testing.assert_close(step_scores(scale * features, scale * pooled), step_scores(features, pooled))


def batch() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    features, pooled = torch.randn(6, 10, 4), torch.randn(6, 4)
    events = torch.rand(6, 10) < 0.3
    mask = torch.arange(10) < torch.tensor([10, 7, 5, 10, 8, 3])[:, None]
    events[:, 1] = True
    events[4] = False
    return features, pooled, events, mask


FIELDS = ("scores", "positive", "ecm", "precision", "cie", "chance", "counted")


def test_permuting_the_batch_permutes() -> None:
    parts, order = batch(), torch.tensor([3, 5, 0, 1, 4, 2])
    plain, permuted = credit(*parts), credit(*(part[order] for part in parts))
    for name in FIELDS:
        expected = getattr(plain, name)[order]
        torch.testing.assert_close(getattr(permuted, name), expected, rtol=0, atol=0, equal_nan=True)


def test_padding_changes_nothing() -> None:
    features, pooled, events, mask = batch()
    plain = credit(features, pooled, events, mask)
    features = torch.cat([features, torch.full((6, 3, 4), NAN)], 1)
    features[1, 8] = torch.inf
    events = torch.cat([events | ~mask, torch.ones(6, 3, dtype=torch.bool)], 1)
    mask = torch.cat([mask, torch.zeros(6, 3, dtype=torch.bool)], 1)
    padded = credit(features, pooled, events, mask)
    assert not padded.scores[~mask].any()
    for name in FIELDS:
        value = getattr(padded, name)
        value = value[:, :10] if value.ndim == 2 else value
        torch.testing.assert_close(value, getattr(plain, name), equal_nan=True)
    assert padded.mean == pytest.approx(plain.mean)


def test_an_entirely_padded_trajectory_is_left_out() -> None:
    features, pooled, events, mask = batch()
    mask[0] = False
    result = credit(features, pooled, events, mask)
    assert result.counted.tolist() == [False, True, True, True, False, True]
    assert all(math.isfinite(value) for value in result.mean.values())


def test_equal_features_give_exactly_the_chance_level() -> None:
    features = torch.randn(5, 1, 7).expand(5, 37, 7)
    events = torch.rand(5, 37) < 0.3
    result = credit(features, torch.randn(5, 7), events)
    assert torch.equal(result.cie, result.chance)
    assert torch.equal(result.precision, result.chance)


# --- dtype, gradients, validation ---


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype: torch.dtype) -> None:
    features, pooled, events, mask = batch()
    features, pooled = (300 * features).to(dtype), (300 * pooled).to(dtype)
    low, high = credit(features, pooled, events, mask), credit(features.float(), pooled.float(), events, mask)
    assert low.scores.dtype == low.ecm.dtype == low.chance.dtype == torch.float32
    assert torch.equal(low.scores, high.scores)


def test_half_scores_are_widened() -> None:
    scores = torch.full((1, 5000), 0.5, dtype=torch.float16)
    events = torch.arange(5000)[None] < 2500
    for rate in RATES:
        assert rate(scores, events).item() == pytest.approx(0.5)


def test_float64_stays() -> None:
    features, pooled, events, mask = batch()
    result = credit(features.double(), pooled.double(), events, mask)
    assert {getattr(result, name).dtype for name in FIELDS[:-1]} == {torch.float64}


def test_no_gradient() -> None:
    features, pooled, events, mask = batch()
    result = credit(features.requires_grad_(), pooled.requires_grad_(), events, mask)
    assert not any(getattr(result, name).requires_grad for name in FIELDS)


def test_integer_flags_are_booleans() -> None:
    features, pooled, events, mask = batch()
    assert (
        credit(features, pooled, events.int(), mask.long()).mean
        == credit(features, pooled, events, mask).mean
    )


def spoiled(**changes: Tensor) -> dict[str, Tensor]:
    return dict(zip(("features", "pooled", "events", "mask"), batch(), strict=True)) | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": torch.ones(6, 10)}, r"features must have shape \(B, T, D\).*got \(6, 10\)"),
        ({"features": torch.ones(6, 0, 4)}, r"features must have .* none of them 0, got \(6, 0, 4\)"),
        ({"pooled": torch.ones(6, 5)}, r"pooled must have shape \(B, D\) = \(6, 4\), got \(6, 5\)"),
        ({"events": torch.ones(6, 9)}, r"events must have shape \(B, T\) = \(6, 10\), got \(6, 9\)"),
        ({"mask": torch.ones(1, 10)}, r"mask must have shape \(B, T\) = \(6, 10\), got \(1, 10\)"),
        ({"events": torch.ones(6, 10)}, r"events must hold booleans or .* got torch.float32"),
        ({"events": torch.full((6, 10), 2)}, r"events must hold booleans or .* got 2"),
        ({"mask": torch.full((6, 10), -1)}, r"mask must hold booleans or .* got -1"),
        ({"features": torch.ones(6, 10, 4).int()}, r"features must be a floating point .* torch.int32"),
        ({"pooled": torch.ones(6, 4).bool()}, r"pooled must be a floating point .* torch.bool"),
        (
            {"features": torch.full((6, 10, 4), NAN)},
            r"features must be finite at valid steps, got 172 NaN .* row 0, step 0, channel 0",
        ),
        ({"pooled": torch.full((6, 4), torch.inf)}, r"pooled must be finite, got 24 NaN or infinite"),
    ],
)
def test_messages(changes: dict[str, Tensor], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        credit(**spoiled(**changes))


def test_validation_of_values_can_be_switched_off() -> None:
    parts = spoiled()
    parts["features"][0, 0, 0] = NAN
    result = credit(**parts, validate=False)
    # What is not finite must stay visible in every quantity that it touches.
    assert result.ecm[0].isnan()
    assert result.precision[0].isnan()
    assert result.cie[0].isnan()
    assert result.ecm[1:4].isfinite().all()
    with pytest.raises(ValueError, match="pooled must have shape"):
        credit(**spoiled(pooled=torch.ones(6, 5)), validate=False)


# --- given scores ---


def test_the_credit_of_the_cosines_is_the_credit() -> None:
    features, pooled, events, mask = batch()
    expected = credit(features, pooled, events, mask)
    scores = expected.scores.masked_fill(~mask, NAN)
    found = credit_of_scores(scores, events, mask)
    for name in FIELDS:
        assert torch.equal(getattr(found, name).nan_to_num(7.0), getattr(expected, name).nan_to_num(7.0)), (
            name
        )


def test_given_scores_by_hand() -> None:
    # Step 0 has half of the mass and is the best; of the two best steps one is an event.
    found = credit_of_scores(double([0.5, 0.25, 0.25, 0.0], [0.0, 0.0, 1.0, 0.0]), flags("1..1", "...."))
    close(found.ecm, 0.5, NAN)
    close(found.precision, 0.5, NAN)
    close(found.cie, 1.0, NAN)
    close(found.chance, 0.5, NAN)
    assert found.counted.tolist() == [True, False]


@pytest.mark.parametrize("stride", [1, 3])
def test_attention_weights_of_a_strangers_network(stride: int) -> None:
    network, x = Stranger(stride=stride).eval(), torch.randn(5, 2, 30)
    events = torch.zeros(5, 30, dtype=torch.bool)
    events[:, 9:15] = True
    events = events[:, ::stride]
    _, weights = network(x)
    found = credit_of_scores(weights, events)
    assert not found.scores.requires_grad
    torch.testing.assert_close(found.ecm, torch.where(events, weights.detach(), 0).sum(1))
    assert found.mean_chance == pytest.approx(0.2)


def test_given_half_scores_are_widened() -> None:
    found = credit_of_scores(torch.full((1, 5000), 0.5, dtype=torch.float16), torch.arange(5000)[None] < 2500)
    assert found.scores.dtype == torch.float32
    assert found.mean_ecm == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": torch.ones(6, 10, 4)}, r"scores must have shape \(B, T\).*got \(6, 10, 4\)"),
        ({"scores": torch.ones(0, 10)}, r"scores must have .* none of them 0, got \(0, 10\)"),
        ({"scores": torch.ones(6, 10).int()}, r"scores must be a floating point .* torch.int32"),
        ({"scores": torch.full((6, 10), NAN)}, r"scores must be finite at valid steps, got 43 NaN"),
        ({"events": torch.ones(6, 9)}, r"events must have shape \(B, T\) = \(6, 10\), got \(6, 9\)"),
        ({"events": torch.full((6, 10), 2)}, r"events must hold booleans or .* got 2"),
        ({"mask": torch.ones(1, 10)}, r"mask must have shape \(B, T\) = \(6, 10\), got \(1, 10\)"),
    ],
)
def test_messages_of_given_scores(changes: dict[str, Tensor], message: str) -> None:
    features, _, events, mask = batch()
    parts = {"scores": features[..., 0].nan_to_num(), "events": events, "mask": mask} | changes
    with pytest.raises(ValueError, match=message):
        credit_of_scores(**parts)


def test_validation_of_given_scores_can_be_switched_off() -> None:
    scores = double([NAN, 1.0], [0.0, 1.0])
    found = credit_of_scores(scores, flags("1.", "1."), validate=False)
    assert found.cie[0].isnan()
    assert found.cie[1] == 0


@pytest.mark.parametrize("measure", [event_credit_mass, precision_at_event_rate, credit_in_event_at_1])
def test_each_measure_takes_flags_of_zeros_and_ones(measure: Callable[..., Tensor]) -> None:
    scores, events = torch.rand(3, 20), torch.rand(3, 20) < 0.3
    mask = torch.arange(20).expand(3, -1) < 15
    assert torch.equal(measure(scores, events.long(), mask.to(torch.uint8)), measure(scores, events, mask))
    assert torch.equal(chance_level(events.long(), mask.to(torch.uint8)), chance_level(events, mask))
    with pytest.raises(ValueError, match="events must hold booleans or the integers 0 and 1, got 3"):
        measure(scores, 3 * events.long())


def test_the_rows_of_a_head_give_the_credit_of_a_class() -> None:
    """Two kinds of steps, each of which speaks for one of two classes; what both rows share says nothing."""
    features = torch.zeros(2, 6, 2)
    features[:, 1, 0] = features[:, 4, 1] = 1.0
    weight = torch.tensor([[4.0, 2.0], [2.0, 4.0]])
    events = torch.zeros(2, 6, dtype=torch.bool)
    events[:, 4] = True
    of_class = credit(features, (weight - weight.mean(0))[torch.tensor([1, 0])], events)
    assert of_class.cie.tolist() == of_class.ecm.round().tolist() == [1.0, 0.0]


def test_shares_of_credit_add_up_to_one_and_padding_has_none() -> None:
    scores = double([0.6, -0.5, 0.2, 0.9], [-0.1, 0.0, -1.0, 0.3], [0.0, 0.5, 0.5, NAN])
    mask = flags("111.", "111.", "111.")
    shares = credit_shares(scores, mask)
    torch.testing.assert_close(shares, double([0.75, 0, 0.25, 0], [0, 0, 0, 0], [0, 0.5, 0.5, 0]))
    close(credit_shares(scores[:2]).sum(1), 1.0, 1.0)


def test_traces_show_shares_of_credit() -> None:
    features, pooled = torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(1000))
    mask = flags("11111", "111..", "1....")
    shares = credit_shares(step_scores(features, pooled[:, 0]), mask)
    traces = step_traces(features, features, pooled[:, 0], mask=mask)
    torch.testing.assert_close(torch.tensor([trace.credit for trace in traces]), shares)
