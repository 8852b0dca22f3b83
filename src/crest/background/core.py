"""The background around the events: the signal with its transient core interpolated out."""

import torch

from crest._base.arguments import require
from crest._base.arrays import Features, StepFlags, StepMask, at_least_float32, valid_steps
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background.interpolation import interpolated
from crest.background.slow import SIGMA
from crest.background.transience import (
    channel_transience,
    dilate,
    selected_count,
    top_steps,
    transience_profile,
)

# our choice: docs/evidence/choices.md#backgrounds
BUDGET = 0.25
_DILATION = 2


@door
def transient_core(
    signals: Features, mask: StepFlags | None = None, *, sigma: float = SIGMA, budget: float = BUDGET
) -> StepMask:
    """The steps (B, T) that CREST's selection takes on the signals themselves, all channels together.

    Of the valid steps the share `budget` with the highest transience, averaged over channels, widened to both sides.
    No step without a residual is among them.

    Example:
        >>> signals = torch.zeros(1, 64, 2)
        >>> signals[0, 20] = 1.0
        >>> transient_core(signals, budget=0.05)[0].nonzero().flatten()
        tensor([18, 19, 20, 21, 22])
    """
    signals, flags = as_signals("signals", signals, mask)
    require("sigma", sigma, "be positive")
    require("budget", budget, "lie in (0, 1)")
    return _core_steps(signals, flags, sigma, budget)


def _core_steps(signals: Features, mask: StepMask | None, sigma: float, budget: float) -> StepMask:
    """`transient_core` of checked signals."""
    valid = valid_steps(mask, signals[..., 0])
    signals = signals.detach().to(at_least_float32(signals)).masked_fill(~valid.unsqueeze(-1), 0.0)
    profile = transience_profile(channel_transience(signals, valid, sigma)).unsqueeze(-1)
    share = torch.full_like(profile[:, 0], budget)
    count = selected_count(share, valid.sum(1, keepdim=True), _DILATION)
    count = count.minimum((profile > 0).sum(1)).clamp(min=1)
    top = top_steps(profile, count, valid) & (profile > 0)
    return dilate(top, _DILATION, valid).squeeze(-1)


@door
def around_core(
    signals: Features, mask: StepFlags | None = None, *, sigma: float = SIGMA, budget: float = BUDGET
) -> Features:
    """The signals with their transient core replaced by a line between its neighbours; 0 on padding.

    Example:
        >>> signals = torch.linspace(0, 1, 64).reshape(1, 64, 1).clone()
        >>> around = around_core(torch.where(torch.arange(64)[None, :, None] == 20, 5.0, signals), budget=0.05)
        >>> float((around - signals).abs().max()) < 1e-6
        True
    """
    signals, valid = as_signals("signals", signals, mask)
    require("sigma", sigma, "be positive")
    require("budget", budget, "lie in (0, 1)")
    return core_background(signals, valid, sigma=sigma, budget=budget)


def core_background(
    signals: Features, mask: StepMask | None, *, sigma: float, budget: float = BUDGET
) -> Features:
    """`around_core` in the form of every kind of background: of checked signals, without a door.

    Example:
        >>> core_background(torch.ones(1, 3, 1), None, sigma=6.0).flatten()
        tensor([1., 1., 1.])
    """
    valid = valid_steps(mask, signals[..., 0])
    core = _core_steps(signals, valid, sigma, budget)
    signals = signals.to(at_least_float32(signals)).masked_fill(~valid.unsqueeze(-1), 0.0)
    return interpolated(signals, core, valid)
