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
    smaller_size,
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

# Steps below which a sort is as fast as a partition.
# our choice: docs/evidence/choices.md#the-last-selected-step
_SHORT = 1024

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


def first_step(features: Features, mask: StepMask | None = None) -> Pooled:
    """Each channel's first valid step (B, D), without gradients; 0 in a trajectory without a valid step.

    Example:
        >>> first_step(torch.tensor([[[0.1], [0.3]]]), torch.tensor([[False, True]]))
        tensor([[0.3000]])
    """
    features = features.detach()
    if mask is None:
        return features[:, 0]
    start = mask.to(torch.int64).argmax(1)
    first = features.gather(1, start[:, None, None].expand(-1, 1, features.shape[2])).squeeze(1)
    return first.masked_fill(~mask.any(1, keepdim=True), 0.0)


def from_first_step(features: Features, mask: StepMask | None = None) -> tuple[Features, Pooled]:
    """Features less each channel's first valid step, and that step (B, D); padding becomes 0.

    Residuals and contrasts do not change, but a constant becomes exactly zero instead of rounding noise. The
    first step is detached: when it is taken off and added again, its gradients cancel.

    Example:
        >>> from_first_step(torch.tensor([[[0.1], [0.1], [0.3]]]))[0].flatten()
        tensor([0.0000, 0.0000, 0.2000])
    """
    first = first_step(features, mask)
    shifted = features - first.unsqueeze(1)
    return (shifted if mask is None else shifted.masked_fill(~mask.unsqueeze(-1), 0.0)), first


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
    scaled = in_units_of_reach(features.to(at_least_float32(features)), mask)
    residual = residual_from(scaled, background(scaled, mask, sigma=sigma))
    # A clamp where the paper adds delta: ONNX's optimiser drops an addition this small, and 0/0 follows.
    return residual / residual.sum(1, keepdim=True).clamp(min=delta)


def in_units_of_reach(features: Features, mask: StepMask | None = None) -> Features:
    """Features from each channel's first valid step on, in units of how far it gets from there; padding becomes 0.

    So neither delta nor the float's limits see the features' offset and scale.

    Example:
        >>> in_units_of_reach(torch.tensor([[[4.0], [4.0], [12.0]]])).flatten()
        tensor([0., 0., 1.])
    """
    shifted, _ = from_first_step(features, mask)
    unit = unit_of_reach(shifted)
    return shifted / unit if shifted.requires_grad else shifted.div_(unit)


def unit_of_reach(features: Features, origin: Tensor | float = 0.0) -> Tensor:
    """How far each channel gets from its origin (B, 1, D); 1 if it does not move.

    Example:
        >>> unit_of_reach(torch.tensor([[[4.0, 1.0], [1.0, 1.0]]]), torch.tensor([[[2.0, 1.0]]]))
        tensor([[[2., 1.]]])
    """
    reach = (features.amax(1, keepdim=True) - origin).maximum(origin - features.amin(1, keepdim=True))
    return torch.where(reach > 0, reach, 1.0)


def residual_from(scaled: Features, background: Features) -> Features:
    """Distances from a background, of features in units of the reach; those below the floor are none.

    Example:
        >>> residual_from(torch.tensor([[[0.0], [1.0]]]), torch.tensor([[[1e-6], [0.5]]])).flatten()
        tensor([0.0000, 0.5000])
    """
    # In place where no gradient needs what was there: memory that is written anew costs more than the arithmetic.
    difference = scaled - background
    if difference.requires_grad:
        return torch.nn.functional.threshold(difference.abs(), RESIDUAL_FLOOR, 0.0)
    return torch.nn.functional.threshold(difference.abs_(), RESIDUAL_FLOOR, 0.0, inplace=True)


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


def _sorted_by_torch(series: Tensor) -> Tensor:
    return series.contiguous().sort(dim=-1).values


# Not as a decorator, which leaves no function behind.
torch.library.impl("crest::ascending", "CompositeExplicitAutograd", _sorted_by_torch)


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


# The `count`-th largest of the steps (B, T, D), one (B, D) for each channel; the least positive one if fewer are positive and that
# is asked for. `most` is known without looking at the counts.
torch.library.define(
    "crest::kth_largest", "(Tensor ranking, Tensor count, SymInt most, bool positive) -> Tensor"
)


def _kth_by_torch(ranking: Tensor, count: Tensor, most: int, positive: bool) -> Tensor:
    """The few highest in order: a GPU finds them in a fraction of the time that a sort takes."""
    highest = ranking.transpose(1, 2).contiguous().topk(most, dim=-1).values
    if positive:
        count = count.minimum((highest > 0).sum(-1))
    return highest.gather(2, (count - 1).clamp(0, most - 1).unsqueeze(-1)).squeeze(-1)


torch.library.impl("crest::kth_largest", "CompositeExplicitAutograd", _kth_by_torch)


@torch.library.impl("crest::kth_largest", "CPU")
def _kth_by_numpy(ranking: Tensor, count: Tensor, most: int, positive: bool) -> Tensor:  # noqa: ARG001 - `most`
    """NumPy's partition and sort of floats are vectorised, some ten times faster than torch's on a CPU."""
    # A copy in any case: it is put in order in place.
    series = np.array(ranking.transpose(1, 2).numpy(), order="C")
    places = (ranking.shape[1] - count).clamp(min=0).numpy()
    if series.shape[-1] < _SHORT:
        series.sort(axis=-1)
        found = np.take_along_axis(series, places[..., None], axis=-1)[..., 0]
    else:
        found = np.empty_like(series[..., 0])
        # To partition by several places at once is not vectorised.
        for place in np.unique(places):
            own = places == place
            part = series if own.all() else series[own]
            part.partition(place, axis=-1)
            found[own] = part[..., place].reshape(-1)
    if positive:
        for row in np.argwhere(found <= 0):
            above = series[tuple(row)]
            found[tuple(row)] = above[above > 0].min(initial=np.inf)
        found[np.isinf(found)] = 0
    return torch.from_numpy(found)


@torch.library.register_fake("crest::kth_largest")  # type: ignore[untyped-decorator]
def _kth_shape(ranking: Tensor, count: Tensor, most: int, positive: bool) -> Tensor:  # noqa: ARG001
    return ranking.new_empty(count.shape)


def kth_largest(ranking: Features, count: Tensor, most: int | None = None, positive: bool = False) -> Pooled:
    """The `count`-th largest step of each channel.

    Args:
        ranking: what to rank by, per step and channel.
        count: (B, D), how many; the steps that there are if that is less.
        most: a number that no count exceeds.
        positive: whether only positive values count. If there are none, the largest is meant.

    Example:
        >>> ranking = torch.tensor([[[0.1], [0.0], [0.5]]])
        >>> kth_largest(ranking, torch.tensor([[2]])), kth_largest(ranking, torch.tensor([[3]]), positive=True)
        (tensor([[0.1000]]), tensor([[0.1000]]))
    """
    steps = ranking.shape[1]
    if torch.compiler.is_exporting():
        if positive:
            count = count.minimum((ranking > 0).sum(1)).clamp(min=1)
        place = (steps - count).clamp(min=0).unsqueeze(1)
        return ranking.sort(dim=1).values.gather(1, place).squeeze(1)
    most = steps if most is None else smaller_size(most, steps)
    largest: Tensor = torch.ops.crest.kth_largest(ranking, count, most, positive)
    return largest


def top_steps(
    ranking: Features,
    count: Tensor | int,
    mask: StepMask | None = None,
    resolution: Tensor | None = None,
    *,
    most: int | None = None,
    positive: bool = False,
) -> Selection:
    """The `count` highest valid steps of each channel; steps tied with the last one are all in.

    A tie is a difference below 1e-5 of the channel's largest value, or below the resolution if that is more: closer than
    that, rounding would decide.

    Args:
        ranking: what to rank by, per step and channel.
        count: how many steps: one number, one per trajectory (B,) or (B, 1), or one per channel (B, D).
        mask: valid steps.
        resolution: (B, D), how far apart values must be to be told apart.
        most: a number that no count exceeds, to save work.
        positive: whether only positive values count.

    Example:
        >>> ranking = torch.tensor([[[0.1], [0.9], [0.5], [0.9]]])
        >>> top_steps(ranking, 1).flatten()
        tensor([False,  True, False,  True])
    """
    ranking = ranking.detach().to(torch.promote_types(ranking.dtype, torch.float32))
    tie = RANKING_TIE * (ranking if positive else ranking.abs()).amax(1)
    if resolution is not None:
        tie = tie.maximum(resolution)
    if mask is not None and not positive:
        ranking = ranking.masked_fill(~mask.unsqueeze(-1), -torch.inf)
    count = torch.as_tensor(count, device=ranking.device)
    count = count.unsqueeze(-1) if count.ndim == 1 else count
    limit = kth_largest(ranking, count.expand_as(tie), most, positive) - tie
    selected = ranking >= limit.unsqueeze(1)
    return selected if mask is None else selected & mask.unsqueeze(-1)


# One node in a compiled graph. Fused into one loop, comparisons that look at neighbours take ten times as long on a CPU.
torch.library.define("crest::widened", "(Tensor selected, int radius) -> Tensor")


def _widened(selected: Tensor, radius: int) -> Tensor:
    # As bytes: torch 2.13's compiler writes C++ that does not build where a padded boolean meets a mask.
    wide = torch.nn.functional.pad(selected.to(torch.uint8), (0, 0, radius, radius))
    reach = 1
    # Each pass looks at up to twice as many steps as the one before it.
    while reach < 2 * radius + 1:
        shift = min(reach, 2 * radius + 1 - reach)
        wide = wide[:, : wide.shape[1] - shift] | wide[:, shift:]
        reach += shift
    return wide.to(torch.bool)


torch.library.impl("crest::widened", "CompositeExplicitAutograd", _widened)


@torch.library.register_fake("crest::widened")  # type: ignore[untyped-decorator]
def _widened_shape(selected: Tensor, radius: int) -> Tensor:  # noqa: ARG001
    return torch.empty_like(selected, memory_format=torch.contiguous_format)


def dilate(selected: Selection, radius: int, mask: StepMask | None = None) -> Selection:
    """M_tj: each selected step widened by `radius` steps to both sides; padding stays out.

    Example:
        >>> dilate(torch.tensor([[[False], [False], [True], [False]]]), radius=1).flatten()
        tensor([False,  True,  True,  True])
    """
    compiled = torch.compiler.is_compiling() and not torch.compiler.is_exporting()
    wide: Tensor = (torch.ops.crest.widened if compiled else _widened)(selected, radius)
    return wide if mask is None else wide & mask.unsqueeze(-1)


def vote_count(selected: Selection) -> StepCounts:
    """How many channels selected each step."""
    return selected.sum(-1)
