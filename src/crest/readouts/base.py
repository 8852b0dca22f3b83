"""The contract of every readout: features (B, T, D) [+ mask (B, T)] -> pooled (B, D)."""

import abc

import torch
from torch import Tensor, nn

from crest._base.arguments import require
from crest._base.arrays import (
    Features,
    Pooled,
    Profile,
    ProfileMask,
    StepFlags,
    StepMask,
    StepScores,
    at_least_float32,
    valid_steps,
)
from crest._base.tensors import (
    as_mask,
    require_finite,
    require_floating,
    require_series,
    require_traced,
)

HEADROOM = 2.0**16
"""Features this many times below the end of their dtype's range can be subtracted, and added up over as many channels.

A power of two: to divide by it changes no digit.
"""


def checked_inputs(
    features: Features, mask: StepFlags | None, validate: bool = True, fill: bool = True
) -> tuple[Features, StepMask | None, bool]:
    """Features with padded steps set to zero, the mask as booleans (or None), and whether features are far from overflow.

    Zeroing first means that whatever stands in the padding, NaN included, reaches neither the output nor a
    gradient. While a graph is traced, ranks and dtypes are checked and no more: no value exists yet, and a comparison
    of sizes would fix a dynamic axis.

    Args:
        features: (B, T, D).
        mask: valid steps, or None for all.
        validate: see `Readout`.
        fill: False leaves the padding as it is, for code that never reads it.
    """
    # On the meta device there are no values either: torch's own layers give shapes there.
    tracing = torch.compiler.is_compiling() or (getattr(features, "is_meta", False) and not validate)
    if tracing:
        require_traced("features", features, "(B, T, D)", 3)
        require_floating("features", features)
    else:
        require_series("features", features, "(B, T, D)")
        # A negated view, such as `z.conj().imag`, has its sign beside its memory: operators of our own do not read it.
        features = features.resolve_neg()
    valid = as_mask(mask, features, validate)
    if valid is not None and fill:
        features = features.masked_fill(~valid.unsqueeze(-1), 0.0)
    if not validate or tracing or moderate(features):
        return features, valid, True
    require_finite("features", features, valid)
    return features, valid, False


def moderate(features: Features) -> Tensor:
    """Whether all features are finite and so small that their squares add up: one fast pass, and no wait.

    Example:
        >>> moderate(torch.ones(1, 2, 1)), moderate(torch.full((1, 2, 1), 3e38))
        (tensor(True), tensor(False))
    """
    size: Tensor = torch.linalg.vector_norm(features.detach(), dtype=at_least_float32(features))
    return size.isfinite()


def weighted_sum(features: Features, weights: StepScores) -> Pooled:
    """Sum over steps of weight times feature: added up in float32 at least, in the features' dtype."""
    # Not a matrix product: autocast would take that back to half precision.
    dtype = at_least_float32(features, weights)
    return (weights.to(dtype).unsqueeze(-1) * features.to(dtype)).sum(1).to(features.dtype)


def equal_weights(steps: StepMask, features: Features) -> StepScores:
    """The same weight on each of the given steps, in float32 at least: half precision has no good 1/T."""
    return steps.to(at_least_float32(features)) / steps.sum(1, keepdim=True).clamp(min=1)


def masked_softmax(logits: Profile, mask: ProfileMask) -> Profile:
    """Softmax over the valid steps of the last axis; exactly 0 on padding and if no step is valid.

    Example:
        >>> masked_softmax(torch.zeros(1, 3), torch.tensor([[True, True, False]]))
        tensor([[0.5000, 0.5000, 0.0000]])
    """
    lowest = torch.finfo(logits.dtype).min
    return torch.softmax(logits.masked_fill(~mask, lowest), dim=-1) * mask


class Readout(nn.Module, abc.ABC):
    """Pool step features into one vector per trajectory, without labels.

    A mask (B, T) says which steps are valid; the others are padding. It holds booleans, or the integers 0 and 1.

    Args:
        width: number of feature channels D that the readout is made for; None for any.
        validate: refuse NaN and inf in valid steps, and integers other than 0 and 1 in masks. Costs one pass over
            the features (on a GPU, one synchronisation); switch it off for speed.
    """

    def __init__(self, *, width: int | None = None, validate: bool = True) -> None:
        super().__init__()
        if width is not None:
            require("width", width, "be a whole number, 1 or more")
        self.width = width
        self.validate = validate

    def checked(self, features: Features, mask: StepFlags | None) -> tuple[Features, StepMask]:
        """Features with padded steps set to zero, and the valid steps, checked at the public door."""
        return self.checked_for_scores(features, mask)[:2]

    def checked_for_scores(
        self, features: Features, mask: StepFlags | None
    ) -> tuple[Features, StepMask, bool]:
        """`checked`, and whether the features are far from overflow, for `scored`."""
        features, valid, far_from_overflow = checked_inputs(features, mask, self.validate)
        if self.width is not None and features.shape[2] != self.width:
            raise ValueError(f"features must have width = {self.width} channels, got {features.shape[2]}")
        return features, valid_steps(valid, features[..., 0]), far_from_overflow

    def scored(self, features: Features, far_from_overflow: bool) -> Features:
        """Checked features as a learned score takes them: of a dtype that its weights have, and small enough for its sums.

        Near the end of their dtype's range the dot product of finite features is infinite, and a softmax of it NaN. Every score
        is saturated there, and a smaller unit changes none.
        """
        weights = next(self.parameters(), features)
        # Autocast takes both to one dtype, but not float64. The device without memory has none to ask about.
        device = features.device.type
        cast = device != "meta" and torch.is_autocast_enabled(device) and features.dtype != torch.float64
        if not cast and torch.promote_types(features.dtype, weights.dtype) != weights.dtype:
            raise ValueError(
                f"features must have the dtype of the readout's weights, {weights.dtype}, or a narrower one, "
                f"got {features.dtype}: convert one of them with .to(...)"
            )
        return features if far_from_overflow else features / HEADROOM

    @abc.abstractmethod
    def forward(self, features: Features, mask: StepFlags | None = None) -> Pooled:
        """Pooled vector of each trajectory; zero if no step is valid."""

    @abc.abstractmethod
    def step_weights(self, features: Features, mask: StepFlags | None = None) -> StepScores:
        """Non-negative share of each step in the pooled vector; sums to one over T.

        Zero everywhere for a trajectory with no valid step.
        """


class WeightedReadout(Readout):
    """A readout whose pooled vector is the sum of its step weights times the features."""

    def forward(self, features: Features, mask: StepFlags | None = None) -> Pooled:
        """Pooled vector of each trajectory; zero if no step is valid."""
        features, valid, far_from_overflow = self.checked_for_scores(features, mask)
        return weighted_sum(features, self._weights(self.scored(features, far_from_overflow), valid))

    def step_weights(self, features: Features, mask: StepFlags | None = None) -> StepScores:
        """The weights that `forward` sums with."""
        features, valid, far_from_overflow = self.checked_for_scores(features, mask)
        return self._weights(self.scored(features, far_from_overflow), valid).to(features.dtype)

    @abc.abstractmethod
    def _weights(self, features: Features, mask: StepMask) -> StepScores:
        """Weights from checked features and a full mask."""


class EventReadout(nn.Module, abc.ABC):
    """A reference that sees the events: its `forward` differs so that it cannot pass for label-free."""

    def __init__(self, *, validate: bool = True) -> None:
        super().__init__()
        self.validate = validate

    @abc.abstractmethod
    def forward(self, features: Features, events: StepFlags, mask: StepFlags | None = None) -> Pooled:
        """Pooled vector of each trajectory."""

    @abc.abstractmethod
    def step_weights(
        self, features: Features, events: StepFlags, mask: StepFlags | None = None
    ) -> StepScores:
        """Non-negative share of each step in the pooled vector; sums to one over T."""


def learned_vector(width: int) -> nn.Parameter:
    """A learned vector of unit expected norm, the start of every learned query and register."""
    return nn.Parameter(torch.randn(width) / width**0.5)


def scaled_scores(features: Features, query: Tensor) -> StepScores:
    """Dot product of each step with a query, over sqrt(D), in float32 at least.

    Example:
        >>> scaled_scores(torch.full((1, 1, 4), 600.0, dtype=torch.float16), torch.full((4,), 100.0, dtype=torch.float16))
        tensor([[120000.]])
    """
    dtype = at_least_float32(features, query)
    # The device without memory has no autocast to ask about.
    autocast = features.device.type != "meta" and torch.is_autocast_enabled(features.device.type)
    half = autocast or features.dtype != dtype
    # A matrix product in half precision, to which autocast takes it, overflows before the division.
    scores = (features.to(dtype) * query.to(dtype)).sum(-1) if half else features @ query
    scaled: Tensor = scores / features.shape[-1] ** 0.5
    return scaled
