"""Attention pooling with an MLP scorer: the stronger form of attention on a per-step encoder."""

from torch import nn

from crest._base.arrays import Features, StepMask, StepScores
from crest.readouts.base import WeightedReadout, masked_softmax


class ScoredAttentionReadout(WeightedReadout):
    """Weight steps by the softmax of a one-hidden-layer score (Ilse et al. 2018, without the gate).

    Args:
        width: number of feature channels D.
        hidden: units of the scorer.
        validate: see `Readout`.
    """

    # our choice: docs/evidence/choices.md#scorer-size
    def __init__(self, width: int, *, hidden: int = 64, validate: bool = True) -> None:
        super().__init__(width=width, validate=validate)
        self.scorer = nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def _weights(self, features: Features, mask: StepMask) -> StepScores:
        features = features.to(next(self.scorer.parameters()).dtype)
        return masked_softmax(self.scorer(features).squeeze(-1), mask)
