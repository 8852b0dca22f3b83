"""The contract of every readout: features (B, T, D) [+ mask (B, T)] -> pooled (B, D)."""

import abc

import torch
from torch import Tensor, nn

from crest.arrays import (
    EventMask,
    Features,
    Pooled,
    Profile,
    ProfileMask,
    StepMask,
    StepScores,
    at_least_float32,
)


def checked(features: Features, mask: StepMask | None, finite: bool = True) -> Features:
    """Features with padded steps set to zero, after the checks at the public door.

    Zeroing first means that whatever stands in the padding, NaN included, reaches neither the output nor a
    gradient. Nothing is checked while a graph is traced: no value exists yet, and a comparison of shapes
    would fix a dynamic axis.
    """
    tracing = torch.compiler.is_compiling()
    if not tracing:
        _check_shapes(features, mask)
    if mask is not None:
        features = features.masked_fill(~mask.unsqueeze(-1), 0.0)
    if finite and not tracing:
        _check_finite(features)
    return features


def _check_finite(features: Features) -> None:
    # One sum is some twenty times faster than a test of each value; only a sum that is not finite needs that.
    if torch.isfinite(features.detach().sum()):
        return
    bad = (~torch.isfinite(features)).nonzero()
    if len(bad):
        trajectory, step, channel = bad[0].tolist()
        raise ValueError(
            f"features must be finite at valid steps, got {len(bad)} NaN or inf, the first at trajectory "
            f"{trajectory}, step {step}, channel {channel} (validate=False skips this check)"
        )


def _check_shapes(features: Features, mask: StepMask | None) -> None:
    for name, value in (("features", features), ("mask", mask)):
        if value is not None and not isinstance(value, Tensor):
            raise ValueError(f"{name} must be a torch tensor, got {type(value).__name__}")
    if features.ndim != 3 or features.numel() == 0:
        raise ValueError(f"features must have shape (B, T, D), none of them 0, got {tuple(features.shape)}")
    if not features.is_floating_point():
        raise ValueError(f"features must be floating point, got {features.dtype}")
    if mask is not None and (mask.shape != features.shape[:2] or mask.dtype != torch.bool):
        raise ValueError(
            "mask must be boolean (True = valid; mask.bool() converts) of shape "
            f"{tuple(features.shape[:2])}, got {mask.dtype} {tuple(mask.shape)}"
        )


def valid_steps(features: Features, mask: StepMask | None) -> StepMask:
    """The mask, or all True where none was given."""
    return features.new_ones(features.shape[:2], dtype=torch.bool) if mask is None else mask


def weighted_sum(features: Features, weights: StepScores) -> Pooled:
    """Sum over steps of weight times feature: added up in float32 at least, in the features' dtype."""
    # Not a matrix product: autocast would take that back to half precision.
    dtype = at_least_float32(features, weights)
    return (weights.to(dtype).unsqueeze(-1) * features.to(dtype)).sum(1).to(features.dtype)


def equal_weights(steps: StepMask, features: Features) -> StepScores:
    """The same weight on each of the given steps, in float32 at least: half precision has no good 1/T."""
    return steps.to(at_least_float32(features)) / steps.sum(1, keepdim=True).clamp(min=1)


def masked_softmax(logits: Profile, mask: ProfileMask) -> Profile:
    """Softmax over the valid steps of the last axis; exactly 0 on padding and where no step is valid.

    Example:
        >>> masked_softmax(torch.zeros(1, 3), torch.tensor([[True, True, False]]))
        tensor([[0.5000, 0.5000, 0.0000]])
    """
    lowest = torch.finfo(logits.dtype).min
    return torch.softmax(logits.masked_fill(~mask, lowest), dim=-1) * mask


class Readout(nn.Module, abc.ABC):
    """Pool step features into one vector per trajectory, without labels.

    Args:
        width: number of feature channels D that the readout is made for; None for any.
        validate: refuse NaN and inf in valid steps. Costs one pass over the features (on a GPU, one
            synchronisation); switch it off for speed.
    """

    def __init__(self, *, width: int | None = None, validate: bool = True) -> None:
        super().__init__()
        if width is not None and width < 1:
            raise ValueError(f"width must be the number of feature channels, at least 1, got {width}")
        self.width = width
        self.validate = validate

    def checked(self, features: Features, mask: StepMask | None) -> Features:
        """Features with padded steps set to zero, after the checks at the public door."""
        features = checked(features, mask, self.validate)
        if self.width is not None and features.shape[2] != self.width:
            raise ValueError(f"features must have width = {self.width} channels, got {features.shape[2]}")
        return features

    @abc.abstractmethod
    def forward(self, features: Features, mask: StepMask | None = None) -> Pooled:
        """Pooled vector of each trajectory; zero where no step is valid."""

    @abc.abstractmethod
    def step_weights(self, features: Features, mask: StepMask | None = None) -> StepScores:
        """Non-negative share of each step in the pooled vector; sums to one over T.

        Zero everywhere for a trajectory with no valid step.
        """


class WeightedReadout(Readout):
    """A readout whose pooled vector is the sum of its step weights times the features."""

    def forward(self, features: Features, mask: StepMask | None = None) -> Pooled:
        """Pooled vector of each trajectory; zero where no step is valid."""
        features = self.checked(features, mask)
        return weighted_sum(features, self._weights(features, valid_steps(features, mask)))

    def step_weights(self, features: Features, mask: StepMask | None = None) -> StepScores:
        """The weights that `forward` sums with."""
        features = self.checked(features, mask)
        return self._weights(features, valid_steps(features, mask)).to(features.dtype)

    @abc.abstractmethod
    def _weights(self, features: Features, mask: StepMask) -> StepScores:
        """Weights from checked features and a full mask."""


class EventReadout(nn.Module, abc.ABC):
    """A reference that sees the events: its `forward` differs so that it cannot pass for label-free."""

    def __init__(self, *, validate: bool = True) -> None:
        super().__init__()
        self.validate = validate

    @abc.abstractmethod
    def forward(self, features: Features, events: EventMask, mask: StepMask | None = None) -> Pooled:
        """Pooled vector of each trajectory."""

    @abc.abstractmethod
    def step_weights(self, features: Features, events: EventMask, mask: StepMask | None = None) -> StepScores:
        """Non-negative share of each step in the pooled vector; sums to one over T."""


def learned_vector(width: int) -> nn.Parameter:
    """A learned vector of unit expected norm, the start of every learned query and register."""
    return nn.Parameter(torch.randn(width) / width**0.5)


def scaled_scores(features: Features, query: Tensor) -> StepScores:
    """Dot product of each step with a query, over sqrt(D)."""
    scores: Tensor = (features @ query) / features.shape[-1] ** 0.5
    return scores
