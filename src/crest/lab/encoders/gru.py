"""A recurrent encoder: a step sees everything before it."""

import torch
from torch import Tensor, nn

from crest.arrays import Features, Signals
from crest.lab.encoders.base import WIDTH, Encoder
from crest.lab.encoders.recurrence import gru_states


class GruEncoder(Encoder):
    """One layer of gated recurrent units, forward in time; the features are its states.

    Example:
        >>> import torch
        >>> GruEncoder(3)(torch.zeros(2, 10, 3)).shape
        torch.Size([2, 10, 32])
    """

    def __init__(self, channels: int, width: int = WIDTH) -> None:
        super().__init__(channels, width)
        self.layer = nn.GRU(channels, width, batch_first=True)

    def forward(self, x: Signals) -> Features:
        """Step features (B, T, D): compiled in float32 on a CPU, by PyTorch elsewhere and in exported graphs."""
        if x.device.type == "cpu" and x.dtype == torch.float32 and not torch.compiler.is_compiling():
            return gru_states(self.layer, x)
        features: Tensor = self.layer(x)[0]
        return features
