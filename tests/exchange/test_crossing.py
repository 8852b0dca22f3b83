"""What a trajectory gets of another: its background, or the spectrum of it."""

import numpy as np
import pytest
import torch

from crest import ExchangeSettings
from crest.exchange.crossing import CrossedSignals
from crest.nuisances.spectra import with_spectrum

STEPS = 64
SETTINGS = ExchangeSettings()


def wave(periods: float, phase: float, size: float, level: float, steps: int = STEPS) -> torch.Tensor:
    time = torch.arange(steps, dtype=torch.float64) / steps
    return (level + size * torch.cos(2 * torch.pi * periods * time + phase))[:, None]


def signals(count: int = 6, steps: int = STEPS) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(count, steps, 2, generator=generator, dtype=torch.float64).cumsum(1)


def test_a_wave_keeps_its_phase_and_takes_size_and_level() -> None:
    made = with_spectrum(wave(5, 0.3, 1.0, 2.0), wave(5, 1.9, 4.0, -3.0))
    torch.testing.assert_close(made, wave(5, 0.3, 4.0, -3.0))


def test_the_sizes_are_the_lenders_and_the_phases_the_own() -> None:
    own, lender = signals()[:2]
    made = with_spectrum(own, lender)
    sizes, wanted = (np.abs(np.fft.rfft(one.numpy(), axis=0)) for one in (made, lender))
    np.testing.assert_allclose(sizes, wanted, rtol=1e-9)
    phases, kept = (np.angle(np.fft.rfft(one.numpy(), axis=0))[1:-1] for one in (made, own))
    np.testing.assert_allclose(phases, kept, atol=1e-9)
    torch.testing.assert_close(made.mean(0), lender.mean(0))


def test_its_own_spectrum_changes_nothing() -> None:
    own = signals()
    torch.testing.assert_close(with_spectrum(own, own), own)


@pytest.mark.parametrize("steps", [32, 48, 80, 128])
def test_a_lender_of_another_length_lends_by_frequency(steps: int) -> None:
    # The same wave in cycles per step: 4 periods in 64 steps.
    lender = wave(4 * steps / STEPS, 0.0, 3.0, 1.0, steps)
    made = with_spectrum(wave(4, 0.3, 1.0, 0.0), lender)
    sizes = np.abs(np.fft.rfft(made[:, 0].numpy()))
    assert sizes[1:].argmax() == 3
    assert float(made.mean()) == pytest.approx(1.0)
    assert float(made.std(correction=0)) == pytest.approx(3.0 / 2**0.5)


@pytest.mark.parametrize("steps", [20, 63, 64, 200])
def test_a_constant_lender_gives_a_constant(steps: int) -> None:
    made = with_spectrum(signals()[0], torch.full((steps, 2), 10.0, dtype=torch.float64))
    torch.testing.assert_close(made, torch.full((STEPS, 2), 10.0, dtype=torch.float64))


@pytest.mark.parametrize("steps", [60, 100, 300])
def test_noise_of_another_length_keeps_its_deviation(steps: int) -> None:
    noise = torch.randn(2, steps, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    made = with_spectrum(signals()[:2, :, :1], noise)
    torch.testing.assert_close(made.std(1, correction=0), noise.std(1, correction=0))


def test_a_resting_background_gets_no_event_of_the_lenders_making() -> None:
    noise = torch.randn(STEPS, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    made = with_spectrum(torch.full((STEPS, 1), 5.0, dtype=torch.float64), noise)
    torch.testing.assert_close(made, noise)


def test_a_lender_of_twice_the_length_lends_the_same() -> None:
    short, long = wave(5, 0.0, 4.0, 1.0), wave(10, 0.0, 4.0, 1.0, 2 * STEPS)
    own = wave(5, 0.3, 1.0, 0.0)
    torch.testing.assert_close(with_spectrum(own, long), with_spectrum(own, short))


def test_frequencies_that_the_own_background_lacks_are_lent_too() -> None:
    made = with_spectrum(torch.zeros(STEPS, 1, dtype=torch.float64), wave(5, 0.3, 2.0, 1.0))
    assert torch.isfinite(made).all()
    assert float(made.std(correction=0)) == pytest.approx(2.0 / 2**0.5)


def test_on_its_own_background_a_transient_is_the_signal() -> None:
    x = signals()
    parts = CrossedSignals(x, None, SETTINGS)
    (cells,) = parts.cells(torch.tensor([[0, 0], [3, 3], [3, 1]]))
    torch.testing.assert_close(cells[:2], x[[0, 3]], rtol=0, atol=1e-14)
    assert not torch.allclose(cells[2], x[3])


def test_a_mask_of_ones_changes_nothing_and_padding_is_never_read() -> None:
    x = signals()
    pairs = torch.cartesian_prod(torch.arange(6), torch.arange(6))
    (plain,) = CrossedSignals(x, None, SETTINGS).cells(pairs)
    ones = torch.ones(x.shape[:2], dtype=torch.bool)
    masked, valid = CrossedSignals(x, ones, SETTINGS).cells(pairs)
    torch.testing.assert_close(masked, plain)
    assert bool(valid.all())
    short = ones.clone()
    short[::2, 40:] = False
    first = CrossedSignals(x, short, SETTINGS).cells(pairs)[0]
    second = CrossedSignals(x.where(short[..., None], 99.0), short, SETTINGS).cells(pairs)[0]
    torch.testing.assert_close(first, second)
    assert float(first[0, 40:].abs().max()) == 0


def test_the_level_of_a_shorter_lender_is_that_of_its_valid_steps() -> None:
    x = signals(2)
    x[1] += 10
    mask = torch.ones(2, STEPS, dtype=torch.bool)
    mask[1, 24:] = False
    parts = CrossedSignals(x, mask, ExchangeSettings(kind="slow", what="spectrum"))
    made, _ = parts.cells(torch.tensor([[0, 1]]))
    level = (made[0] - parts.transient[0]).mean(0)
    torch.testing.assert_close(level, parts.background[1, :24].mean(0))
