"""Mean over valid steps: the pooled reader of Proposition 1."""

from crest._base.arrays import Features, StepMask, StepScores
from crest.readouts.base import WeightedReadout, equal_weights


class MeanReadout(WeightedReadout):
    """Average the steps: every valid step has the same weight.

    Example:
        >>> import torch
        >>> MeanReadout()(torch.tensor([[[1.0], [3.0]]]))
        tensor([[2.]])
    """

    def _weights(self, features: Features, mask: StepMask) -> StepScores:
        return equal_weights(mask, features)
