"""CREST's passes in a graph that `torch.compile` makes for a CPU: one node each, which runs the plain ones as eager code does.

What the compiler makes of them itself takes twice as long: it goes over all trajectories in each loop, and not over some in all loops.
On a GPU it does better, and there they stay plain torch.
"""

from typing import Any, TypeAlias

import torch
from torch import Tensor

from crest._base.arrays import Features, Pooled, StepMask
from crest.background.transience import RESIDUAL_FLOOR
from crest.readouts import plain
from crest.readouts.fast import fused


def in_graph(features: Tensor) -> bool:
    """Whether the features are traced for a CPU, by the compiler and not for export.

    Example:
        >>> in_graph(torch.zeros(2, 30, 4))
        False
    """
    traced = torch.compiler.is_compiling() and not torch.compiler.is_exporting()
    return traced and features.device.type == "cpu"


def graph_residuals(
    features: Features, mask: StepMask | None, *, sigma: float, delta: float, lines: int = 0
) -> plain.ResidualParts:
    """`plain.residual_parts` of the slow background as one node."""
    part, *rest = torch.ops.crest.plain_residuals(features, mask, sigma, delta, lines)
    return plain.ResidualParts((part,), *rest)


EitherResiduals: TypeAlias = fused.Residuals | plain.ResidualParts
"""Of either code."""


def renewed(
    residuals: EitherResiduals,
    features: Features,
    mask: StepMask | None,
    valid: StepMask | None,
    *,
    sigma: float,
    delta: float,
) -> EitherResiduals:
    """The residuals of either code, which are of `valid` steps, as those of the mask; the profile by a line stays.

    A graph cannot ask whether a run-up leaves anything out. A node can, and seldom has anything to do.
    """
    compiled = isinstance(residuals, fused.Residuals)
    first, *rest, _ = residuals
    kept = [first if isinstance(first, Tensor) else first[0], *rest]
    torch.ops.crest.renew(kept, features, mask, valid, sigma, delta, compiled)
    return residuals


def graph_steps(
    residuals: plain.ResidualParts, count: Tensor, mask: StepMask | None, *, dilation: int, most: int
) -> plain.MarkedSteps:
    """`plain.mark_steps` as one node."""
    (part,) = residuals.parts
    flags, size = torch.ops.crest.plain_choose(part, residuals.resolution, count, mask, dilation, most)
    return plain.MarkedSteps((flags,), size)


def graph_sum(
    features: Features, first: Pooled, inner: Tensor, outer: Tensor, mask: StepMask | None, flags: Tensor
) -> Pooled:
    """The sum of `plain.pool_marked` as one node, differentiable in the features any number of times."""
    added: Tensor = torch.ops.crest.plain_sum(features, first, inner, outer, mask, flags)
    return added


# -- the operators. Not by `torch.library.custom_op`, as in `crest.readouts.fast.fused`.

torch.library.define(
    "crest::plain_residuals",
    "(Tensor features, Tensor? mask, float sigma, float delta, SymInt lines) -> (Tensor, Tensor, Tensor, Tensor)",
)
torch.library.define(
    "crest::renew",
    "(Tensor(a!)[] kept, Tensor features, Tensor? mask, Tensor? valid, float sigma, float delta, bool compiled) -> ()",
)
torch.library.define(
    "crest::plain_choose",
    "(Tensor transience, Tensor resolution, Tensor count, Tensor? mask, int dilation, SymInt most) -> (Tensor, Tensor)",
)
torch.library.define(
    "crest::plain_sum",
    "(Tensor features, Tensor first, Tensor inner, Tensor outer, Tensor? mask, Tensor flags) -> Tensor",
)
torch.library.define(
    "crest::plain_spread",
    "(Tensor gradient, Tensor inner, Tensor outer, Tensor? mask, Tensor flags) -> Tensor",
)


def _needed(mask: Tensor | None) -> Tensor | None:
    """The mask, unless it leaves nothing out: without one there is less to do."""
    return None if mask is None or mask.all() else mask


def _same(mask: Tensor | None, other: Tensor | None) -> bool:
    if mask is None or other is None:
        return mask is other
    return torch.equal(mask, other)


@torch.library.impl("crest::plain_residuals", "CPU")
def _residuals(
    features: Tensor, mask: Tensor | None, sigma: float, delta: float, lines: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    part = torch.empty_like(features, memory_format=torch.contiguous_format)
    found = plain.residual_parts(features, _needed(mask), sigma=sigma, delta=delta, lines=lines, into=part)
    return part, found.resolution, found.profile, found.line_profile


@torch.library.register_fake("crest::plain_residuals")  # type: ignore[untyped-decorator]
def _residual_shapes(
    features: Tensor, mask: Tensor | None, sigma: float, delta: float, lines: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    batch, steps, width = features.shape
    return (
        features.new_empty(batch, steps, width),
        features.new_empty(batch, width),
        features.new_empty(batch, steps),
        features.new_empty(lines, steps),
    )


@torch.library.impl("crest::renew", "CPU")
def _renew(
    kept: list[Tensor],
    features: Tensor,
    mask: Tensor | None,
    valid: Tensor | None,
    sigma: float,
    delta: float,
    compiled: bool,
) -> None:
    mask, valid = _needed(mask), _needed(valid)
    if _same(mask, valid):
        return
    if compiled:
        found = torch.ops.crest.residuals(features, mask, sigma, RESIDUAL_FLOOR, delta, 0)
    else:
        found = torch.ops.crest.plain_residuals(features, mask, sigma, delta, 0)
    for one, other in zip(kept, found[:-1], strict=True):
        one.copy_(other)


@torch.library.register_fake("crest::renew")  # type: ignore[untyped-decorator]
def _nothing(*arguments: object) -> None:
    return None


def _parts(whole: Tensor) -> tuple[Tensor, ...]:
    return tuple(whole[rows] for rows in plain.cache_parts(whole))


@torch.library.impl("crest::plain_choose", "CPU")
def _choose(
    transience: Tensor, resolution: Tensor, count: Tensor, mask: Tensor | None, dilation: int, most: int
) -> tuple[Tensor, Tensor]:
    # Of the rest there is nothing to choose by.
    residuals = plain.ResidualParts(_parts(transience), resolution, resolution, resolution)
    chosen = plain.mark_steps(residuals, count, _needed(mask), dilation=dilation, most=most)
    return chosen.steps(), chosen.size


@torch.library.register_fake("crest::plain_choose")  # type: ignore[untyped-decorator]
def _chosen_shapes(
    transience: Tensor, resolution: Tensor, count: Tensor, mask: Tensor | None, dilation: int, most: int
) -> tuple[Tensor, Tensor]:
    shape = transience.shape
    return transience.new_empty(shape, dtype=torch.bool), resolution.new_empty(
        shape[0], shape[2], dtype=torch.int64
    )


@torch.library.impl("crest::plain_sum", "CPU")
def _sum(
    features: Tensor, first: Tensor, inner: Tensor, outer: Tensor, mask: Tensor | None, flags: Tensor
) -> Tensor:
    return plain.sum_of_parts(features, first, inner, outer, _needed(mask), *_parts(flags))


@torch.library.register_fake("crest::plain_sum")  # type: ignore[untyped-decorator]
def _summed_shape(
    features: Tensor, first: Tensor, inner: Tensor, outer: Tensor, mask: Tensor | None, flags: Tensor
) -> Tensor:
    return torch.empty_like(first, memory_format=torch.contiguous_format)


@torch.library.impl("crest::plain_spread", "CPU")
def _spread(gradient: Tensor, inner: Tensor, outer: Tensor, mask: Tensor | None, flags: Tensor) -> Tensor:
    return plain.spread_over_parts(gradient, inner, outer, _needed(mask), *_parts(flags))


@torch.library.register_fake("crest::plain_spread")  # type: ignore[untyped-decorator]
def _spread_shape(
    gradient: Tensor, inner: Tensor, outer: Tensor, mask: Tensor | None, flags: Tensor
) -> Tensor:
    return gradient.new_empty(flags.shape)


def _keep_sum(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[2:])


def _back_through_sum(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    return torch.ops.crest.plain_spread(gradient, *ctx.saved_tensors), None, None, None, None, None


def _keep_spread(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[1:])


def _back_through_spread(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    inner, *rest = ctx.saved_tensors
    none = (None,) * 4
    return torch.ops.crest.plain_sum(gradient, torch.zeros_like(inner), inner, *rest), *none


torch.library.register_autograd("crest::plain_sum", _back_through_sum, setup_context=_keep_sum)
torch.library.register_autograd("crest::plain_spread", _back_through_spread, setup_context=_keep_spread)
