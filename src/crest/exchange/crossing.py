"""Signals made of the transient of one trajectory and the background of another, or of what is exchanged of it."""

import torch
from torch import Tensor

from crest._base.arrays import Signals, StepMask
from crest.background import split
from crest.background.interpolation import nearest_valid, values_at
from crest.exchange.settings import ExchangeSettings

# Below this share of the largest a frequency is rounding noise of float32, and has no phase.
# our choice: docs/choices.md#spectra
_LACKS = 1e-6
_TINY = 1e-30


class CrossedSignals:
    """Signals, separated once, and what a function is asked about: the arguments of one call each.

    Args:
        signals: (N, T, C).
        mask: (N, T), True where a step is valid.
        settings: how signals are separated, and what of a background is exchanged.
    """

    def __init__(self, signals: Signals, mask: StepMask | None, settings: ExchangeSettings) -> None:
        self.mask, self.dtype, self.what = mask, signals.dtype, settings.what
        self.background, self.transient = split(signals, settings.kind, mask, sigma=settings.sigma)
        whole = settings.what == "background"
        self.held = _held(self.background, mask) if whole and mask is not None else self.background

    def cells(self, pairs: Tensor) -> tuple[Tensor, ...]:
        """Transients of the first of each pair on the background of the second, or on what is exchanged of it."""
        transient, background = pairs.to(self.transient.device).unbind(1)
        return self._asked(self.transient[transient] + self._under(transient, background), transient)

    def backgrounds(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Backgrounds alone."""
        rows = rows.to(self.background.device)
        return self._asked(self.background[rows], rows)

    def _under(self, own: Tensor, other: Tensor) -> Tensor:
        """The background under a transient: the other's, or the own one with the other's spectrum."""
        if self.what == "background":
            return self.held[other]
        made = (
            with_spectrum(self.background[own], self.background[other])
            if self.mask is None
            else self._of_other_lengths(own, other)
        )
        # On its own background a transient is the signal, to the bit.
        return torch.where((own == other)[:, None, None], self.background[own], made)

    def _of_other_lengths(self, own: Tensor, other: Tensor) -> Tensor:
        """The same for valid steps that differ in number, each row by itself; padding is left as it is."""
        assert self.mask is not None
        made = self.background[own].clone()
        for row, (first, second) in enumerate(zip(own.tolist(), other.tolist(), strict=True)):
            valid = self.mask[first]
            donor = self.background[second][self.mask[second]]
            made[row, valid] = with_spectrum(self.background[first][valid], donor)
        return made

    def _asked(self, made: Tensor, rows: Tensor) -> tuple[Tensor, ...]:
        made = made.to(self.dtype)
        if self.mask is None:
            return (made,)
        mask = self.mask[rows]
        return made.masked_fill(~mask.unsqueeze(-1), 0.0), mask


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
        # Sizes between two frequencies are not those of noise, nor of a tone: the deviation is the donor's.
        wanted, have = (one.std(-2, correction=0, keepdim=True) for one in (donor, waves))
        waves = waves * torch.where(have > 0, wanted / torch.where(have > 0, have, 1.0), 0.0)
    return waves + donor.mean(-2, keepdim=True)


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


def _held(background: Signals, mask: StepMask) -> Signals:
    """The background with that of the nearest valid step on padding; the earlier one of two equally near."""
    return values_at(background, nearest_valid(mask))
