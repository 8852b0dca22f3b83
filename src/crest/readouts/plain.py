"""CREST's passes over the features in plain torch: for GPUs, traced graphs, `torch.func`, and where numba is missing.

What `crest.readouts.fast.fused` does in tiles is done here for some trajectories at a time: on a CPU as many as stay in its cache,
elsewhere all at once. The two must agree.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from crest._base.arrays import Features, Pooled, Profile, Selection, StepMask
from crest.background.slow import SIGMA, Background, exact_products, local_line, reach_of, slow_background
from crest.background.transience import (
    RESIDUAL_GUARD,
    dilate,
    first_step,
    in_units_of_reach,
    residual_from,
    residual_resolution,
    top_steps,
    transience_profile,
    unit_of_reach,
)
from crest.readouts.fast.backends import eager

# Features that go through all passes together: what lies between two passes then stays in the cache of one core.
# our choice: docs/evidence/choices.md#parts-of-a-batch
_PART = 2**18


class ResidualParts(NamedTuple):
    """How far each step is from its background, as each channel's share."""

    parts: tuple[Tensor, ...]
    """r_tj of some trajectories each, in the order of the batch; they sum to one over time."""
    resolution: Pooled
    """(B, D): shares that are closer than this are tied."""
    profile: Profile
    """r_t (B, T): the average over channels."""
    line_profile: Profile
    """(lines, T): the same by distances from a line around each step, for the first trajectories."""


class MarkedSteps(NamedTuple):
    """Selected steps of each channel."""

    parts: tuple[Tensor, ...]
    size: Tensor
    """(B, D): how many."""

    def steps(self) -> Selection:
        """(B, T, D): True where a channel selects a step."""
        return torch.cat(self.parts) if len(self.parts) > 1 else self.parts[0]


def cache_parts(features: Features) -> list[slice]:
    """Which trajectories go through the passes together.

    Example:
        >>> len(cache_parts(torch.zeros(4, 2**15, 16)))
        4
    """
    batch, steps, width = features.shape
    # Launching kernels is what costs on a GPU. A traced graph must not depend on the size of the batch.
    if features.device.type != "cpu" or not eager(features):
        return [slice(None)]
    rows = max(_PART // (steps * width), 1)
    return [slice(start, start + rows) for start in range(0, batch, rows)]


def residual_parts(
    features: Features,
    mask: StepMask | None,
    *,
    sigma: float = SIGMA,
    delta: float = RESIDUAL_GUARD,
    background: Background = slow_background,
    lines: int = 0,
    into: Tensor | None = None,
) -> ResidualParts:
    """Line 1 of the algorithm: residuals and their profile; for the first `lines` trajectories also that of a line.

    Args:
        features: in float32 at least.
        mask: valid steps.
        sigma: of the background.
        delta: guard of the division by a sum of residuals.
        background: what a residual is taken from.
        lines: how many trajectories are compared with a line, too.
        into: memory (B, T, D) for the residuals, which are views of it then.

    Example:
        >>> features = torch.zeros(1, 64, 2)
        >>> features[0, 20] = 1.0
        >>> int(residual_parts(features, None).profile.argmax())
        20
    """
    found, line_profiles = [], [features.new_zeros(0, features.shape[1])]
    ends = _ends_from_line(features[:lines], sigma) if lines and mask is None else None
    for rows in cache_parts(features):
        own = None if mask is None else mask[rows]
        scaled = in_units_of_reach(features[rows].contiguous(), own)
        residual = residual_from(scaled, background(scaled, own, sigma=sigma))
        looked_at = lines - (rows.start or 0)
        if looked_at > 0 and ends is not None:
            first, last = (end[rows] for end in ends)
            # Away from the ends the line runs through the average.
            between = residual[:looked_at, first.shape[1] : -last.shape[1]]
            line_profiles.append(_profile_of([first, between, last], delta))
        elif looked_at > 0:
            own = None if own is None else own[:looked_at]
            line_profiles.append(line_profile(features[rows][:looked_at], own, sigma=sigma, delta=delta))
        total = _total([residual], delta)
        shares = residual.div_(total) if into is None else torch.div(residual, total, out=into[rows])
        found.append((shares, total))
    parts, totals = zip(*found, strict=True)
    return ResidualParts(
        parts=parts,
        resolution=residual_resolution(features.dtype) / torch.cat(totals).squeeze(1),
        profile=torch.cat([transience_profile(part) for part in parts]),
        line_profile=torch.cat(line_profiles),
    )


def line_profile(features: Features, mask: StepMask | None, *, sigma: float, delta: float) -> Profile:
    """How far each step is from a line around it (B, T): a measure that is fair at the ends.

    Example:
        >>> ramp = torch.arange(64.0).reshape(1, 64, 1)
        >>> bool((line_profile(ramp, None, sigma=6.0, delta=1e-12) == 0).all())
        True
    """
    scaled = in_units_of_reach(features, mask)
    return _profile_of([residual_from(scaled, local_line(scaled, mask, sigma=sigma))], delta)


def _ends_from_line(features: Features, sigma: float) -> tuple[Tensor, Tensor] | None:
    """How far the first and the last steps, as many as the low-pass reaches, are from a line; None if this saves nothing."""
    reach = reach_of(sigma)
    if features.shape[1] <= 2 * reach or not exact_products(features):
        return None
    origin = features[:, :1]
    # The last steps are turned round, so that both are first ones.
    unit = unit_of_reach(features, origin)
    ends = [(end - origin) / unit for end in (features[:, : 2 * reach], features[:, -2 * reach :].flip(1))]
    # A line is linear in the steps that it is fitted to: what it makes of each one alone says all.
    line = local_line(torch.eye(2 * reach, dtype=unit.dtype, device=unit.device)[None], None, sigma=sigma)
    first, last = (residual_from(end[:, :reach], line[0, :reach] @ end) for end in ends)
    return first, last.flip(1)


def _total(pieces: list[Tensor], delta: float) -> Tensor:
    """The sum (B, 1, D) of a channel's residuals, of which `pieces` hold some steps each."""
    # A clamp where the paper adds delta: ONNX's optimiser drops an addition this small, and 0/0 follows.
    return torch.stack([piece.sum(1, keepdim=True) for piece in pieces]).sum(0).clamp(min=delta)


def _profile_of(pieces: list[Tensor], delta: float) -> Profile:
    """The average over channels, each of which sums to one."""
    total = _total(pieces, delta)
    return torch.cat([transience_profile(piece / total) for piece in pieces], 1)


def mark_steps(
    residuals: ResidualParts, count: Tensor, mask: StepMask | None, *, dilation: int, most: int | None = None
) -> MarkedSteps:
    """Line 4: the `count` (B, 1) steps of each channel with the largest residuals and those tied with the last, widened.

    Args:
        residuals: of all trajectories.
        count: how many steps.
        mask: valid steps.
        dilation: steps to either side.
        most: a number that no count exceeds.
    """
    flags, start = [], 0
    for part in residuals.parts:
        rows = slice(None)
        # A traced graph has one part, and must not ask for its length.
        if len(residuals.parts) > 1:
            rows = slice(start, start + len(part))
            start += len(part)
        own = None if mask is None else mask[rows]
        # No step without a residual counts as transient, however large the budget.
        top = top_steps(part, count[rows], own, residuals.resolution[rows], most=most, positive=True)
        flags.append(dilate(top, dilation, own))
    return marked_steps(flags)


def marked_steps(flags: list[Tensor]) -> MarkedSteps:
    """Selected steps of the parts of a batch, with their number.

    Example:
        >>> marked_steps([torch.tensor([[[True], [False], [True]]])]).size
        tensor([[2]])
    """
    return MarkedSteps(tuple(flags), torch.cat([part.sum(1) for part in flags]))


class ContrastWeights(NamedTuple):
    """P = alpha (F_sel - F_rest) + (1 - alpha) F_global as a sum over steps: a weight (B, D) for each kind of step."""

    inner: Tensor
    """Of a selected step."""
    outer: Tensor
    """Of each other valid step."""
    level: Tensor
    """What they add up to."""


def contrast_weights(size: Tensor, steps: Tensor, alpha: Tensor) -> ContrastWeights:
    """The weights of `size` (B, D) selected of so many valid steps (B, 1), with the contrast weight alpha (B, 1 or D).

    Example:
        >>> weights = contrast_weights(torch.tensor([[1]]), torch.tensor([[3]]), torch.tensor([[1.0]]))
        >>> weights.inner.item(), weights.outer.item(), weights.level.item()
        (1.0, -0.5, 0.0)
    """
    left = steps - size
    # If every step is selected there is no rest: the contrast is zero.
    contrast = torch.where(left > 0, alpha, 0.0)
    average = (1 - alpha) / steps.clamp(min=1)
    return ContrastWeights(
        inner=average + contrast / size.clamp(min=1),
        outer=average - contrast / left.clamp(min=1),
        level=((1 - alpha) * (steps > 0)).expand_as(contrast),
    )


def pool_marked(
    features: Features,
    chosen: MarkedSteps,
    alpha: Tensor,
    mask: StepMask | None = None,
    in_graph: Callable[..., Pooled] | None = None,
) -> Pooled:
    """Lines 5 and 6: P = alpha (F_sel - F_rest) + (1 - alpha) F_global, as one weighted sum.

    Example:
        >>> features = torch.tensor([[[1.0], [5.0], [3.0]]])
        >>> pool_marked(features, marked_steps([features > 4]), torch.ones(1, 1))
        tensor([[3.]])
    """
    whole = torch.full_like(chosen.size[:, :1], features.shape[1])
    steps = whole if mask is None else mask.sum(1, keepdim=True)
    inner, outer, level = contrast_weights(chosen.size, steps, alpha)
    # From the first step, so that a large common offset costs no digits. Weights add up to the level.
    first = first_step(features, mask)
    if in_graph is not None:
        added = in_graph(features, first, inner, outer, mask, chosen.steps())
    elif eager(features):
        added = _WeightedSum.apply(features, first, inner, outer, mask, *chosen.parts)  # type: ignore[no-untyped-call]
    else:
        # Transforms and forward mode have rules for each of these operators.
        added = _weighted_sum(features, first, inner, outer, mask, chosen.steps())
    return level * first + added


def _step_weights(inner: Tensor, outer: Tensor, mask: StepMask | None, flags: Selection) -> Features:
    """(B, T, D): the one weight where a step is selected, the other where it is not, zero on padding."""
    # Not `where`, which is not vectorised on a CPU. At 0 and 1 the line between two numbers is exactly one of them. Bytes become
    # numbers faster than booleans do.
    share = flags.to(torch.uint8).to(inner.dtype)
    weights = torch.lerp(outer.unsqueeze(1), inner.unsqueeze(1), share)
    return weights if mask is None else weights * mask.unsqueeze(-1).to(weights.dtype)


def _weighted_sum(
    features: Features,
    first: Pooled,
    inner: Tensor,
    outer: Tensor,
    mask: StepMask | None,
    flags: Selection,
) -> Pooled:
    return ((features - first.unsqueeze(1)) * _step_weights(inner, outer, mask, flags)).sum(1)


def _rows(parts: tuple[Tensor, ...], *tensors: Tensor | None) -> list[tuple[Any, ...]]:
    """Each part with its rows of the tensors."""
    sizes = [len(part) for part in parts]
    split = [[None] * len(parts) if one is None else torch.split(one, sizes) for one in tensors]
    return list(zip(*split, parts, strict=True))


def sum_of_parts(
    features: Features,
    first: Pooled,
    inner: Tensor,
    outer: Tensor,
    mask: StepMask | None,
    *parts: Tensor,
) -> Pooled:
    """The sum of the features' distances from the first step, by the weights of the steps."""
    return torch.cat([_weighted_sum(*own) for own in _rows(parts, features, first, inner, outer, mask)])


def spread_over_parts(
    gradient: Pooled, inner: Tensor, outer: Tensor, mask: StepMask | None, *parts: Tensor
) -> Features:
    """What each step has in the gradient of that sum."""
    # The gradient is the same for all steps of a channel: with it the two weights are two numbers again.
    weights = gradient * inner, gradient * outer
    return torch.cat([_step_weights(*own) for own in _rows(parts, *weights, mask)])


class _WeightedSum(torch.autograd.Function):
    """Part by part, and for the backward pass a byte of each feature is kept: whether it was selected."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Features,
        first: Pooled,
        inner: Tensor,
        outer: Tensor,
        mask: StepMask | None,
        *parts: Tensor,
    ) -> Pooled:
        ctx.save_for_backward(inner, outer, mask, *parts)
        return sum_of_parts(features, first, inner, outer, mask, *parts)

    @staticmethod
    def backward(ctx: Any, gradient: Pooled) -> tuple[Tensor | None, ...]:
        inner, outer, mask, *parts = ctx.saved_tensors
        none = (None,) * (4 + len(parts))
        return _Spread.apply(gradient, inner, outer, mask, *parts), *none  # type: ignore[no-untyped-call]


class _Spread(torch.autograd.Function):
    """The transpose: each step gets its weight times the gradient of the sum. So there is any number of backward passes."""

    @staticmethod
    def forward(
        ctx: Any, gradient: Pooled, inner: Tensor, outer: Tensor, mask: StepMask | None, *parts: Tensor
    ) -> Features:
        ctx.save_for_backward(inner, outer, mask, *parts)
        return spread_over_parts(gradient, inner, outer, mask, *parts)

    @staticmethod
    def backward(ctx: Any, gradient: Features) -> tuple[Tensor | None, ...]:
        inner, outer, mask, *parts = ctx.saved_tensors
        none = (None,) * (3 + len(parts))
        first = torch.zeros_like(inner)
        return _WeightedSum.apply(gradient, first, inner, outer, mask, *parts), *none  # type: ignore[no-untyped-call]
