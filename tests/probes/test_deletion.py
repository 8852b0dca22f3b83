"""Interpolation against NumPy, deletion on functions that read known steps."""

import pytest
import torch
from hypothesis import settings
from torch import Tensor

from crest.probes import (
    DeletionCurve,
    deletion,
    deletion_by,
    error_without,
    evaluating,
    interpolate_out,
    macro_f1,
)
from crest.probes.deletion import highest_rated
from stranger import Stranger

NAN = float("nan")
law = settings(max_examples=60, deadline=None)  # a loaded machine is not a failure


def everything(ratings: Tensor) -> Tensor:
    return torch.ones_like(ratings, dtype=torch.bool)


@pytest.mark.parametrize(
    ("fraction", "count"), [(0.0, 0), (0.04, 0), (0.05, 1), (0.1, 1), (0.25, 3), (1.0, 10)]
)
def test_number_of_removed_steps(fraction: float, count: int) -> None:
    ratings = torch.randn(3, 10)
    removed = next(highest_rated(ratings, [fraction], everything(ratings)))
    assert removed.sum(1).tolist() == [count] * 3
    floor = torch.where(removed, ratings, torch.inf).amin(1)
    assert bool((torch.where(removed, -torch.inf, ratings).amax(1) <= floor).all())


def test_the_fraction_is_of_the_valid_steps() -> None:
    ratings, mask = torch.arange(8.0)[None], torch.tensor([[True] * 4 + [False] * 4])
    assert next(highest_rated(ratings, [0.5], mask)).nonzero()[:, 1].tolist() == [2, 3]


def test_the_earlier_of_two_equal_steps_goes_first() -> None:
    ratings = torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0]])
    assert next(highest_rated(ratings, [0.6], everything(ratings))).nonzero()[:, 1].tolist() == [0, 1, 3]


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool])
def test_padding_is_never_among_the_highest(dtype: torch.dtype) -> None:
    lowest = 0 if dtype in (torch.uint8, torch.bool) else torch.iinfo(dtype).min
    ratings, mask = torch.full((1, 6), lowest, dtype=dtype), torch.tensor([[False, True] * 3])
    ratings[:, 0] = 1
    assert next(highest_rated(ratings, [0.67], mask)).nonzero()[:, 1].tolist() == [1, 3]


def test_whole_numbers_are_ranked_as_they_are() -> None:
    large = 2**60 + torch.arange(10).repeat(2, 1)
    assert next(highest_rated(large, [0.1], everything(large))).nonzero()[:, 1].tolist() == [9, 9]
    inputs, targets = bumps()
    ratings = torch.full((2, 10), 2**24)
    ratings[:, 2] += 1
    assert deletion(third_step, inputs, targets, ratings, (0.1,)).harm[1] == pytest.approx(12.5**0.5)


def third_step(inputs: Tensor) -> Tensor:
    return inputs[:, 2, 0]


def bumps() -> tuple[Tensor, Tensor]:
    """Zero but for step 2, which carries the target."""
    targets = torch.tensor([3.0, -4.0])
    inputs = torch.zeros(2, 10, 1)
    inputs[:, 2, 0] = targets
    return inputs, targets


def test_removing_what_the_function_reads_is_all_the_harm() -> None:
    inputs, targets = bumps()
    reads = torch.zeros(2, 10)
    reads[:, 2] = 1.0
    curve = deletion(third_step, inputs, targets, reads, fractions=(0.1, 0.2))
    assert curve.fractions == (0.0, 0.1, 0.2)
    assert curve.errors == pytest.approx((0.0, 12.5**0.5, 12.5**0.5))
    assert curve.harm == curve.errors
    # Rated last, the step survives until the end: neighbours are interpolated, it is not.
    late = deletion(third_step, inputs, targets, -reads, fractions=(0.0, 0.5, 0.9, 1.0))
    assert late.errors[:3] == (0.0, 0.0, 0.0)
    assert late.errors[3] == pytest.approx(0.9 * 12.5**0.5)


def test_harm_is_against_the_untouched_error() -> None:
    inputs, targets = bumps()
    curve = deletion(third_step, inputs, targets + 1, inputs.squeeze(-1).abs(), fractions=(0.1,))
    assert curve.errors[0] == pytest.approx(1.0)
    assert curve.harm == pytest.approx((0.0, (((4.0) ** 2 + 3.0**2) / 2) ** 0.5 - 1.0))


def test_a_given_set_of_steps() -> None:
    inputs, targets = bumps()
    events = inputs.squeeze(-1) != 0
    assert error_without(third_step, inputs, targets, events) == pytest.approx(12.5**0.5)
    assert error_without(third_step, inputs, targets, ~events) == 0.0
    assert error_without(third_step, inputs, targets, events, ~events) == 0.0


def test_a_column_of_predictions_does_not_broadcast_against_targets() -> None:
    inputs, targets = bumps()
    assert error_without(lambda x: x[:, 2], inputs, targets, torch.zeros(2, 10).bool()) == 0.0
    assert error_without(third_step, inputs, targets[:, None], torch.zeros(2, 10).bool()) == 0.0


def test_another_error_and_no_gradient() -> None:
    inputs, targets = bumps()
    seen = []

    def watched(x: Tensor) -> Tensor:
        seen.append(torch.is_grad_enabled())
        return third_step(x)

    curve = deletion(
        watched, inputs.requires_grad_(), targets, inputs.detach().squeeze(-1).abs(), (0.1,),
        error=lambda prediction, target: (prediction - target).abs().max(),
    )  # fmt: skip
    assert curve.errors == (0.0, 4.0)
    assert seen == [False, False]


def test_padding_changes_nothing() -> None:
    inputs, targets, ratings = torch.randn(3, 8, 2), torch.randn(3), torch.randn(3, 8)
    plain = deletion(lambda x: x[:, :8].sum((1, 2)), inputs, targets, ratings)
    mask = torch.arange(11).expand(3, 11) < 8
    inputs = torch.cat([inputs, torch.full((3, 3, 2), NAN)], 1)
    ratings = torch.cat([ratings, torch.full((3, 3), NAN)], 1)
    padded = deletion(lambda x: x[:, :8].sum((1, 2)), inputs, targets, ratings, mask=mask)
    assert padded.errors == pytest.approx(plain.errors)


def test_the_curve_prints_its_points() -> None:
    assert repr(DeletionCurve((0.0, 0.125), (1.0, 2.5))) == "DeletionCurve(0: 1, 0.125: 2.5)"


def call(**changes: object) -> DeletionCurve:
    inputs, targets = bumps()
    arguments = {"inputs": inputs, "targets": targets, "ratings": torch.zeros(2, 10)} | changes
    return deletion(arguments.pop("function", third_step), **arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fractions": (0.5, 0.1)}, r"fractions must be increasing and lie in \[0, 1\], got \(0.5, 0.1\)"),
        ({"fractions": (0.5, 1.5)}, r"fractions must .* got \(0.5, 1.5\)"),
        ({"fractions": (-0.1,)}, r"fractions must .* got \(-0.1,\)"),
        ({"fractions": (NAN,)}, r"fractions must .* got \(nan,\)"),
        ({"inputs": torch.zeros(2, 10)}, r"inputs must have shape \(B, T, C\).*got \(2, 10\)"),
        ({"targets": torch.zeros(3)}, r"targets must be a tensor of shape .* B = 2, got \(3,\)"),
        ({"targets": torch.tensor([NAN, 0.0])}, "targets must be finite, got 1"),
        ({"ratings": torch.zeros(2, 9)}, r"ratings must have shape \(B, T\) = \(2, 10\), got \(2, 9\)"),
        ({"ratings": torch.full((2, 10), NAN)}, "ratings must be finite at valid steps, got 20"),
        ({"mask": torch.ones(2, 9)}, r"mask must have shape \(B, T\) = \(2, 10\), got \(2, 9\)"),
        ({"function": lambda x: x}, r"function must return .* got \(2, 10, 1\)"),
        ({"ratings": torch.zeros(2, 10).cfloat()}, r"ratings must hold real numbers, got torch.complex64"),
        ({"inputs": torch.full((2, 10, 1), NAN)}, "inputs must be finite, got 20 NaN"),
        ({"inputs": torch.full((2, 10, 1), -torch.inf)}, "inputs must be finite, got 20 NaN"),
        ({"function": lambda x: third_step(x) * NAN}, "predictions of function must be finite, got 2 NaN"),
        ({"error": lambda x, y: (x - y).sum() * NAN}, "error of the predictions must be finite, got nan"),
    ],
)
def test_messages(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(**changes)


def test_messages_of_interpolation() -> None:
    with pytest.raises(ValueError, match=r"remove_mask must have shape \(B, T\) = \(2, 5\), got \(2, 4\)"):
        interpolate_out(torch.zeros(2, 5, 1), torch.zeros(2, 4).bool())
    with pytest.raises(ValueError, match=r"remove_mask must hold booleans .* got torch.float32"):
        interpolate_out(torch.zeros(2, 5, 1), torch.zeros(2, 5))


def test_ratings_may_be_counts() -> None:
    inputs, targets = bumps()
    votes = torch.arange(20).reshape(2, 10)
    assert deletion(third_step, inputs, targets, votes) == deletion(
        third_step, inputs, targets, votes.double()
    )


# --- several ratings and the events ---


def test_curves_are_those_of_each_rating_and_of_the_events() -> None:
    inputs, targets = bumps()
    events = inputs.squeeze(-1) != 0
    ratings = {"reads": events.double(), "late": -events.double(), "votes": events.long()}
    curves = deletion_by(third_step, inputs, targets, ratings, (0.1, 0.5), events=events)
    assert list(curves) == ["reads", "late", "votes", "events"]
    for name, rating in ratings.items():
        assert curves[name] == deletion(third_step, inputs, targets, rating, (0.1, 0.5))
    assert curves["events"].fractions == pytest.approx((0.0, 0.1))
    assert curves["events"].errors == pytest.approx((0.0, 12.5**0.5))


def test_events_are_needed_for_their_curve_only() -> None:
    inputs, targets = bumps()
    assert set(deletion_by(third_step, inputs, targets, {"flat": torch.zeros(2, 10)})) == {"flat"}
    assert set(deletion_by(third_step, inputs, targets, {}, events=torch.zeros(2, 10).int())) == {"events"}


def test_without_an_event_step_nothing_is_removed() -> None:
    inputs, targets = bumps()
    (curve,) = deletion_by(third_step, inputs, targets + 1, {}, events=torch.zeros(2, 10).bool()).values()
    assert curve == DeletionCurve((0.0, 0.0), (1.0, 1.0))


def test_the_share_of_the_events_is_of_the_valid_steps() -> None:
    inputs, targets = bumps()
    mask = torch.arange(10).expand(2, 10) < 5
    events = torch.zeros(2, 10, dtype=torch.bool)
    events[:, [2, 8]] = True
    curves = deletion_by(third_step, inputs, targets, {}, events=events, mask=mask)
    assert curves["events"].fractions == pytest.approx((0.0, 0.2))
    assert curves["events"].errors == pytest.approx((0.0, 12.5**0.5))


def test_another_error_reaches_every_curve() -> None:
    inputs, targets = bumps()
    events = inputs.squeeze(-1) != 0
    curves = deletion_by(
        third_step, inputs, targets, {"reads": events.double()}, (0.1,), events=events,
        error=lambda prediction, target: (prediction - target).abs().max(),
    )  # fmt: skip
    assert [curve.errors for curve in curves.values()] == [(0.0, 4.0), (0.0, 4.0)]


@pytest.mark.parametrize("stride", [1, 3])
def test_a_strangers_network(stride: int) -> None:
    network, inputs = Stranger(stride=stride), torch.randn(6, 30, 2)
    events = torch.zeros(6, 30, dtype=torch.bool)
    events[:, 10:14] = True
    with evaluating(network):
        targets = network.answers(inputs)
        weights = network(inputs.transpose(1, 2))[1].repeat_interleave(stride, 1)
        curves = deletion_by(network.answers, inputs, targets, {"weights": weights}, events=events)
        changed = interpolate_out(inputs, events)
        expected = (network.answers(changed) - targets).square().mean().sqrt()
    assert curves["weights"].errors[0] == 0
    assert curves["weights"].errors[-1] > 0
    assert curves["events"].errors == pytest.approx((0.0, expected.item()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ratings": {}}, "ratings must hold at least one rating if no events are given, got none"),
        ({"ratings": {"events": torch.zeros(2, 10)}}, "ratings must not have the name 'events'"),
        (
            {"ratings": {"a": torch.zeros(2, 9)}},
            r"ratings must have shape \(B, T\) = \(2, 10\), got \(2, 9\)",
        ),
        ({"ratings": {"a": torch.full((2, 10), NAN)}}, "ratings must be finite at valid steps, got 20"),
        ({"events": torch.zeros(2, 9).bool()}, r"events must have shape \(B, T\) = \(2, 10\), got \(2, 9\)"),
        ({"events": torch.zeros(2, 10)}, r"events must hold booleans .* got torch.float32"),
        (
            {"ratings": {}, "events": torch.zeros(2, 10).bool(), "inputs": torch.zeros(2, 10)},
            r"inputs must have shape \(B, T, C\).*got \(2, 10\)",
        ),
        ({"targets": torch.tensor([NAN, 0.0])}, "targets must be finite, got 1"),
    ],
)
def test_messages_of_several_ratings(changes: dict[str, object], message: str) -> None:
    inputs, targets = bumps()
    arguments = {"inputs": inputs, "targets": targets, "ratings": {"a": torch.zeros(2, 10)}} | changes
    with pytest.raises(ValueError, match=message):
        deletion_by(third_step, **arguments)


def two_classes(inputs: Tensor) -> Tensor:
    """Logits (B, 2): the second class is a bump at step 2."""
    return torch.stack((torch.ones(len(inputs)), third_step(inputs)), 1)


def test_what_a_classifier_loses_is_told_by_wrong_classes_or_by_one_output() -> None:
    inputs, classes, ratings = torch.zeros(2, 10, 1), torch.tensor([1, 0]), torch.zeros(2, 10)
    inputs[0, 2] = 8.0
    ratings[:, 2] = 1.0
    # Without its bump, the first is taken for the other class.
    curve = deletion(two_classes, inputs, classes, ratings, [0.1])
    assert curve.errors == (0.0, 0.5)
    assert deletion_by(two_classes, inputs, classes, {"a": ratings}, [0.1])["a"] == curve
    by_f1 = deletion(two_classes, inputs, classes, ratings, [0.1], error=lambda p, t: 1 - macro_f1(p, t))
    assert by_f1.errors == pytest.approx((0.0, 2 / 3))
    one = deletion(two_classes, inputs, torch.tensor([8.0, 0.0]), ratings, [0.1], target=1)
    assert one.errors == pytest.approx((0.0, (8**2 / 2) ** 0.5))
    each = deletion_by(
        two_classes,
        inputs,
        torch.tensor([8.0, 1.0]),
        {"a": ratings},
        [0.1],
        events=ratings > 0,
        target=classes,
    )
    assert each["a"].errors == each["events"].errors == pytest.approx(one.errors)


def test_a_classifier_needs_classes_or_a_target() -> None:
    inputs, removed = torch.zeros(2, 10, 1), torch.zeros(2, 10, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"got \(2, 2\): target= says which of its outputs is asked for"):
        error_without(two_classes, inputs, torch.tensor([0.5, 1.0]), removed)
    with pytest.raises(ValueError, match="got the numbers of the classes themselves: leave target out"):
        error_without(two_classes, inputs, torch.tensor([0, 1]), removed, target=torch.tensor([0, 1]))


def test_one_hot_targets_are_class_numbers() -> None:
    inputs, ratings, classes = torch.randn(6, 20, 2), torch.rand(6, 20), torch.arange(6) % 3
    hot = torch.nn.functional.one_hot(classes, 3)

    def logits(x: Tensor) -> Tensor:
        return torch.stack([x.mean((1, 2)), x.amax((1, 2)), x.amin((1, 2))], 1)

    assert deletion(logits, inputs, hot, ratings) == deletion(logits, inputs, classes, ratings)
    with pytest.raises(ValueError, match=r"^targets must be .*got \(6, 3\): of several columns pass one"):
        deletion(logits, inputs, hot + hot.roll(1, 1), ratings)
    with pytest.raises(ValueError, match="of several columns pass one"):
        deletion(logits, inputs, hot, ratings, target=1)
