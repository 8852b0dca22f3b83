"""Which steps are transient: the residual r_tj of each channel, its average r_t, and the steps M_tj that rank highest."""

import numpy as np
import torch
from torch import Tensor

from crest._base.arrays import (
    Features,
    PerProfile,
    Pooled,
    Profile,
    Selection,
    StepCounts,
    StepMask,
    at_least_float32,
)
from crest.background.slow import SIGMA, Background, slow_background

RESIDUAL_GUARD = 1e-12
"""Guard of the division by a sum of residuals.

Our choice: docs/evidence/choices.md#delta
"""

RESIDUAL_FLOOR = 1e-5
"""Residuals below this share of the channel's reach are none.

Our choice: docs/evidence/choices.md#ties-masks-and-the-empty-rest
"""

# A budget such as 0.1 of 500 steps lands a rounding error above a whole number: it must not cost a step.
# our choice: docs/evidence/choices.md#ties-masks-and-the-empty-rest
_ROUNDING = 1e-5

RANKING_TIE = 1e-5
"""Steps that are closer than this share of the largest are tied.

Our choice: docs/evidence/choices.md#ties-masks-and-the-empty-rest
"""

# In units of a dtype's resolution: what convolutions leave as rounding of residuals, which are in units of the reach.
# our choice: docs/evidence/choices.md#ties-masks-and-the-empty-rest
_RESOLVED = 16


def residual_resolution(dtype: torch.dtype) -> float:
    """Residuals, in units of the channel's reach, that are closer than this are tied: rounding would tell them apart.

    Example:
        >>> residual_resolution(torch.float32) < 2e-6
        True
    """
    return _RESOLVED * torch.finfo(dtype).eps


def from_first_step(features: Features, mask: StepMask | None = None) -> tuple[Features, Pooled]:
    """Features less each channel's first valid step, and that step (B, D); padding becomes 0.

    Residuals and contrasts do not change, but a constant becomes exactly zero instead of rounding noise. The
    first step is detached: when it is taken off and added again, its gradients cancel.

    Example:
        >>> from_first_step(torch.tensor([[[0.1], [0.1], [0.3]]]))[0].flatten()
        tensor([0.0000, 0.0000, 0.2000])
    """
    if mask is None:
        first = features[:, 0].detach()
        return features - first.unsqueeze(1), first
    start = mask.to(torch.int64).argmax(1)
    first = features.detach().gather(1, start[:, None, None].expand(-1, 1, features.shape[2])).squeeze(1)
    first = first.masked_fill(~mask.any(1, keepdim=True), 0.0)
    return (features - first.unsqueeze(1)).masked_fill(~mask.unsqueeze(-1), 0.0), first


def channel_transience(
    features: Features,
    mask: StepMask | None = None,
    sigma: float = SIGMA,
    delta: float = RESIDUAL_GUARD,
    background: Background = slow_background,
) -> Features:
    """r_tj: each channel's distance from its background, the paper's low-pass, normalised to sum to one over time.

    In float32 at least. Padded steps are 0, and so is a constant channel. Residuals below 1e-5 of the
    channel's range are 0: that is where rounding begins, and what it leaves must not be ranked.

    Example:
        >>> features = torch.zeros(1, 64, 1)
        >>> features[0, 20] = 1.0
        >>> int(channel_transience(features).argmax())
        20
    """
    shifted, _ = from_first_step(features.to(at_least_float32(features)), mask)
    return shifted_transience(shifted, mask, sigma, delta, background)


def shifted_transience(
    shifted: Features, mask: StepMask | None, sigma: float, delta: float, background: Background
) -> Features:
    """`channel_transience` of features that `from_first_step` gave.

    Example:
        >>> features = torch.tensor([[[4.0], [4.0], [7.0]]])
        >>> shifted, _ = from_first_step(features)
        >>> shifted_transience(shifted, None, 6.0, 1e-12, slow_background).equal(channel_transience(features))
        True
    """
    residual = shifted_residuals(shifted, mask, sigma, background)
    # A clamp where the paper adds delta: ONNX's optimiser drops an addition this small, and 0/0 follows.
    return residual / residual.sum(1, keepdim=True).clamp(min=delta)


def shifted_residuals(
    shifted: Features, mask: StepMask | None, sigma: float, background: Background
) -> Features:
    """Each channel's distance from its background in units of its reach, of features that `from_first_step` gave.

    Example:
        >>> shifted_residuals(torch.tensor([[[0.0], [0.0], [8.0]]]), None, 100.0, slow_background).flatten().round(decimals=2)
        tensor([0.3300, 0.3300, 0.6700])
    """
    # In units of the channel's range, so that neither delta nor the float's limits see the features' scale.
    reach = shifted.abs().amax(1, keepdim=True)
    shifted = shifted / torch.where(reach > 0, reach, 1.0)
    residual = (shifted - background(shifted, mask, sigma=sigma)).abs()
    return torch.nn.functional.threshold(residual, RESIDUAL_FLOOR, 0.0)


def transience_profile(transience: Features) -> Profile:
    """r_t: the average of r_tj over channels."""
    return transience.mean(-1)


def selected_count(epsilon: PerProfile, steps: Tensor, dilation: int) -> Tensor:
    """K' = ceil(epsilon T / (2d + 1)), at least 1.

    Example:
        >>> selected_count(torch.tensor([0.1, 0.1]), torch.tensor([500, 501]), dilation=2)
        tensor([10, 11])
    """
    exact = epsilon * steps / (2 * dilation + 1)
    # By comparison, not by a factor just below one: ONNX's optimiser removes such a factor.
    whole = torch.round(exact)
    count = torch.where((exact - whole).abs() <= _ROUNDING * whole, whole, torch.ceil(exact))
    return count.clamp(min=1).to(torch.int64)


# An operator of its own, so that compiled graphs and torch.func see one node and not a call into NumPy.
# `torch.library.custom_op` would do the same, but its first call loads all of torch._dynamo.
torch.library.define("crest::ascending", "(Tensor series) -> Tensor")


@torch.library.impl("crest::ascending", "CompositeExplicitAutograd")
def _sorted_by_torch(series: Tensor) -> Tensor:
    return series.contiguous().sort(dim=-1).values


@torch.library.impl("crest::ascending", "CPU")
def _sorted_by_numpy(series: Tensor) -> Tensor:
    """NumPy's sort of floats is vectorised, some ten times faster than torch's on a CPU."""
    return torch.from_numpy(np.sort(series.contiguous().numpy(), axis=-1))


@torch.library.register_fake("crest::ascending")  # type: ignore[untyped-decorator]
def _sorted_shape(series: Tensor) -> Tensor:
    return torch.empty_like(series, memory_format=torch.contiguous_format)


def in_order(series: Tensor) -> Tensor:
    """Values sorted along the last axis, the smallest first.

    Example:
        >>> in_order(torch.tensor([2.0, 3.0, 1.0]))
        tensor([1., 2., 3.])
    """
    if torch.compiler.is_exporting():
        return series.sort(dim=-1).values
    ordered: Tensor = torch.ops.crest.ascending(series)
    return ordered


def top_steps(
    ranking: Features,
    count: Tensor | int,
    mask: StepMask | None = None,
    resolution: Tensor | None = None,
) -> Selection:
    """The `count` highest valid steps of each channel; steps tied with the last one are all in.

    A tie is a difference below 1e-5 of the channel's largest value, or below the resolution if that is more: closer than
    that, rounding would decide.

    Args:
        ranking: what to rank by, per step and channel.
        count: how many steps: one number, one per trajectory (B,) or (B, 1), or one per channel (B, D).
        mask: valid steps.
        resolution: (B, 1, D), how far apart values must be to be told apart.

    Example:
        >>> ranking = torch.tensor([[[0.1], [0.9], [0.5], [0.9]]])
        >>> top_steps(ranking, 1).flatten()
        tensor([False,  True, False,  True])
    """
    ranking = ranking.detach().to(torch.promote_types(ranking.dtype, torch.float32))
    tie = RANKING_TIE * ranking.abs().amax(1).unsqueeze(-1)
    if resolution is not None:
        tie = tie.maximum(resolution.transpose(1, 2))
    if mask is not None:
        ranking = ranking.masked_fill(~mask.unsqueeze(-1), -torch.inf)
    series = ranking.transpose(1, 2)
    count = torch.as_tensor(count, device=series.device)
    count = count.unsqueeze(-1) if count.ndim == 1 else count
    place = (series.shape[-1] - count).clamp(min=0).expand(series.shape[0], series.shape[1])
    last = in_order(series).gather(2, place.unsqueeze(-1))
    selected = (series >= last - tie).transpose(1, 2)
    return selected if mask is None else selected & mask.unsqueeze(-1)


def dilate(selected: Selection, radius: int, mask: StepMask | None = None) -> Selection:
    """M_tj: each selected step widened by `radius` steps to both sides; padding stays out.

    Example:
        >>> dilate(torch.tensor([[[False], [False], [True], [False]]]), radius=1).flatten()
        tensor([False,  True,  True,  True])
    """
    steps = selected.shape[1]
    # As bytes: torch 2.13's compiler writes C++ that does not build where a padded boolean meets a mask.
    padded = torch.nn.functional.pad(selected.transpose(1, 2).to(torch.uint8), (radius, radius))
    wide = padded[..., :steps]
    for shift in range(1, 2 * radius + 1):
        wide = wide | padded[..., shift : shift + steps]
    wide = wide.transpose(1, 2).to(torch.bool)
    return wide if mask is None else wide & mask.unsqueeze(-1)


def vote_count(selected: Selection) -> StepCounts:
    """How many channels selected each step."""
    return selected.sum(-1)
