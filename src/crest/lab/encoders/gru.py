"""A recurrent encoder: a step sees everything before it."""

from torch import Tensor

from crest._base.arrays import Features, Signals
from crest.lab.encoders.base import WIDTH, Encoder
from crest.lab.encoders.recurrence import CompiledGru


class GruEncoder(Encoder):
    """One layer of gated recurrent units, forward in time; the features are its states.

    Example:
        >>> import torch
        >>> GruEncoder(3)(torch.zeros(2, 10, 3)).shape
        torch.Size([2, 10, 32])
    """

    def __init__(self, channels: int, width: int = WIDTH) -> None:
        super().__init__(channels, width)
        self.layer = CompiledGru(channels, width)

    def forward(self, x: Signals) -> Features:
        """Step features (B, T, D)."""
        features: Tensor = self.layer(x)[0]
        return features
