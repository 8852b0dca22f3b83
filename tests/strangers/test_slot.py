import pytest
import torch

import crest


def test_channels_first_without_kept_dimension() -> None:
    slot = crest.strangers.PoolingSlot(crest.MeanReadout(), "channels_first")
    x = torch.randn(4, 3, 60)
    torch.testing.assert_close(slot(x), x.mean(2))
    assert repr(slot).startswith("PoolingSlot(\n  layout='channels_first', keepdim=False")


@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
def test_a_mask_goes_through_as_booleans_or_as_zeros_and_ones(layout: str) -> None:
    slot = crest.strangers.PoolingSlot(crest.CrestReadout("trajectory"), layout)
    features, mask = torch.randn(4, 60, 3), torch.arange(60) < torch.tensor([[60], [30], [5], [0]])
    given = features if layout == "channels_last" else features.transpose(1, 2)
    expected = slot.readout(features, mask)
    torch.testing.assert_close(slot(given, mask), expected, rtol=0, atol=0)
    torch.testing.assert_close(slot(given, mask.long()), expected, rtol=0, atol=0)
