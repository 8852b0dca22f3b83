"""The contract of every encoder: signals (B, T, C) -> step features (B, T, D)."""

import abc

from torch import nn

from crest.arrays import Features, Signals

WIDTH = 32
"""Feature channels D of every encoder, so that readouts and heads are the same size everywhere.

Our choice: docs/choices.md#encoders
"""


class Encoder(nn.Module, abc.ABC):
    """Give every step of a trajectory a feature vector.

    Args:
        channels: number of input channels C.
        width: number of feature channels D.
        **sizes: further sizes of the encoder, at least 1 each.
    """

    def __init__(self, channels: int, width: int = WIDTH, **sizes: int) -> None:
        super().__init__()
        for name, value in {"channels": channels, "width": width, **sizes}.items():
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.channels = channels
        self.width = width

    @abc.abstractmethod
    def forward(self, x: Signals) -> Features:
        """Step features (B, T, D)."""
