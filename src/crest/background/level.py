"""The level: each channel's mean over the window, what AC coupling takes off."""

from crest._base.arrays import Features, StepFlags, StepMask, at_least_float32
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background.slow import SIGMA


@door
def level(signals: Features, mask: StepFlags | None = None) -> Features:
    """Each channel's mean over its valid steps, at every one of them; 0 on padding. In float32 at least.

    Example:
        >>> import torch
        >>> level(torch.tensor([[[1.0], [2.0], [6.0]]])).flatten()
        tensor([3., 3., 3.])
    """
    signals, valid = as_signals("signals", signals, mask)
    return level_background(signals.to(at_least_float32(signals)), valid)


def level_background(signals: Features, mask: StepMask | None, *, sigma: float = SIGMA) -> Features:  # noqa: ARG001
    """`level` in the form of every kind of background: of checked signals, in float32 at least, without a door.

    Example:
        >>> import torch
        >>> level_background(torch.tensor([[[1.0], [3.0]]]), None).flatten()
        tensor([2., 2.])
    """
    if mask is None:
        return signals.mean(1, keepdim=True).expand_as(signals).contiguous()
    valid = mask.unsqueeze(-1)
    mean = signals.masked_fill(~valid, 0.0).sum(1, keepdim=True) / valid.sum(1, keepdim=True).clamp(min=1)
    return mean * valid
