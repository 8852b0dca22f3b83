"""Sizes of frequencies: a series with those of another, its smoothed spectrum, and a series that has another's colour."""

import torch
from torch import Tensor

# Below this share of the largest a frequency is rounding noise of float32, and has no phase.
# our choice: docs/evidence/choices.md#spectra
_LACKS = 1e-6
_TINY = 1e-30
# Bins over which a spectrum is smoothed. our choice: docs/evidence/choices.md#nuisances
COLOUR_BINS = 33


def with_spectrum(own: Tensor, donor: Tensor) -> Tensor:
    """Series (..., T, C) whose frequencies keep their phases and have the size that they have in the donor's.

    The level is the donor's. A donor of another length gives by frequency: its sizes are read off between its own
    frequencies.

    Example:
        >>> steps = torch.arange(8.0)[:, None]
        >>> wave = torch.cos(torch.pi * steps / 2)
        >>> with_spectrum(wave, 3 + 2 * wave.roll(1, 0)).flatten().round()
        tensor([5., 3., 1., 3., 5., 3., 1., 3.])
    """
    steps, others = own.shape[-2], donor.shape[-2]
    course, given = torch.fft.rfft(own, dim=-2), torch.fft.rfft(donor, dim=-2)
    if others != steps:
        given = _read_off(given, torch.arange(course.shape[-2], device=own.device) * (others / steps))
    # A frequency that the own background lacks has no phase: it comes with the donor's. All at phase zero would make a peak.
    length = course.abs()
    has = length > _LACKS * length.amax(-2, keepdim=True)
    made = torch.where(has, given.abs() * course / torch.where(has, length, 1.0), given)
    waves: Tensor = torch.fft.irfft(
        torch.cat([torch.zeros_like(made[..., :1, :]), made[..., 1:, :]], -2), n=steps, dim=-2
    )
    if others != steps:
        # Sizes between two frequencies are not those of noise, nor of a tone: the standard deviation is the donor's.
        wanted, have = (one.std(-2, correction=0, keepdim=True) for one in (donor, waves))
        waves = waves * torch.where(have > 0, wanted / torch.where(have > 0, have, 1.0), 0.0)
    return waves + donor.mean(-2, keepdim=True)


def smoothed_power(series: Tensor, bins: int = COLOUR_BINS) -> Tensor:
    """The power of each frequency (..., F, C) of series (..., T, C), averaged over neighbouring bins.

    Near the ends the average is over the bins that are there. The level, at zero, does not count.

    Example:
        >>> click = torch.zeros(1, 64, 1)
        >>> click[0, 0] = 1.0
        >>> bool(torch.allclose(smoothed_power(click), torch.ones(1, 33, 1)))
        True
    """
    power = torch.fft.rfft(series, dim=-2).abs().square()
    if series.shape[-2] == 1:
        # One step has a level and nothing else.
        return torch.zeros_like(power)
    power = power[..., 1:, :]
    reach = min(bins // 2, power.shape[-2] - 1)
    total = torch.nn.functional.pad(power.cumsum(-2), (0, 0, 1, 0))
    count, last = power.shape[-2], torch.arange(power.shape[-2], device=series.device)
    low, high = (last - reach).clamp(min=0), (last + reach + 1).clamp(max=count)
    width = (high - low).to(power.dtype).unsqueeze(-1)
    smooth = (total[..., high, :] - total[..., low, :]).clamp(min=0) / width
    return torch.cat([smooth[..., :1, :], smooth], -2)


def with_colour(own: Tensor, donor: Tensor) -> Tensor:
    """Series (..., T, C) filtered so that their smoothed spectrum has the shape of the donor's; standard deviation and level stay.

    Example:
        >>> generator = torch.Generator().manual_seed(1000)
        >>> own, donor = torch.randn(2, 1, 256, 1, generator=generator)
        >>> made = with_colour(own, donor)
        >>> round(float(made.std() / own.std()), 3)
        1.0
    """
    steps, others = own.shape[-2], donor.shape[-2]
    mine, given = smoothed_power(own), smoothed_power(donor)
    if others != steps:
        places = torch.arange(mine.shape[-2], device=own.device) * (others / steps)
        given = _read_off(given, places).abs()
    return _filtered(own, given, mine)


def white(series: Tensor) -> Tensor:
    """Series (..., T, C) filtered so that their smoothed spectrum is flat; standard deviation and level stay.

    Example:
        >>> generator = torch.Generator().manual_seed(1000)
        >>> red = torch.randn(1, 512, 1, generator=generator).cumsum(1)
        >>> low, high = smoothed_power(white(red)).flatten().split([128, 129])
        >>> 0.5 < float(low.mean() / high.mean()) < 2
        True
    """
    mine = smoothed_power(series)
    return _filtered(series, torch.ones_like(mine), mine)


def _filtered(series: Tensor, wanted: Tensor, have: Tensor) -> Tensor:
    """Series whose frequencies are scaled by the root of the ratio of two powers, brought back to their standard deviation."""
    level = series.mean(-2, keepdim=True)
    waves = series - level
    floor = _LACKS * have.amax(-2, keepdim=True)
    factor = torch.where(have > floor, (wanted / torch.where(have > floor, have, 1.0)).sqrt(), 0.0)
    made: Tensor = torch.fft.irfft(torch.fft.rfft(waves, dim=-2) * factor, n=series.shape[-2], dim=-2)
    size, now = (one.square().mean(-2, keepdim=True).sqrt() for one in (waves, made))
    # A series that does not vary has no colour to change, and none to give.
    scale = torch.where(now > 0, size / torch.where(now > 0, now, 1.0), 0.0)
    return torch.where((now > 0) & (size > 0), made * scale, waves) + level


def _read_off(given: Tensor, places: Tensor) -> Tensor:
    """Frequencies (..., F, C) with sizes read off at places between whole numbers, and the phases of the nearest.

    The level, at zero, is no neighbour of the lowest wave; the last one is held.
    """
    last = given.shape[-2] - 1
    places = places.clamp(min=min(1, last), max=last)
    low = places.floor().long()
    high, nearest = (low + 1).clamp(max=last), places.round().long()
    part = (places - low).to(given.real.dtype)[:, None]
    sizes = given.abs()
    size = sizes[..., low, :] * (1 - part) + sizes[..., high, :] * part
    beside = given[..., nearest, :]
    return size * torch.where(beside.abs() > 0, beside / beside.abs().clamp(min=_TINY), 1.0)
