"""Take the background off the inputs: the oldest remedy against a smooth cue, and the first to try."""

from torch import Tensor, nn

from crest._base.arguments import require
from crest._base.arrays import at_least_float32, channels_first_of
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background.separation import background_of, kinds_of, separated
from crest.background.slow import SIGMA
from crest.background.transience import from_first_step

# What these leave does not depend on the level. Without it nothing of a small transient on a large level is rounded away.
_TAKES_LEVEL = ("level", "slow", "core")


@door
class HighPass(nn.Module):
    """The signals less their background, for the front of a model. No parameters.

    `HighPass("level")` is AC coupling: each channel less its mean over the window. `HighPass("slow")` is a high-pass
    filter: each channel less its Gaussian low-pass. "level" and "slow" compile as one graph and export with dynamic
    batch and length; the other kinds run eagerly.

    It helps if the cue is in the background and the target is not. It costs if the background is needed to read
    the event, such as a load that sets how large the event is.

    Args:
        kind: a kind of background, or several joined by "+"; see `crest.background.split`.
        sigma: standard deviation of the Gaussian in steps, for kinds that have one.
        channels_first: for signals (B, C, T), as convolutions take them, instead of (B, T, C).
        validate: refuse NaN and infinity at valid steps. Costs one pass over the signals (on a GPU, one
            synchronisation); switch it off for speed.

    Example:
        >>> import torch
        >>> HighPass("level")(torch.tensor([[[1.0], [2.0], [6.0]]])).flatten()
        tensor([-2., -1.,  3.])
        >>> model = nn.Sequential(HighPass(channels_first=True), nn.Conv1d(3, 8, 5))
        >>> model(torch.randn(2, 3, 100)).shape
        torch.Size([2, 8, 96])
    """

    def __init__(
        self, kind: str = "slow", *, sigma: float = SIGMA, channels_first: bool = False, validate: bool = True
    ) -> None:
        super().__init__()
        kinds_of(kind)
        require("sigma", sigma, "be positive")
        require("channels_first", channels_first, "be True or False")
        require("validate", validate, "be True or False")
        self.kind = kind
        self.sigma = sigma
        self.channels_first = channels_first
        self.validate = validate

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """What is transient in the signals, in their dtype; 0 on padding. The mask is (B, T), True on valid steps."""
        signals, valid = as_signals("x", x, mask, channels_first=self.channels_first, validate=self.validate)
        signals = signals.to(at_least_float32(signals))
        if kinds_of(self.kind)[0] in _TAKES_LEVEL:
            signals, _ = from_first_step(signals, valid)
        transient = separated(signals, background_of(self.kind), valid, self.sigma).transient.to(x.dtype)
        return channels_first_of(transient) if self.channels_first else transient

    def extra_repr(self) -> str:
        """The kind, and what differs from the defaults, for `print(model)`."""
        parts = [repr(self.kind)]
        parts += [f"sigma={self.sigma}"] if self.sigma != SIGMA else []
        parts += ["channels_first=True"] if self.channels_first else []
        return ", ".join(parts)
