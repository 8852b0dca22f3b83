"""Take offset and gain off the inputs: each window in units of its own."""

from torch import Tensor, nn

from crest._base.arguments import require
from crest._base.arrays import channels_first_of
from crest._base.doors import door
from crest._base.tensors import as_signals
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
        validate: refuse NaN and infinity at valid steps. Costs one pass over the signals (on a GPU, one
            synchronisation); switch it off for speed.

    Example:
        >>> import torch
        >>> x = torch.randn(2, 500, 1)
        >>> layer = Standardise()
        >>> torch.allclose(layer(3 * x + 7), layer(x), atol=1e-4)
        True
    """

    def __init__(self, *, robust: bool = True, channels_first: bool = False, validate: bool = True) -> None:
        super().__init__()
        require("robust", robust, "be True or False")
        require("channels_first", channels_first, "be True or False")
        require("validate", validate, "be True or False")
        self.robust = robust
        self.channels_first = channels_first
        self.validate = validate

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The standardised signals, in their dtype; 0 on padding. The mask is (B, T), True on valid steps."""
        signals, valid = as_signals("x", x, mask, channels_first=self.channels_first, validate=self.validate)
        made = in_own_units(signals, valid, robust=self.robust).to(x.dtype)
        return channels_first_of(made) if self.channels_first else made

    def extra_repr(self) -> str:
        """What differs from the defaults, for `print(model)`."""
        parts = [] if self.robust else ["robust=False"]
        parts += ["channels_first=True"] if self.channels_first else []
        return ", ".join(parts)
