"""The last valid step: the usual readout of a recurrent encoder."""

from crest._base.arrays import Features, StepMask, StepScores
from crest.readouts.base import WeightedReadout


class LastReadout(WeightedReadout):
    """Take the last valid step.

    Example:
        >>> import torch
        >>> LastReadout()(torch.tensor([[[1.0], [3.0]]]), torch.tensor([[True, False]]))
        tensor([[1.]])
    """

    def _weights(self, features: Features, mask: StepMask) -> StepScores:
        still_to_come = mask.flip(1).cumsum(1).flip(1)
        return (mask & (still_to_come == 1)).to(features.dtype)
