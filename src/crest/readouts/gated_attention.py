"""Gated attention pooling of multiple-instance learning (Ilse et al. 2018)."""

import torch
from torch import nn

from crest._base.arrays import Features, StepMask, StepScores
from crest.readouts.base import WeightedReadout, masked_softmax


class GatedAttentionReadout(WeightedReadout):
    """Weight steps by the softmax of a score in which a sigmoid gate multiplies a tanh layer.

    Args:
        width: number of feature channels D.
        hidden: units of each branch.
        validate: see `Readout`.
    """

    # our choice: docs/evidence/choices.md#scorer-size
    def __init__(self, width: int, *, hidden: int = 64, validate: bool = True) -> None:
        super().__init__(width=width, validate=validate)
        self.content = nn.Linear(width, hidden)
        self.gate = nn.Linear(width, hidden)
        self.score = nn.Linear(hidden, 1)

    def _weights(self, features: Features, mask: StepMask) -> StepScores:
        features = features.to(self.content.weight.dtype)
        gated = torch.tanh(self.content(features)) * torch.sigmoid(self.gate(features))
        return masked_softmax(self.score(gated).squeeze(-1), mask)
