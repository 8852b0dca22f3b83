"""Envelopes against scipy's, and bands against shocks whose resonance is known."""

import pytest
import torch
from torch import Tensor

from crest.remedies.kurtogram import analytic, bands_of, envelope_in_band, most_impulsive_band


def knocks(frequency: float, rows: int = 4, steps: int = 1024, size: float = 4.0) -> Tensor:
    """Noise with shocks that ring at a frequency in cycles per step."""
    x = torch.randn(rows, steps, 1, generator=torch.Generator().manual_seed(1000))
    time = torch.arange(40.0)
    ring = size * torch.exp(-time / 8) * torch.cos(2 * torch.pi * frequency * time)
    for start in range(90, steps - 40, 170):
        x[:, start : start + 40, 0] += ring
    return x


@pytest.mark.parametrize("steps", [64, 65])
def test_the_analytic_signal_is_scipys(steps: int) -> None:
    signal = pytest.importorskip("scipy.signal")
    x = torch.randn(2, steps, 1, generator=torch.Generator().manual_seed(1000), dtype=torch.float64)
    x = x - x.mean(1, keepdim=True)
    expected = torch.from_numpy(signal.hilbert(x.numpy(), axis=1))
    real, other = analytic(x, 0.0, 0.5)
    torch.testing.assert_close(torch.complex(real, other), expected)
    torch.testing.assert_close(envelope_in_band(x, 0.0, 0.5), expected.abs())


def test_a_band_takes_its_frequencies_alone() -> None:
    steps = torch.arange(400, dtype=torch.float64)
    slow, fast = (a * torch.cos(2 * torch.pi * f * steps) for a, f in ((1.0, 0.05), (3.0, 0.3)))
    found = envelope_in_band((slow + fast).reshape(1, -1, 1), 0.2, 0.4)
    torch.testing.assert_close(found, torch.full_like(found, 3.0))
    assert (envelope_in_band(torch.full((1, 64, 1), 3.0), 0.0, 0.5) == 0).all()


@pytest.mark.parametrize("frequency", [0.08, 0.3, 0.45])
def test_the_band_is_where_the_shocks_ring(frequency: float) -> None:
    low, high = most_impulsive_band(knocks(frequency))
    assert low <= frequency <= high
    assert high - low < 0.2


def test_gain_and_offset_and_the_order_of_rows_do_not_move_it() -> None:
    x = knocks(0.3)
    found = most_impulsive_band(x)
    assert most_impulsive_band(1000 * x.flip(0) + 7) == found == most_impulsive_band(x)


def test_masked_rows_count_with_their_valid_steps() -> None:
    x = knocks(0.3)
    mask = torch.arange(1024) < torch.tensor([1024, 700, 0, 1])[:, None]
    low, high = most_impulsive_band(x.masked_fill(~mask.unsqueeze(-1), 1e6), mask)
    assert low <= 0.3 <= high


def test_what_does_not_vary_has_the_whole_band() -> None:
    assert most_impulsive_band(torch.ones(2, 256, 1)) == (0.0, 0.5)
    assert most_impulsive_band(torch.randn(2, 1, 1)) == (0.0, 0.5)


def test_bands_tile_every_level_and_stop_where_they_hold_too_few_bins() -> None:
    assert bands_of(20) == [(0.0, 0.5)]
    levels = {round(0.5 / (high - low)) for low, high in bands_of(1024)}
    assert levels == {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}
    assert len(bands_of(1024)) == sum(levels)
    assert len(bands_of(10**6)) == sum(levels)
