"""The level: each channel's mean over the window, what AC coupling takes off."""

import torch

from crest._base.arrays import Features, StepFlags, at_least_float32, valid_steps
from crest._base.doors import door
from crest._base.tensors import as_mask, require_series


@door
def level(signals: Features, mask: StepFlags | None = None) -> Features:
    """Each channel's mean over its valid steps, at every one of them; 0 on padding. In float32 at least.

    Example:
        >>> level(torch.tensor([[[1.0], [2.0], [6.0]]])).flatten()
        tensor([3., 3., 3.])
    """
    if not torch.compiler.is_compiling():
        require_series("signals", signals, "(B, T, C)")
    signals = signals.to(at_least_float32(signals))
    if mask is None:
        return signals.mean(1, keepdim=True).expand_as(signals).contiguous()
    valid = valid_steps(as_mask(mask, signals), signals[..., 0]).unsqueeze(-1)
    mean = signals.masked_fill(~valid, 0.0).sum(1, keepdim=True) / valid.sum(1, keepdim=True).clamp(min=1)
    return mean * valid
