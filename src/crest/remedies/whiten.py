"""Take gain and colour off the inputs: each window divided by its own smoothed spectrum."""

import torch
from torch import Tensor, nn

from crest._base.arguments import require
from crest._base.arrays import at_least_float32, channels_first_of
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background.transience import from_first_step
from crest.nuisances.lengths import on_valid_steps
from crest.nuisances.spectra import white


@door
class Whiten(nn.Module):
    """Each channel AC-coupled, divided by its smoothed spectrum, with standard deviation 1. No parameters.

    The smoothed spectrum of a window is its colour: resonances, the path to the sensor, the speed. What is brief keeps its
    phases and its place. A channel that does not vary gives zeros. Without a mask it compiles as one graph and exports
    with dynamic batch and length; rows of several lengths run eagerly.

    It costs if the target is told by the colour, as that of a bearing by its resonance.

    Args:
        channels_first: for signals (B, C, T), as convolutions take them, instead of (B, T, C).
        validate: refuse NaN and infinity at valid steps. Costs one pass over the signals (on a GPU, one
            synchronisation); switch it off for speed.

    Example:
        >>> made = Whiten()(torch.randn(2, 500, 1).cumsum(1))
        >>> made.mean(1).abs().max() < 1e-4, made.std(1, correction=0).flatten().round(decimals=3)
        (tensor(True), tensor([1., 1.]))
    """

    def __init__(self, *, channels_first: bool = False, validate: bool = True) -> None:
        super().__init__()
        require("channels_first", channels_first, "be True or False")
        require("validate", validate, "be True or False")
        self.channels_first = channels_first
        self.validate = validate

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The white signals, in their dtype; 0 on padding. The mask is (B, T), True on valid steps."""
        signals, valid = as_signals("x", x, mask, channels_first=self.channels_first, validate=self.validate)
        shifted, _ = from_first_step(signals.to(at_least_float32(signals)), valid)
        made = on_valid_steps(_unit_white, shifted, valid).to(x.dtype)
        return channels_first_of(made) if self.channels_first else made

    def extra_repr(self) -> str:
        """What differs from the defaults, for `print(model)`."""
        return "channels_first=True" if self.channels_first else ""


def _unit_white(series: Tensor) -> Tensor:
    """White series (B, T, C) with mean 0 and standard deviation 1."""
    made = white(series - series.mean(1, keepdim=True))
    square = made.square().mean(1, keepdim=True)
    return made / torch.where(square > 0, square, 1.0).sqrt()
