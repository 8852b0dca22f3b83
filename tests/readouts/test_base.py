"""The sums and softmaxes that readouts share; what every readout must obey is in tests/contracts."""

import pytest
import torch

from crest.readouts import make_readout
from crest.readouts.base import checked_inputs, equal_weights, masked_softmax, scaled_scores, weighted_sum


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


def test_padding_is_zeroed_whatever_it_holds() -> None:
    features = torch.tensor([[[1.0], [float("nan")], [3.0]]])
    clean, mask = checked_inputs(features, torch.tensor([[1, 0, 1]]))
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
