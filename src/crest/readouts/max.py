"""Maximum over valid steps, channel by channel."""

import torch

from crest._base.arrays import Features, Pooled, StepFlags, StepScores, at_least_float32
from crest.readouts.base import Readout


class MaxReadout(Readout):
    """Take each channel's largest value.

    Example:
        >>> MaxReadout()(torch.tensor([[[1.0, 5.0], [3.0, 4.0]]]))
        tensor([[3., 5.]])
    """

    def forward(self, features: Features, mask: StepFlags | None = None) -> Pooled:
        """Pooled vector of each trajectory; zero if no step is valid."""
        features, valid = self.checked(features, mask)
        largest = features.masked_fill(~valid.unsqueeze(-1), -torch.inf).amax(1)
        return torch.where(valid.any(1, keepdim=True), largest, 0.0)

    def step_weights(self, features: Features, mask: StepFlags | None = None) -> StepScores:
        """Share of the channels that have their maximum at each step (the first one, where tied)."""
        features, valid = self.checked(features, mask)
        winners = features.masked_fill(~valid.unsqueeze(-1), -torch.inf).argmax(1)
        shares = (
            torch.nn.functional.one_hot(winners, features.shape[1]).to(at_least_float32(features)).mean(1)
        )
        return (shares * valid.any(1, keepdim=True)).to(features.dtype)
