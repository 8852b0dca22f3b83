"""The few numbers by which a reader sees one part of each signal, for cues in the data.

Parts are (B, T, C) and come back as (B, F), the numbers of all channels side by side. `floor` is the size below which a part
is rounding: the logarithm of a rounding error follows the level that was taken away, and would tell it.
"""

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool1d, pad

from crest.nuisances.spectra import smoothed_power

# our choice: docs/evidence/choices.md#cues
BANDS = 16
"""Numbers by which a reader sees a course or a spectrum."""
_CORE_BANDS = 8
_RANKS = (0.0, 0.002, 0.01, 0.02, 0.05, 0.1, 0.2)


def course_numbers(slow: Tensor) -> Tensor:
    """A slow course: its means over sixteenths of the window, the sizes of its eight slowest waves, its size.

    Example:
        >>> course_numbers(torch.zeros(2, 100, 3)).shape
        torch.Size([2, 75])
    """
    means = adaptive_avg_pool1d(slow.transpose(1, 2), BANDS)
    waves = torch.fft.rfft(slow, dim=1).abs()[:, 1 : BANDS // 2 + 1] * (2 / slow.shape[1])
    waves = pad(waves, (0, 0, 0, BANDS // 2 - waves.shape[1]))
    return torch.cat([means.flatten(1), waves.flatten(1), _size(slow)], 1)


def tone_numbers(tones: Tensor, floor: float) -> Tensor:
    """Tones: their size in sixteen bands, their size, its logarithm, and the frequency of the loudest in periods per step.

    Example:
        >>> wave = torch.cos(torch.pi / 4 * torch.arange(64.0)).reshape(1, 64, 1)
        >>> round(float(tone_numbers(wave, 1e-5)[0, -1]), 3)
        0.125
    """
    T = tones.shape[1]
    power = torch.fft.rfft(tones, dim=1).abs().square() * (2 / T) ** 2
    bands = adaptive_avg_pool1d(power.transpose(1, 2), BANDS).sqrt()
    size = _size(tones)
    loudest = power.argmax(1) / T * (size > floor)
    return torch.cat([bands.flatten(1), size, _log(size, floor), loudest], 1)


def gain_numbers(gain: Tensor, floor: float) -> Tensor:
    """The logarithm of the gain (B, 1, C).

    Example:
        >>> gain_numbers(torch.tensor([[[1.0]], [[0.0]]]), 1.0)
        tensor([[0.],
                [0.]])
    """
    return _log(gain.flatten(1), floor)


def colour_numbers(rest: Tensor, floor: float) -> Tensor:
    """The shape of the smoothed spectrum in sixteen bands, as logarithms around their mean: no gain is in it.

    Example:
        >>> noise = torch.randn(1, 256, 1, generator=torch.Generator().manual_seed(1000))
        >>> bool(torch.allclose(colour_numbers(noise, 1e-5), colour_numbers(3 * noise, 1e-5), atol=1e-4))
        True
    """
    power = smoothed_power(rest)[:, 1:].transpose(1, 2) / rest.shape[1]
    # Noise of this size has this power in each of its frequencies.
    shape = _log(adaptive_avg_pool1d(power, BANDS), floor**2)
    return (shape - shape.mean(2, keepdim=True)).flatten(1)


def core_numbers(brief: Tensor, floor: float) -> Tensor:
    """What is brief: its largest sizes, its extremes, moments, energies in bands, and how much of the time it takes.

    Args:
        brief: the signal less its background around the core (B, T, C); 0 outside the core.
        floor: the size below which it is rounding.

    Example:
        >>> click = torch.zeros(1, 64, 1)
        >>> click[0, 30] = -2.0
        >>> core_numbers(click, 1e-5)[0, [0, 7, 8]]
        tensor([ 2.,  0., -2.])
    """
    T = brief.shape[1]
    ordered = brief.abs().sort(1, descending=True).values
    sizes = ordered[:, [int(share * T) for share in _RANKS]]
    size = brief.square().mean(1, keepdim=True).sqrt()
    there = size > floor
    # The moments of what is no more than rounding would be those of the rounding.
    unit = torch.where(there, brief / size.clamp(min=floor), 0.0)
    moments = [unit.pow(power).mean(1, keepdim=True) for power in (1, 3, 4)]
    high = unit.abs() > unit.abs().amax(1, keepdim=True) / 2
    rises = (high[:, 1:] & ~high[:, :-1]).sum(1, keepdim=True) / T
    power = torch.fft.rfft(brief, dim=1).abs().square()[:, 1:] / T
    bands = adaptive_avg_pool1d(power.transpose(1, 2), _CORE_BANDS)
    numbers = [
        *(sizes, brief.amax(1, keepdim=True), brief.amin(1, keepdim=True), brief.mean(1, keepdim=True)),
        *(size, _log(size, floor), _log(ordered[:, :1], floor), *moments),
        *(high.to(brief.dtype).mean(1, keepdim=True), rises),
    ]
    return torch.cat([*(one.flatten(1) for one in numbers), _log(bands, floor**2).flatten(1)], 1)


def _size(part: Tensor) -> Tensor:
    return part.square().mean(1).sqrt()


def _log(values: Tensor, floor: float) -> Tensor:
    return values.clamp(min=floor).log()
