"""Conjunctive pooling: the mean of attention-weighted instance predictions (MILLET, Early et al. 2024)."""

import torch
from torch import Tensor, nn

from crest._base.arrays import Features, Pooled, StepFlags, StepMask, StepScores, at_least_float32
from crest.readouts.base import Readout, equal_weights, weighted_sum


class ConjunctiveReadout(Readout):
    """Scale each step by its own sigmoid attention, then average.

    With a linear head w the prediction is the mean over steps of a_t (w.F_t): attention times instance
    prediction, each step's attention independent of the others. Unlike a softmax, the weights need not sum
    to one, so a trajectory with no salient step is read as small.

    Args:
        width: number of feature channels D.
        hidden: units of the attention layer; 8 is what MILLET uses.
        validate: see `Readout`.
    """

    def __init__(self, width: int, *, hidden: int = 8, validate: bool = True) -> None:
        super().__init__(width=width, validate=validate)
        self.attention = nn.Sequential(
            nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, 1), nn.Sigmoid()
        )

    def forward(self, features: Features, mask: StepFlags | None = None) -> Pooled:
        """Pooled vector of each trajectory; zero if no step is valid."""
        features, valid, far = self.checked_for_scores(features, mask)
        return weighted_sum(
            features, self._attention(self.scored(features, far), valid) * equal_weights(valid, features)
        )

    def step_weights(self, features: Features, mask: StepFlags | None = None) -> StepScores:
        """Attention of each step as a share of the trajectory's sum."""
        features, valid, far = self.checked_for_scores(features, mask)
        attention = self._attention(self.scored(features, far), valid)
        shares = attention / attention.sum(1, keepdim=True).clamp(min=torch.finfo(attention.dtype).tiny)
        return shares.to(features.dtype)

    def _attention(self, features: Features, valid: StepMask) -> StepScores:
        scored = features.to(next(self.attention.parameters()).dtype)
        attention: Tensor = self.attention(scored).squeeze(-1)
        return attention.to(at_least_float32(features)) * valid
