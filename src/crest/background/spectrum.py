"""The loudest tone of a series: a peak that stands out of the spectrum's noise."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

# our choice: docs/evidence/choices.md#tones
_LEAST_PERIODS = 4
_LOUDER = 30.0
_SHARE = 1e-5
_BLOCK = 32
_TILT = 2.0
_DRIFTS = (0.0, -4.0, 4.0, -8.0, 8.0, -12.0, 12.0, -16.0, 16.0)
_STEADY = 1.2


class LoudestTone(NamedTuple):
    """A tone for each of N series: its phase at the window's time t in [-1, 1] is frequency * step + drift * t^2."""

    frequency: Tensor  # (N,) in the middle of the window, in radians per step
    drift: Tensor  # (N,) in radians
    heard: Tensor  # (N,) whether there is one


def window_time(steps: int, like: Tensor) -> Tensor:
    """Time over a window, from -1 to 1, in float64."""
    return torch.linspace(-1, 1, steps, dtype=torch.float64, device=like.device)


def loudest_tone(series: Tensor, weights: Tensor, energy: Tensor, *, steady: bool = False) -> LoudestTone:
    """The loudest tone of each series (N, T), to the nearest half period in the window.

    Args:
        series: in float64, without level and trend.
        weights: (N, T) in [0, 1]; what has none is not seen.
        energy: (N,) the mean square of which a tone must have a share.
        steady: whether tones do not drift.

    Example:
        >>> series = torch.cos(0.5 * torch.arange(256, dtype=torch.float64)).unsqueeze(0)
        >>> tone = loudest_tone(series, torch.ones_like(series), torch.tensor([0.5]))
        >>> tone.heard, tone.frequency.round(decimals=2)
        (tensor([True]), tensor([0.5000], dtype=torch.float64))
    """
    steps = series.shape[1]
    window = torch.hann_window(steps, periodic=False, dtype=torch.float64, device=series.device) * weights
    seen = window * series
    # Twice the steps: two bins for each period in the window.
    power = torch.fft.rfft(seen, n=2 * steps).abs().square()
    inner = power[:, 1:-1]
    peak = (
        (inner > power[:, :-2]) & (inner >= power[:, 2:]) & (inner > _LOUDER * _noise_level(power)[:, 1:-1])
    )
    # A cosine of amplitude a has the peak (a sum(window) / 2)^2 and the mean square a^2 / 2.
    peak &= inner > (_SHARE / 2 * energy * window.sum(1).square()).unsqueeze(1)
    peak[:, : 2 * _LEAST_PERIODS - 1] = False
    heard = peak.any(1)
    frequency, drift = seen.new_zeros(len(seen)), seen.new_zeros(len(seen))
    if heard.any():
        place = torch.where(peak, inner, 0.0).argmax(1) + 1
        if steady:
            return LoudestTone(math.pi / steps * place.to(torch.float64), drift, heard)
        frequency[heard], drift[heard] = _gathered(seen[heard], place[heard])
    return LoudestTone(frequency, drift, heard)


def _noise_level(power: Tensor) -> Tensor:
    """The spectrum's level (N, F): medians of blocks of bins, joined by lines in the logarithm."""
    bins = power.shape[1]
    blocks = max(bins // (2 * _BLOCK), 1)
    size = bins // blocks
    middle = power[:, : blocks * size].reshape(-1, blocks, size).median(2).values
    middle = middle.clamp(min=torch.finfo(torch.float64).tiny).log()
    line = torch.nn.functional.interpolate(middle.unsqueeze(1), size=blocks * size, mode="linear")
    line = torch.nn.functional.pad(line, (0, bins - blocks * size), mode="replicate").squeeze(1)
    if blocks > 1:
        # Red noise still rises below the first centre: by the power of the frequency between the first two.
        below = torch.arange(bins, device=power.device).clamp(min=1).div(size / 2).clamp(max=1).log()
        line = line + (middle[:, 1:2] - middle[:, :1]).clamp(-_TILT, 0) / math.log(3) * below
    return line.exp()


def _gathered(seen: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """The frequency near a bin, and the linear drift, that gather most of a tone in one place."""
    steps = seen.shape[1]
    drifts = torch.tensor(_DRIFTS, dtype=torch.float64, device=seen.device)
    still = torch.exp(-1j * drifts.unsqueeze(1) * window_time(steps, seen).square())
    power = torch.fft.fft(seen.unsqueeze(1) * still, n=2 * steps)[..., :steps].abs().square()
    bins = torch.arange(steps, device=seen.device)
    near = ((bins - place.unsqueeze(1)).abs() <= _BLOCK) & (bins >= 2 * _LEAST_PERIODS)
    power = power.masked_fill(~near.unsqueeze(1), 0.0)
    power[:, 0] *= _STEADY
    best = power.flatten(1).argmax(1)
    return math.pi / steps * (best % steps).to(torch.float64), drifts[best // steps]
