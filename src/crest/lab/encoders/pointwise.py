"""The paper's phi(x_t): a small network on each step by itself."""

from typing import ClassVar

from torch import Tensor, nn

from crest._base.arrays import Features, Signals
from crest.lab.encoders.base import WIDTH, Encoder
from crest.lab.encoders.few_channels import FewChannelLinear


class PointwiseEncoder(Encoder):
    """An MLP with one hidden layer on each step; no step sees another.

    Example:
        >>> import torch
        >>> PointwiseEncoder(3)(torch.zeros(2, 10, 3)).shape
        torch.Size([2, 10, 32])
    """

    per_step: ClassVar[bool] = True

    # our choice: docs/evidence/choices.md#encoders
    def __init__(self, channels: int, width: int = WIDTH, *, hidden: int = 64) -> None:
        super().__init__(channels, width, hidden=hidden)
        self.layers = nn.Sequential(FewChannelLinear(channels, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x: Signals) -> Features:
        """Step features (B, T, D)."""
        features: Tensor = self.layers(x)
        return features
