"""The contract of every readout: features (B, T, D) [+ mask (B, T)] -> pooled (B, D)."""

import abc

import torch
from torch import Tensor, nn

from crest.arrays import EventMask, Features, Pooled, Profile, ProfileMask, StepMask, StepScores


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
    if features.ndim != 3 or features.numel() == 0:
        raise ValueError(f"features must have shape (B, T, D), none of them 0, got {tuple(features.shape)}")
    if not features.is_floating_point():
        raise ValueError(f"features must be floating point, got {features.dtype}")
    if mask is not None and (mask.shape != features.shape[:2] or mask.dtype != torch.bool):
        raise ValueError(
            f"mask must be boolean (True = valid) of shape {tuple(features.shape[:2])}, "
            f"got {mask.dtype} {tuple(mask.shape)}"
        )


def valid_steps(features: Features, mask: StepMask | None) -> StepMask:
    """The mask, or all True where none was given."""
    return features.new_ones(features.shape[:2], dtype=torch.bool) if mask is None else mask


def weighted_sum(features: Features, weights: StepScores) -> Pooled:
    """Sum over steps of weight times feature: added up in float32 at least, in the features' dtype."""
    dtype = torch.promote_types(features.dtype, torch.float32)
    return torch.bmm(weights.to(dtype).unsqueeze(1), features.to(dtype)).squeeze(1).to(features.dtype)


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
        validate: refuse NaN and inf in valid steps. Costs one pass over the features (on a GPU, one
            synchronisation); switch it off for speed.
    """

    def __init__(self, *, validate: bool = True) -> None:
        super().__init__()
        self.validate = validate

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
        features = checked(features, mask, self.validate)
        return weighted_sum(features, self._weights(features, valid_steps(features, mask)))

    def step_weights(self, features: Features, mask: StepMask | None = None) -> StepScores:
        """The weights that `forward` sums with."""
        features = checked(features, mask, self.validate)
        return self._weights(features, valid_steps(features, mask))

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
    if width < 1:
        raise ValueError(f"width must be the number of feature channels, at least 1, got {width}")
    return nn.Parameter(torch.randn(width) / width**0.5)


def scaled_scores(features: Features, query: Tensor) -> StepScores:
    """Dot product of each step with a query, over sqrt(D)."""
    scores: Tensor = (features @ query) / features.shape[-1] ** 0.5
    return scores
