"""Signals made of the transient of one trajectory and the background of another, or of what is exchanged of it."""

import torch
from torch import Tensor

from crest._base.arrays import Signals, StepMask
from crest.background import split
from crest.background.interpolation import nearest_valid, values_at
from crest.exchange.settings import ExchangeSettings
from crest.nuisances.spectra import with_spectrum


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


def _held(background: Signals, mask: StepMask) -> Signals:
    """The background with that of the nearest valid step on padding; the earlier one of two equally near."""
    return values_at(background, nearest_valid(mask))
