"""Sizes of frequencies: exchanged, smoothed, made flat."""

import pytest
import torch
from torch import Tensor

from crest.nuisances.spectra import COLOUR_BINS, smoothed_power, white, with_colour, with_spectrum


def noise(rows: int = 3, steps: int = 512, seed: int = 1000) -> Tensor:
    numbers = torch.Generator().manual_seed(seed)
    return torch.randn(rows, steps, 2, generator=numbers, dtype=torch.float64)


def red(rows: int = 3, steps: int = 512, seed: int = 1001) -> Tensor:
    walk = noise(rows, steps, seed).cumsum(1)
    return walk - walk.mean(1, keepdim=True)


def shape(series: Tensor) -> Tensor:
    power = smoothed_power(series)
    return power / power.mean(1, keepdim=True)


def test_the_smoothed_power_is_a_mean_over_bins() -> None:
    x = noise()
    power = torch.fft.rfft(x, dim=1).abs().square()
    middle, half = 100, COLOUR_BINS // 2
    torch.testing.assert_close(
        smoothed_power(x)[:, middle], power[:, middle - half : middle + half + 1].mean(1)
    )
    # At the ends over the bins that are there, and never over the level.
    torch.testing.assert_close(smoothed_power(x + 50)[:, 1], power[:, 1 : half + 2].mean(1))
    torch.testing.assert_close(smoothed_power(x)[:, -1], power[:, -1 - half :].mean(1))


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
def test_short_series_have_a_spectrum(steps: int) -> None:
    x = noise(steps=steps)
    assert smoothed_power(x).shape == torch.fft.rfft(x, dim=1).shape
    for made in (white(x), with_colour(x, red()), with_colour(red(), x), with_spectrum(x, red())):
        assert made.isfinite().all()


def test_the_own_spectrum_and_colour_give_the_series() -> None:
    x = red() + 3
    torch.testing.assert_close(with_spectrum(x, x), x)
    torch.testing.assert_close(with_colour(x, x), x)


def test_colour_is_the_donors_and_size_and_level_are_the_own() -> None:
    x, donor = noise() + 4, 9 * red()
    made = with_colour(x, donor)
    torch.testing.assert_close(made.std(1), x.std(1))
    torch.testing.assert_close(made.mean(1), x.mean(1))
    # Half an order of magnitude in a spectrum that has four.
    error = (shape(made)[:, 1:] / shape(donor)[:, 1:]).log10().abs()
    assert float(error.mean()) < 0.5 < float((shape(x)[:, 1:] / shape(donor)[:, 1:]).log10().abs().mean())


def test_a_donor_of_another_length_gives_by_frequency() -> None:
    x, donor = noise(steps=300), red(steps=600)
    short, whole = with_colour(x, donor), with_colour(noise(steps=600), donor)
    low = [shape(one)[:, : one.shape[1] // 20].mean() for one in (short, whole)]
    assert 0.5 < float(low[0] / low[1]) < 2


def test_white_is_flat_and_what_is_flat_stays_flat() -> None:
    made = white(red())
    torch.testing.assert_close(made.std(1), red().std(1))
    assert float(shape(made)[:, 20:].log10().abs().max()) < 0.5 < float(shape(red()).log10().abs().max())


def test_a_constant_has_no_colour_to_give_or_to_lose() -> None:
    flat = torch.full((1, 64, 2), 5.0, dtype=torch.float64)
    assert torch.equal(white(flat), flat)
    assert torch.equal(with_colour(flat, noise(1, 64)), flat)
    x = noise(1, 64)
    torch.testing.assert_close(with_colour(x, flat), x)
