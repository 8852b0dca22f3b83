"""CREST's passes over the features as operators of torch, compiled by numba: for a CPU, see `crest.readouts.fast.serves`.

Residuals and selected steps stay in tiles of eight channels, (B, tiles T 8): `Chosen.steps` gives them as (B, T, D).
The plain path in `crest.background` and `crest.readouts.crest` is what these must agree with.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from crest._base.arrays import Features, Pooled, Profile, Selection, StepMask
from crest.readouts.fast.backends import LARGEST_SIGMA
from crest.readouts.fast.first_call import told_first_call
from crest.readouts.fast.threads import on_threads
from crest.readouts.plain import contrast_weights

_LANES = 8
# Standard deviations at which the Gaussian is cut: what lies beyond is less than half a unit in the last place of float32, and of no
# consequence in float64, where the plain low-pass is cut at the same place.
# our choice: docs/evidence/choices.md#compiled-low-pass
_REACH = {torch.float32: 5.42, torch.float64: 6.0}


class Residuals(NamedTuple):
    """How far each step is from its background, in units of the channel's reach."""

    tiles: Tensor
    """(B, tiles T 8): zero where it is below the floor, and on padding."""
    peak: Tensor
    """(B, D): each channel's largest."""
    above: Tensor
    """(B, D): how many are above the floor."""
    profile: Profile
    """(B, T): the average over channels, each normalised to sum to one over time."""
    line_profile: Tensor
    """(lines, T): the same by distances from a line around each step, for the first trajectories."""


class Chosen(NamedTuple):
    """Selected steps of each channel."""

    tiles: Tensor
    """(B, tiles T 8): bytes, 1 where a step is selected."""
    size: Tensor
    """(B, D): how many."""

    def steps(self) -> Selection:
        """(B, T, D): True where a channel selects a step."""
        batch, width = self.size.shape
        tiles = self.tiles.reshape(batch, -(-width // _LANES), -1, _LANES).transpose(1, 2)
        return tiles.flatten(2)[..., :width].to(torch.bool)


def residuals_of(
    features: Features, mask: StepMask | None, *, sigma: float, floor: float, delta: float, lines: int = 0
) -> Residuals:
    """Residuals of the slow background and their profile; for the first `lines` trajectories also that of a line.

    Example:
        >>> features = torch.zeros(1, 64, 2)
        >>> features[0, 20] = 1.0
        >>> found = residuals_of(features, None, sigma=6.0, floor=1e-5, delta=1e-12)
        >>> int(found.profile.argmax()), found.above.shape
        (20, torch.Size([1, 2]))
    """
    return Residuals(*torch.ops.crest.residuals(features, mask, sigma, floor, delta, lines))


def choose_steps(
    residuals: Residuals,
    count: Tensor,
    mask: StepMask | None,
    *,
    floor: float,
    tie: float,
    resolution: float = 0.0,
    dilation: int,
) -> Chosen:
    """The `count` (B, D) steps of each channel with the largest residuals and those tied with the last, widened.

    A tie is a difference below the share `tie` of the channel's largest, or below the resolution if that is more.
    """
    tiles, peak, above, *_ = residuals
    return Chosen(*torch.ops.crest.choose(tiles, peak, above, count, mask, floor, tie, resolution, dilation))


def pool_chosen(features: Features, chosen: Chosen, alpha: Tensor, mask: StepMask | None = None) -> Pooled:
    """P = alpha (F_sel - F_rest) + (1 - alpha) F_global, as one weighted sum; differentiable in the features.

    Example:
        >>> features = torch.tensor([[[1.0], [5.0], [3.0]]])
        >>> found = residuals_of(features, None, sigma=1.0, floor=1e-5, delta=1e-12)
        >>> one = torch.ones(1, 1, dtype=torch.int64)
        >>> chosen = choose_steps(found, one, None, floor=1e-5, tie=1e-5, dilation=0)
        >>> pool_chosen(features, chosen, torch.ones(1, 1))
        tensor([[3.]])
    """
    whole = torch.full_like(chosen.size[:, :1], features.shape[1])
    steps = whole if mask is None else mask.sum(1, keepdim=True)
    weights = [weight.to(features.dtype) for weight in contrast_weights(chosen.size, steps, alpha)]
    pooled: Tensor = torch.ops.crest.pool(features, chosen.tiles, *weights, mask)
    return pooled


# -- the operators. Not by `torch.library.custom_op`, whose first call loads all of torch._dynamo.

torch.library.define(
    "crest::residuals",
    "(Tensor features, Tensor? mask, float sigma, float floor, float delta, SymInt lines)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
)
torch.library.define(
    "crest::choose",
    "(Tensor tiles, Tensor peak, Tensor above, Tensor count, Tensor? mask, float floor, float tie,"
    " float resolution, int dilation)"
    " -> (Tensor, Tensor)",
)
torch.library.define(
    "crest::pool",
    "(Tensor features, Tensor tiles, Tensor inner, Tensor outer, Tensor level, Tensor? mask) -> Tensor",
)
torch.library.define(
    "crest::spread",
    "(Tensor gradient, Tensor tiles, Tensor inner, Tensor outer, Tensor level, Tensor? mask, SymInt steps) -> Tensor",
)


def _array(tensor: Tensor) -> NDArray[Any]:
    # The same memory, unless the tensor is strided: kernels count on rows that follow each other.
    return tensor.detach().contiguous().numpy()


def _valid(mask: Tensor | None) -> tuple[NDArray[Any], bool]:
    # numba compiles once for each combination of types, and None is one: an array that is not read stands for no mask.
    return (np.ones((1, 1), np.bool_), False) if mask is None else (_array(mask), True)


# A readout has one sigma: its taps are made once.
@functools.cache
def _taps(sigma: float, dtype: torch.dtype) -> NDArray[Any]:
    """The Gaussian's weights from its middle on; on both sides they add up to one."""
    offsets = np.arange(math.ceil(_REACH[dtype] * sigma) + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    weights /= 2 * weights.sum() - 1
    return weights.astype(str(dtype).removeprefix("torch."))


def _tiled(width: int, steps: int) -> int:
    return -(-width // _LANES) * _LANES * steps


def _require(name: str, tensor: Tensor | None, shape: tuple[int, ...], *dtypes: torch.dtype) -> None:
    """Raise a ValueError for what a kernel would read beyond its end, or as other numbers than it holds."""
    if tensor is not None and (tuple(tensor.shape) != shape or tensor.dtype not in dtypes):
        raise ValueError(
            f"{name} must have shape {shape} and be {' or '.join(map(str, dtypes))}, got {tuple(tensor.shape)} of {tensor.dtype}"
        )


def _require_features(features: Tensor, mask: Tensor | None) -> None:
    if features.ndim != 3 or features.dtype not in _REACH:
        raise ValueError(
            f"features must have shape (B, T, D) and be float32 or float64, got {tuple(features.shape)} of {features.dtype}"
        )
    _require("mask", mask, tuple(features.shape[:2]), torch.bool)


def _require_selection(
    like: Tensor, steps: int, tiles: Tensor, mask: Tensor | None, *weights: Tensor
) -> None:
    """Raise a ValueError unless tiles are bytes for all steps, and weights are one for each channel of `like` (B, ..., D)."""
    batch, width = like.shape[0], like.shape[-1]
    _require("tiles", tiles, (batch, _tiled(width, steps)), torch.uint8)
    _require("mask", mask, (batch, steps), torch.bool)
    for name, weight in zip(("inner", "outer", "level"), weights, strict=True):
        _require(name, weight, (batch, width), like.dtype)


@torch.library.impl("crest::residuals", "CPU")
def _residuals(
    features: Tensor, mask: Tensor | None, sigma: float, floor: float, delta: float, lines: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    # Loaded at the first call, here and below: numba takes a second, and `import crest` must not.
    from crest.readouts.fast.kernels.residuals import residuals  # noqa: PLC0415

    _require_features(features, mask)
    if 0 in features.shape:
        raise ValueError(f"features must have shape (B, T, D), none of them 0, got {tuple(features.shape)}")
    if not 0 <= lines <= len(features) or not 0 < sigma <= LARGEST_SIGMA:
        raise ValueError(
            f"lines must lie in [0, B] and sigma in (0, {LARGEST_SIGMA}], got {lines} and {sigma}"
        )
    found = _residual_shapes(features, mask, sigma, floor, delta, lines)
    batch = features.shape[0]
    valid, masked = _valid(mask)
    series = _array(features)
    weights = _taps(sigma, features.dtype)
    with told_first_call(residuals, features.dtype):
        on_threads(
        residuals, batch, series.reshape(batch, -1), valid, masked, weights, sigma, weights.dtype.type(floor), delta,
        *(tensor.numpy() for tensor in found),
    )  # fmt: skip
    return found


# One function makes the outputs that kernels write and tells a traced graph their shapes: the two cannot differ.
def _residual_shapes(
    features: Tensor,
    mask: Tensor | None,
    sigma: float,
    floor: float,
    delta: float,
    lines: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    batch, steps, width = features.shape
    return (
        features.new_empty(batch, _tiled(width, steps)),
        features.new_empty(batch, width),
        features.new_empty(batch, width, dtype=torch.int64),
        features.new_empty(batch, steps),
        features.new_empty(lines, steps),
    )


@torch.library.impl("crest::choose", "CPU")
def _choose(
    tiles: Tensor, peak: Tensor, above: Tensor, count: Tensor, mask: Tensor | None, floor: float, tie: float,
    resolution: float, dilation: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    from crest.readouts.fast.kernels.ranking import selections  # noqa: PLC0415

    if peak.ndim != 2 or peak.dtype not in _REACH or tiles.ndim != 2:
        raise ValueError(
            f"peak must have shape (B, D) and be float32 or float64, got {tuple(peak.shape)} of {peak.dtype}"
        )
    steps = tiles.shape[1] // _tiled(peak.shape[1], 1)
    _require("tiles", tiles, (len(peak), _tiled(peak.shape[1], steps)), peak.dtype)
    for name, numbers in (("above", above), ("count", count)):
        _require(name, numbers, tuple(peak.shape), torch.int64)
        if numbers.numel() and not (int(numbers.min()) >= 0 and int(numbers.max()) <= steps):
            raise ValueError(
                f"{name} must lie in [0, T], T = {steps}, got {int(numbers.min())} to {int(numbers.max())}"
            )
    _require("mask", mask, (len(peak), steps), torch.bool)
    if dilation < 0:
        raise ValueError(f"dilation must be 0 or more, got {dilation}")
    found = _chosen_shapes(tiles, peak, above, count, mask, floor, tie, resolution, dilation)
    number = _array(tiles).dtype.type
    with told_first_call(selections, tiles.dtype):
        on_threads(
        selections, tiles.shape[0], _array(tiles), _array(peak), _array(above), _array(count), *_valid(mask), number(floor),
        number(tie), number(resolution), dilation, *(tensor.numpy() for tensor in found),
    )  # fmt: skip
    return found


def _chosen_shapes(
    tiles: Tensor, peak: Tensor, above: Tensor, count: Tensor, mask: Tensor | None, floor: float, tie: float,
    resolution: float, dilation: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return torch.empty_like(tiles, dtype=torch.uint8), torch.empty_like(above)


@torch.library.impl("crest::pool", "CPU")
def _pool(
    features: Tensor, tiles: Tensor, inner: Tensor, outer: Tensor, level: Tensor, mask: Tensor | None
) -> Tensor:
    from crest.readouts.fast.kernels.pooling import weighted_sums  # noqa: PLC0415

    _require_features(features, mask)
    _require_selection(features, features.shape[1], tiles, mask, inner, outer, level)
    pooled = _pooled_shape(features, tiles, inner, outer, level, mask)
    weights = (_array(weight) for weight in (inner, outer, level))
    series = _array(features).reshape(features.shape[0], -1)
    with told_first_call(weighted_sums, features.dtype):
        on_threads(weighted_sums, len(series), series, _array(tiles), *weights, *_valid(mask), pooled.numpy())
    return pooled


def _pooled_shape(
    features: Tensor, tiles: Tensor, inner: Tensor, outer: Tensor, level: Tensor, mask: Tensor | None
) -> Tensor:  # fmt: skip
    return features.new_empty(features.shape[0], features.shape[2])


@torch.library.impl("crest::spread", "CPU")
def _spread(
    gradient: Tensor,
    tiles: Tensor,
    inner: Tensor,
    outer: Tensor,
    level: Tensor,
    mask: Tensor | None,
    steps: int,
) -> Tensor:
    from crest.readouts.fast.kernels.pooling import spread_weights  # noqa: PLC0415

    if gradient.ndim != 2 or gradient.dtype not in _REACH:
        raise ValueError(
            f"gradient must have shape (B, D) and be float32 or float64, got {tuple(gradient.shape)} of {gradient.dtype}"
        )
    _require_selection(gradient, steps, tiles, mask, inner, outer, level)
    spread = _spread_shape(gradient, tiles, inner, outer, level, mask, steps)
    batch = gradient.shape[0]
    arrays = [_array(tensor) for tensor in (gradient, tiles, inner, outer)]
    with told_first_call(spread_weights, gradient.dtype):
        on_threads(spread_weights, batch, *arrays, *_valid(mask), spread.numpy().reshape(batch, -1))
    return spread


def _spread_shape(
    gradient: Tensor, tiles: Tensor, inner: Tensor, outer: Tensor, level: Tensor, mask: Tensor | None, steps: int
) -> Tensor:  # fmt: skip
    return gradient.new_empty(gradient.shape[0], steps, gradient.shape[1])


torch.library.register_fake("crest::residuals", _residual_shapes)
torch.library.register_fake("crest::choose", _chosen_shapes)
torch.library.register_fake("crest::pool", _pooled_shape)
torch.library.register_fake("crest::spread", _spread_shape)

# Pooling and spreading are linear, and each is the other's transpose: so any number of backward passes is.


def _keep_pool(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    features, *weights = inputs
    ctx.steps = features.shape[1]
    ctx.save_for_backward(*weights)


def _back_through_pool(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    return torch.ops.crest.spread(gradient, *ctx.saved_tensors, ctx.steps), None, None, None, None, None


def _keep_spread(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, *weights, _ = inputs
    ctx.save_for_backward(*weights)


def _back_through_spread(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    return torch.ops.crest.pool(gradient, *ctx.saved_tensors), None, None, None, None, None, None


torch.library.register_autograd("crest::pool", _back_through_pool, setup_context=_keep_pool)
torch.library.register_autograd("crest::spread", _back_through_spread, setup_context=_keep_spread)
