"""Attention pooling with a learned query and dot-product scores."""

from crest._base.arrays import Features, StepMask, StepScores
from crest.readouts.base import WeightedReadout, learned_vector, masked_softmax, scaled_scores


class AttentionReadout(WeightedReadout):
    """Weight steps by the softmax of their scaled dot product with one learned query.

    Args:
        width: number of feature channels D.
        validate: see `Readout`.
    """

    def __init__(self, width: int, *, validate: bool = True) -> None:
        super().__init__(width=width, validate=validate)
        self.query = learned_vector(width)

    def _weights(self, features: Features, mask: StepMask) -> StepScores:
        return masked_softmax(scaled_scores(features, self.query), mask)
