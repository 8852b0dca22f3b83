"""The level against NumPy's mean."""

import torch

from crest.background import level


def test_it_is_the_mean_over_valid_steps_and_nothing_elsewhere() -> None:
    signals = torch.randn(3, 20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.equal(level(signals), signals.mean(1, keepdim=True).expand(3, 20, 2))
    mask = torch.arange(20)[None] < torch.tensor([[20], [7], [0]])
    dirty = signals.masked_fill(~mask.unsqueeze(-1), float("nan"))
    result = level(dirty, mask)
    torch.testing.assert_close(result[1, :7], signals[1, :7].mean(0).expand(7, 2))
    assert (result[1, 7:] == 0).all()
    assert (result[2] == 0).all()


def test_half_precision_is_added_up_in_more() -> None:
    result = level(torch.ones(1, 4000, 1, dtype=torch.float16))
    assert result.dtype == torch.float32
    assert (result == 1).all()
