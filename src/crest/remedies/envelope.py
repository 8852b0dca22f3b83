"""The envelope of the inputs in one band: what a bearing's shocks leave of a resonance, whatever rings."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from crest._base.arguments import obeys, require
from crest._base.arrays import at_least_float32, channels_first_of
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background.transience import from_first_step
from crest.nuisances.lengths import on_valid_steps
from crest.nuisances.scale import in_own_units
from crest.remedies.kurtogram import envelope_in_band, most_impulsive_band


@door
class Envelope(nn.Module):
    """The size of each channel's analytic signal in one band (its Hilbert envelope), for the front of a model.

    Nothing is trained. The band is given, or `calibrate` finds the most impulsive one on training signals by a kurtogram
    and keeps it in the `state_dict`. Until then it is the whole band. `crest.repair` calibrates by itself. Without a mask it compiles as
    one graph and exports with dynamic batch and length; rows of several lengths run eagerly.

    It helps if the events are shocks and speed or load change the colour of what rings. It costs if the target is told by
    the sign or the frequency of the signal.

    Args:
        band: a pair, lowest and highest frequency, in cycles per step, or in Hz with `sample_rate`; None for `calibrate` to find.
        sample_rate: in Hz, if the band is.
        standardised: whether the envelope is given less its median, in units of its robust scale.
        channels_first: for signals (B, C, T), as convolutions take them, instead of (B, T, C).
        validate: refuse NaN and infinity at valid steps. Costs one pass over the signals (on a GPU, one
            synchronisation); switch it off for speed.

    Example:
        >>> steps = torch.arange(400.0)
        >>> size = 2 + torch.cos(2 * torch.pi * steps / 100)
        >>> x = (size * torch.cos(2 * torch.pi * steps / 5)).reshape(1, 400, 1)
        >>> found = Envelope((0.15, 0.25), standardised=False)(x).flatten()
        >>> torch.allclose(found, size, atol=1e-3)
        True
    """

    band: Tensor
    """(2,), in cycles per step."""

    def __init__(
        self,
        band: Sequence[float] | None = None,
        *,
        sample_rate: float | None = None,
        standardised: bool = True,
        channels_first: bool = False,
        validate: bool = True,
    ) -> None:
        super().__init__()
        require("standardised", standardised, "be True or False")
        require("channels_first", channels_first, "be True or False")
        require("validate", validate, "be True or False")
        if sample_rate is not None:
            require("sample_rate", sample_rate, "be positive")
        self.given = None if band is None else _in_order(band, sample_rate)
        self.standardised = standardised
        self.channels_first = channels_first
        self.validate = validate
        self.register_buffer("band", torch.tensor(self.given or (0.0, 0.5)))

    def calibrate(self, signals: Tensor, mask: Tensor | None = None) -> "Envelope":
        """Find the most impulsive band on training signals, unless a band was given.

        Args:
            signals: in the layout of `forward`.
            mask: (B, T), True on valid steps.
        """
        series, valid = as_signals("signals", signals.detach(), mask, channels_first=self.channels_first)
        if self.given is None:
            low, high = most_impulsive_band(series, valid)
            self.band.copy_(torch.tensor([low, high]))
        return self

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The envelope, in the dtype of the signals; 0 on padding. The mask is (B, T), True on valid steps."""
        signals, valid = as_signals("x", x, mask, channels_first=self.channels_first, validate=self.validate)
        shifted, _ = from_first_step(signals.to(at_least_float32(signals)), valid)
        made = on_valid_steps(self._size, shifted, valid)
        if self.standardised:
            made = in_own_units(made, valid)
        made = made.to(x.dtype)
        return channels_first_of(made) if self.channels_first else made

    def _size(self, series: Tensor) -> Tensor:
        band = self.band.to(series.device, series.dtype)
        return envelope_in_band(series, band[0], band[1])

    def extra_repr(self) -> str:
        """The band and what differs from the defaults, for `print(model)`."""
        low, high = self.band.tolist()
        parts = [f"band=({low:.4g}, {high:.4g})"]
        parts += [] if self.standardised else ["standardised=False"]
        parts += ["channels_first=True"] if self.channels_first else []
        return ", ".join(parts)


def _in_order(band: Sequence[float], sample_rate: float | None) -> tuple[float, float]:
    """The band in cycles per step."""
    rate = 1.0 if sample_rate is None else sample_rate
    if len(band) != 2 or not all(obeys(one, "be 0 or more") for one in band):
        raise ValueError(f"band must be a pair of frequencies, got {band!r}")
    low, high = band[0] / rate, band[1] / rate
    if not 0 <= low < high <= 0.5:
        unit = "cycles per step" if sample_rate is None else f"Hz at a sample rate of {rate} Hz"
        raise ValueError(f"band must rise and lie in [0, {0.5 * rate}] {unit}, got {band!r}")
    return low, high
