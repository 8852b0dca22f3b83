"""The loudest tone by closed form: where it is, how it drifts, and that noise has none."""

import math

import pytest
import torch

from crest.background.spectrum import LoudestTone, loudest_tone, window_time

STEPS = torch.arange(512, dtype=torch.float64)


def heard(*series: torch.Tensor, energy: float = 0.5) -> LoudestTone:
    stacked = torch.stack(series)
    return loudest_tone(stacked, torch.ones_like(stacked), torch.full((len(stacked),), energy))


def noise(count: int) -> torch.Tensor:
    return torch.randn(count, 512, dtype=torch.float64, generator=torch.Generator().manual_seed(1000))


@pytest.mark.parametrize("frequency", [0.06, 0.3, 1.0, 3.0])
def test_the_frequency_is_found_to_half_a_period_in_the_window(frequency: float) -> None:
    tone = heard(torch.cos(frequency * STEPS + 1) + 0.1 * noise(1)[0])
    assert tone.heard.all()
    assert abs(tone.frequency.item() - frequency) <= math.pi / 512
    assert tone.drift.item() == 0


@pytest.mark.parametrize("drift", [-12.0, -8.0, 8.0, 12.0])
def test_the_drift_is_found(drift: float) -> None:
    tone = heard(torch.cos(0.8 * STEPS + drift * window_time(512, STEPS).square()))
    assert tone.heard.all()
    assert tone.drift.item() == drift
    assert abs(tone.frequency.item() - 0.8) <= math.pi / 512


def test_of_two_the_louder_is_first() -> None:
    both = torch.cos(0.3 * STEPS) + 1.5 * torch.cos(1.2 * STEPS)
    assert abs(heard(both).frequency.item() - 1.2) <= math.pi / 512


def test_noise_zeros_and_slow_waves_have_none() -> None:
    slow = torch.cos(2 * math.pi * 3 * STEPS / 512) + 0.3 * noise(1)[0]
    assert not heard(*noise(50), torch.zeros(512, dtype=torch.float64), slow).heard.any()


def test_a_tone_must_have_its_share_of_the_energy() -> None:
    soft = 1e-3 * torch.cos(0.3 * STEPS)
    assert heard(soft, energy=1e-2).heard.all()
    assert not heard(soft, energy=1.0).heard.any()


def test_steps_without_weight_are_not_seen() -> None:
    series = torch.cos(0.3 * STEPS)
    series[100:140] += 50 * torch.cos(1.3 * STEPS[100:140])
    weights = torch.ones_like(series)
    weights[100:140] = 0
    tone = loudest_tone(series.unsqueeze(0), weights.unsqueeze(0), torch.tensor([0.5]))
    assert tone.heard.all()
    assert abs(tone.frequency.item() - 0.3) <= math.pi / 512


@pytest.mark.parametrize("steady", [True, False])
def test_four_periods_are_enough(steady: bool) -> None:
    series = torch.cos(2 * math.pi * 4 * STEPS / 512).unsqueeze(0)
    tone = loudest_tone(series, torch.ones_like(series), torch.tensor([0.5]), steady=steady)
    assert tone.heard.all()
    assert tone.frequency.item() == pytest.approx(2 * math.pi * 4 / 512, abs=1e-12)
