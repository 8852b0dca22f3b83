"""The sums and softmaxes that readouts share; what every readout must obey is in tests/contracts."""

import pytest
import torch

from crest.readouts import READOUTS, CrestReadout, make_readout, signal_budget
from crest.readouts.base import (
    checked_inputs,
    equal_weights,
    learned_vector,
    masked_softmax,
    scaled_scores,
    weighted_sum,
)
from crest.readouts.fast import backend

LEARNED = [name for name in READOUTS if [*make_readout(name, 4).parameters()]]


def test_a_masked_softmax_is_that_of_the_valid_steps_alone() -> None:
    logits = torch.tensor([[0.3, 90.0, -0.7, 1.1], [5.0, 6.0, 7.0, 8.0]])
    mask = torch.tensor([[True, False, True, True], [False] * 4])
    weights = masked_softmax(logits, mask)
    torch.testing.assert_close(weights[0, mask[0]], torch.softmax(logits[0, mask[0]], 0))
    assert weights[~mask].tolist() == [0.0] * 5


def test_half_precision_is_added_up_in_single() -> None:
    features = torch.full((1, 4096, 1), 0.1, dtype=torch.float16)
    weights = equal_weights(torch.ones(1, 4096, dtype=torch.bool), features)
    assert weights.dtype == torch.float32
    pooled = weighted_sum(features, weights)
    assert pooled.dtype == torch.float16
    assert pooled.item() == features[0, 0, 0].item()


def test_no_step_has_no_weight() -> None:
    assert equal_weights(torch.zeros(1, 3, dtype=torch.bool), torch.zeros(1, 3, 2)).tolist() == [[0.0] * 3]


def test_scores_are_over_the_root_of_the_width() -> None:
    scores = scaled_scores(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), torch.tensor([1.0, 0.0, 0.0, 1.0]))
    assert scores.tolist() == [[2.5]]


def test_a_learned_vector_starts_with_unit_length_in_any_direction() -> None:
    torch.manual_seed(1000)
    made = torch.stack([learned_vector(400).detach() for _ in range(50)])
    assert made.norm(dim=1).mean() == pytest.approx(1.0, abs=0.05)
    assert made.mean().abs() < 0.002


def test_padding_is_zeroed_whatever_it_holds() -> None:
    features = torch.tensor([[[1.0], [float("nan")], [3.0]]])
    clean, mask, _ = checked_inputs(features, torch.tensor([[1, 0, 1]]))
    assert clean.flatten().tolist() == [1.0, 0.0, 3.0]
    assert mask is not None
    assert mask.tolist() == [[True, False, True]]


@pytest.mark.parametrize("name", ["attention", "windowed", "registers"])
@pytest.mark.parametrize("how", ["float16", "bfloat16", "autocast"])
def test_large_features_in_half_precision_are_pooled_as_in_full(name: str, how: str) -> None:
    """A dot product of 512 channels at 600 is beyond float16, and so is its negative, which would lose to padding."""
    readout = make_readout(name, 512).eval()
    for weight in readout.parameters():
        weight.data.fill_(-0.5)
    features = torch.full((1, 40, 512), 600.0)
    features[:, :20] += 20.0
    mask = torch.arange(40)[None] < 30
    expected = readout(features, mask)
    if how == "autocast":
        with torch.autocast("cpu", dtype=torch.float16):
            found = readout(features, mask)
    else:
        dtype = getattr(torch, how)
        found = readout.to(dtype)(features.to(dtype), mask).float()
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=0)


@pytest.mark.parametrize("name", READOUTS)
@pytest.mark.parametrize("size", [1e30, 3e38])
@pytest.mark.parametrize("code", ["numba", "torch"])
def test_features_near_the_end_of_their_range_are_pooled_as_smaller_ones_are(
    name: str, size: float, code: str
) -> None:
    """In one unit or another: a power of two apart, all digits are the same."""
    unit = torch.rand(4, 80, 6) - 0.5
    unit[:, 30:33] *= 2
    # Softmax scores are saturated from here on, whatever the unit.
    features = (unit / unit.abs().max() * size).requires_grad_()
    smaller = (features.detach() / 2.0**70).requires_grad_()
    readout = make_readout(name, 6)
    with backend(code):
        pooled, expected = readout(features), readout(smaller) * 2.0**70
        weights = readout.step_weights(features)
        pooled.sum().backward()
    assert not pooled.isnan().any()
    assert weights.isfinite().all()
    if name not in LEARNED:
        # The derivative of a score is as large as the features, and its product with them beyond any range.
        assert features.grad is not None
        assert features.grad.isfinite().all()
    known = expected.isfinite()
    torch.testing.assert_close(pooled[known], expected[known], rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.unchecked
def test_features_of_a_wider_dtype_than_the_weights_are_refused_by_name(name: str) -> None:
    readout = make_readout(name, 4)
    message = r"^features must have the dtype of the readout's weights, torch.float32, or a narrower one, got torch.float64: "
    for method in (readout.forward, readout.step_weights):
        with pytest.raises(ValueError, match=message):
            method(torch.randn(2, 40, 4, dtype=torch.float64))
    narrow = torch.randn(2, 40, 4).half()
    assert readout(narrow).dtype == torch.float16
    with pytest.raises(ValueError, match=r"weights, torch\.float16"):
        readout.half()(narrow.float())


@pytest.mark.parametrize("code", ["numba", "torch"])
def test_a_negated_view_is_read_as_the_numbers_that_it_holds(code: str) -> None:
    view = torch.randn(8, 60, 3, dtype=torch.complex64).conj().imag
    assert view.is_neg()
    plain = view.resolve_neg()
    with backend(code):
        for readout in (CrestReadout(run_up=3), CrestReadout()):
            torch.testing.assert_close(readout(view), readout(plain), rtol=0, atol=0)
        assert signal_budget(view) == signal_budget(plain)
