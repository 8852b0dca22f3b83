"""The paper's phi(x_t): a small network on each step by itself."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from crest.arrays import Features, Signals
from crest.lab.encoders.base import WIDTH, Encoder


class PointwiseEncoder(Encoder):
    """An MLP with one hidden layer on each step; no step sees another.

    Example:
        >>> import torch
        >>> PointwiseEncoder(3)(torch.zeros(2, 10, 3)).shape
        torch.Size([2, 10, 32])
    """

    per_step: ClassVar[bool] = True

    # our choice: docs/choices.md#encoders
    def __init__(self, channels: int, width: int = WIDTH, *, hidden: int = 64) -> None:
        super().__init__(channels, width, hidden=hidden)
        self.layers = nn.Sequential(nn.Linear(channels, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x: Signals) -> Features:
        """Step features (B, T, D)."""
        weight, bias = self.layers[0].parameters()
        # As the layer itself; but the gradient of a weight that is contiguous this way round is six times as fast where channels are few.
        hidden = torch.addmm(bias, x.flatten(0, 1), weight.t().contiguous())
        features: Tensor = self.layers[1:](hidden.view(*x.shape[:2], len(weight)))
        return features
