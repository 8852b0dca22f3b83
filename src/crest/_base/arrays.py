"""Axis letters and shape aliases of tensors, and what follows from them: the widest dtype, the valid steps.

N trajectories, B batch, T steps, S steps of features where strides make them fewer, C input channels, D feature
channels, K classes. With jaxtyping installed (it is a
development dependency) the test run checks every alias at every call; without it they are plain tensors.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Integer
else:
    try:
        from jaxtyping import Bool, Float, Int, Integer
    except ImportError:

        class _Letters:
            """Stand-in for jaxtyping's types: `Float[Tensor, "B T D"]` is then just `Tensor`."""

            def __class_getitem__(cls, item: tuple[type, str]) -> Any:
                return item[0]

        Bool = Float = Int = Integer = _Letters

Signals: TypeAlias = Float[Tensor, "B T C"]
"""Measured signals, the encoder's input."""
Features: TypeAlias = Float[Tensor, "B T D"]
"""Step features, the encoder's output."""
StridedFeatures: TypeAlias = Float[Tensor, "B S D"]
"""Step features at their own rate: S is T, or less if the network has strides."""
Pooled: TypeAlias = Float[Tensor, "B D"]
"""One vector per trajectory, the readout's output."""
StepMask: TypeAlias = Bool[Tensor, "B T"]
"""True where a step is valid, False where it is padding."""
EventMask: TypeAlias = Bool[Tensor, "B T"]
"""True where a step belongs to a physical event."""
StepFlags: TypeAlias = Bool[Tensor, "B T"] | Integer[Tensor, "B T"]
"""A mask or events as a public door takes them: booleans, or the integers 0 and 1."""
StepScores: TypeAlias = Float[Tensor, "B T"]
"""One number per step."""
StridedEvents: TypeAlias = Bool[Tensor, "B S"]
"""Events at another rate than their signal's."""
StridedScores: TypeAlias = Float[Tensor, "B S"]
"""One number per step, at another rate than its signal's."""
PerTrajectory: TypeAlias = Float[Tensor, " B"]
"""One number per trajectory."""
Logits: TypeAlias = Float[Tensor, "B K"]
"""One number per trajectory and class."""
Answers: TypeAlias = PerTrajectory | Logits
"""What a head gives: a number for each trajectory, or logits if the labels are classes."""
StepCounts: TypeAlias = Int[Tensor, "B T"]
"""One whole number per step."""
Counts: TypeAlias = Int[Tensor, " B"]
"""One whole number per trajectory."""
Selection: TypeAlias = Bool[Tensor, "B T D"]
"""True where a channel selects a step."""
Profile: TypeAlias = Float[Tensor, "*batch T"]
"""A step profile with time last, for any leading axes (trajectories, halves of the channels)."""
ProfileMask: TypeAlias = Bool[Tensor, "*#batch T"]
"""True where a step of a profile is valid."""
PerProfile: TypeAlias = Float[Tensor, "*batch"]
"""One number per profile."""


def at_least_float32(*tensors: Tensor) -> torch.dtype:
    """The widest dtype among the tensors, and float32 if all are narrower.

    Example:
        >>> at_least_float32(torch.zeros(1, dtype=torch.float16))
        torch.float32
    """
    dtype = torch.float32
    for tensor in tensors:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype


def channels_first_of(signals: Signals) -> Tensor:
    """Signals (B, T, C) as (B, C, T), with strides that a convolution can be trained on.

    One channel is flattened and not transposed. A transposed (B, 1, T) has the stride 1 twice, and the backward pass of
    torch's Conv1d on a CPU (2.13, oneDNN) reads such a tensor beyond its end: the process dies.

    Example:
        >>> channels_first_of(torch.zeros(2, 5, 1)).stride(), channels_first_of(torch.zeros(2, 5, 3)).shape
        ((5, 5, 1), torch.Size([2, 3, 5]))
    """
    return signals.flatten(1).unsqueeze(1) if signals.shape[2] == 1 else signals.transpose(1, 2)


def valid_steps(mask: ProfileMask | None, like: Tensor) -> ProfileMask:
    """The mask spread over the shape of `like` (..., T), or True everyif if there is no mask.

    The one spelling of "mask or ones". Code that can save work without a mask asks for `mask is None` instead.

    Example:
        >>> valid_steps(None, torch.zeros(1, 2)), valid_steps(torch.tensor([True, False]), torch.zeros(1, 2))
        (tensor([[True, True]]), tensor([[ True, False]]))
    """
    if mask is not None:
        return mask.expand_as(like)
    # Contiguous, whatever the layout of `like`: sums over a product with it then add up in one order.
    return torch.ones_like(like, dtype=torch.bool, memory_format=torch.contiguous_format)


def smaller_size(one: int, other: int) -> int:
    """The smaller of two sizes. A traced graph does not depend on which it is, as it would after `min`.

    Example:
        >>> smaller_size(3, 16)
        3
    """
    smaller: int = torch.sym_min(one, other)  # type: ignore[no-untyped-call]
    return smaller
