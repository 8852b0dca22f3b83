"""Take offset and gain off the inputs: each window in units of its own."""

import torch
from torch import Tensor, nn

from crest._base.arguments import require
from crest._base.arrays import channels_first_of
from crest._base.doors import door
from crest._base.tensors import as_mask, require_series
from crest.nuisances.scale import in_own_units


@door
class Standardise(nn.Module):
    """Each channel less its median over the window, in units of a robust scale, for the front of a model. No parameters.

    What speed and load do first to an accelerometer is to change its gain. This takes the gain off, and the offset too. A
    brief event does not change the scale, so a large event stays larger than a small one on the same background. A
    channel that does not vary gives zeros.

    It costs if the size of the whole signal is what the target follows.

    Args:
        robust: False takes mean and standard deviation instead.
        channels_first: for signals (B, C, T), as convolutions take them, instead of (B, T, C).

    Example:
        >>> x = torch.randn(2, 500, 1)
        >>> layer = Standardise()
        >>> torch.allclose(layer(3 * x + 7), layer(x), atol=1e-4)
        True
    """

    def __init__(self, *, robust: bool = True, channels_first: bool = False) -> None:
        super().__init__()
        require("robust", robust, "be True or False")
        require("channels_first", channels_first, "be True or False")
        self.robust = robust
        self.channels_first = channels_first

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The standardised signals, in their dtype; 0 on padding. The mask is (B, T), True on valid steps."""
        if not torch.compiler.is_compiling():
            require_series("x", x, "(B, C, T)" if self.channels_first else "(B, T, C)")
        signals = x.transpose(1, 2) if self.channels_first else x
        made = in_own_units(signals, as_mask(mask, signals), robust=self.robust).to(x.dtype)
        return channels_first_of(made) if self.channels_first else made

    def extra_repr(self) -> str:
        """What differs from the defaults, for `print(model)`."""
        parts = [] if self.robust else ["robust=False"]
        parts += ["channels_first=True"] if self.channels_first else []
        return ", ".join(parts)
