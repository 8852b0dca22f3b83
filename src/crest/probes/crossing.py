"""Signals made of the transient of one trajectory and the background of another, or of what the other lends to it."""

from typing import Literal, TypeAlias

import torch
from torch import Tensor

from crest.arrays import Signals, StepMask
from crest.background import split
from crest.background.interpolation import nearest_valid, values_at

Lent: TypeAlias = Literal["background", "spectrum"]
"""What a trajectory gets of another: the background whole, or how large each of its frequencies is, the level included."""
LENT: tuple[Lent, ...] = ("background", "spectrum")


class Crossed:
    """Signals, separated once, and what a function is asked about: the arguments of one call each.

    Args:
        signals: (N, T, C).
        mask: (N, T), True where a step is valid.
        kind: kind of background.
        sigma: deviation of its Gaussian in steps, where the kind has one.
        lent: what of a background is exchanged.
    """

    def __init__(
        self, signals: Signals, mask: StepMask | None, kind: str, sigma: float, lent: Lent = "background"
    ) -> None:
        self.mask, self.dtype, self.lent = mask, signals.dtype, lent
        self.background, self.transient = split(signals, kind, mask, sigma=sigma)
        self.held = self.background if mask is None else _held(self.background, mask)

    def cells(self, pairs: Tensor) -> tuple[Tensor, ...]:
        """Transients of the first of each pair on what the second lends."""
        transient, background = pairs.to(self.transient.device).unbind(1)
        return self._asked(self.transient[transient] + self._under(transient, background), transient)

    def backgrounds(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Backgrounds alone."""
        rows = rows.to(self.background.device)
        return self._asked(self.background[rows], rows)

    def _under(self, own: Tensor, other: Tensor) -> Tensor:
        """The background under a transient: the other's, or the own one with the other's spectrum."""
        if self.lent == "background":
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
            lender = self.background[second][self.mask[second]]
            made[row, valid] = with_spectrum(self.background[first][valid], lender)
        return made

    def _asked(self, made: Tensor, rows: Tensor) -> tuple[Tensor, ...]:
        made = made.to(self.dtype)
        if self.mask is None:
            return (made,)
        mask = self.mask[rows]
        return made.masked_fill(~mask.unsqueeze(-1), 0.0), mask


def with_spectrum(own: Tensor, lender: Tensor) -> Tensor:
    """Series (..., T, C) whose frequencies keep their phases and have the size that they have in the lender's.

    The level is the lender's. A lender of another length lends by frequency: its sizes are read off between its own
    frequencies.

    Example:
        >>> steps = torch.arange(8.0)[:, None]
        >>> wave = torch.cos(torch.pi * steps / 2)
        >>> with_spectrum(wave, 3 + 2 * wave.roll(1, 0)).flatten().round()
        tensor([5., 3., 1., 3., 5., 3., 1., 3.])
    """
    steps, others = own.shape[-2], lender.shape[-2]
    course, sizes = torch.fft.rfft(own, dim=-2), torch.fft.rfft(lender, dim=-2)
    # A size is a sum over the steps.
    level, sizes = sizes[..., :1, :] * (steps / others), sizes.abs() * (steps / others)
    if others != steps:
        sizes = _read_off(sizes, torch.arange(course.shape[-2], device=own.device) * (others / steps))
    # Not by angles: a frequency of size zero has none.
    length = course.abs()
    phases = torch.where(length > 0, course / torch.where(length > 0, length, 1.0), 1.0)
    made: Tensor = torch.fft.irfft(torch.cat([level, (sizes * phases)[..., 1:, :]], -2), n=steps, dim=-2)
    return made


def _read_off(sizes: Tensor, places: Tensor) -> Tensor:
    """The sizes (..., F, C) at places between whole numbers; the last one is held."""
    places = places.clamp(max=sizes.shape[-2] - 1)
    low = places.floor().long()
    high = (low + 1).clamp(max=sizes.shape[-2] - 1)
    part = (places - low).to(sizes.dtype)[:, None]
    return sizes[..., low, :] * (1 - part) + sizes[..., high, :] * part


def _held(background: Signals, mask: StepMask) -> Signals:
    """The background with that of the nearest valid step on padding; the earlier one of two equally near."""
    return values_at(background, nearest_valid(mask))
