"""The most impulsive band of some signals, by a kurtogram; and the envelope of a band."""

import math

import torch
from torch import Tensor

from crest._base.arrays import Signals, StepMask, at_least_float32
from crest.background.transience import from_first_step

# our choice: docs/evidence/choices.md#kurtogram
_LEAST_BINS = 16
_MOST_BANDS = 32
_LEAST_POWER = 1e-6


def analytic(series: Tensor, low: Tensor | float, high: Tensor | float) -> tuple[Tensor, Tensor]:
    """The part of series (B, T, C) between two frequencies in cycles per step, and its Hilbert transform; no level.

    Example:
        >>> angle = torch.pi / 4 * torch.arange(8.0)
        >>> real, other = analytic(angle.cos().reshape(1, 8, 1), 0.1, 0.2)
        >>> torch.allclose(other.flatten(), angle.sin(), atol=1e-6)
        True
    """
    steps = series.shape[1]
    waves = torch.fft.rfft(series, dim=1)
    frequency = torch.arange(waves.shape[1], device=series.device, dtype=series.dtype) / steps
    inside = ((frequency > 0) & (frequency >= low) & (frequency <= high)).to(series.dtype)[:, None]
    real, imaginary = waves.real * inside, waves.imag * inside
    # A quarter of a period later: times -i. Real and imaginary parts apart, which exports.
    return (
        torch.fft.irfft(torch.complex(real, imaginary), n=steps, dim=1),
        torch.fft.irfft(torch.complex(imaginary, -real), n=steps, dim=1),
    )


def envelope_in_band(series: Tensor, low: Tensor | float, high: Tensor | float) -> Tensor:
    """The size of the analytic signal (B, T, C) in a band.

    Example:
        >>> wave = 3 * torch.cos(torch.pi / 4 * torch.arange(8.0)).reshape(1, 8, 1)
        >>> envelope_in_band(wave, 0.1, 0.2).flatten().round()
        tensor([3., 3., 3., 3., 3., 3., 3., 3.])
    """
    real, other = analytic(series, low, high)
    square = real.square() + other.square()
    # The root of zero has no gradient.
    return torch.where(square > 0, torch.where(square > 0, square, 1.0).sqrt(), 0.0)


def bands_of(steps: int) -> list[tuple[float, float]]:
    """The bands of a kurtogram of that many steps: the whole, and its parts in 2, 3, 4, 6, 8, 12 and so on.

    Each band has 16 frequencies or more.

    Example:
        >>> [(round(low, 3), round(high, 3)) for low, high in bands_of(100)]
        [(0.0, 0.5), (0.0, 0.25), (0.25, 0.5), (0.0, 0.167), (0.167, 0.333), (0.333, 0.5)]
    """
    most = max(1, min(_MOST_BANDS, steps // (2 * _LEAST_BINS)))
    counts = sorted(n for n in {1, *(k * 2**p for k in (2, 3) for p in range(6))} if n <= most)
    return [(0.5 * part / count, 0.5 * (part + 1) / count) for count in counts for part in range(count)]


def most_impulsive_band(signals: Signals, mask: StepMask | None = None) -> tuple[float, float]:
    """The band, in cycles per step, whose envelope has the largest kurtosis, on the mean over trajectories and channels.

    The kurtosis of a band is E|z|^4 / (E|z|^2)^2 - 2 of its analytic signal z: 0 for noise, -1 for a tone, more for
    shocks. A channel with less than 1e-6 of its power in a band counts as 0 there. Of equal bands the first, which is the
    wider one, is taken. The bands are those of the shortest trajectory that has two valid steps or more.

    Example:
        >>> generator = torch.Generator().manual_seed(1000)
        >>> x = torch.randn(4, 1024, 1, generator=generator)
        >>> ring = torch.exp(-torch.arange(40.0) / 8) * torch.cos(2 * torch.pi * 0.3 * torch.arange(40.0))
        >>> for start in (100, 400, 700):
        ...     x[:, start : start + 40, 0] += 4 * ring
        >>> low, high = most_impulsive_band(x)
        >>> low <= 0.3 <= high and high - low < 0.2
        True
    """
    signals, _ = from_first_step(signals.to(at_least_float32(signals)), mask)
    rows = [signals] if mask is None else [row[there][None] for row, there in zip(signals, mask, strict=True)]
    rows = [row for row in rows if row.shape[1] > 1]
    if not rows:
        return 0.0, 0.5
    best, found = -math.inf, (0.0, 0.5)
    for low, high in bands_of(min(row.shape[1] for row in rows)):
        mean = float(torch.cat([_kurtosis(row, low, high).flatten() for row in rows]).mean())
        # Closer than this, rounding would decide.
        if mean > best + 1e-4 * max(1.0, abs(best) if math.isfinite(best) else 1.0):
            best, found = mean, (low, high)
    return found


def _kurtosis(series: Tensor, low: float, high: float) -> Tensor:
    """The spectral kurtosis (B, C) of a band."""
    real, other = analytic(series, low, high)
    power = real.square() + other.square()
    mean = power.mean(1)
    total = (series - series.mean(1, keepdim=True)).square().mean(1)
    has = mean > _LEAST_POWER * total
    return torch.where(has, power.square().mean(1) / torch.where(has, mean, 1.0).square() - 2, 0.0)
