"""The contract of every encoder: signals (B, T, C) -> step features (B, S, D); S is T if there is no stride."""

import abc
from typing import ClassVar

from torch import nn

from crest._base.arguments import require
from crest._base.arrays import Signals, StridedFeatures

WIDTH = 32
"""Feature channels D of every encoder, so that readouts and heads are the same size everywhere.

Our choice: docs/evidence/choices.md#encoders
"""


class Encoder(nn.Module, abc.ABC):
    """Give every step of a trajectory a feature vector.

    Args:
        channels: number of input channels C.
        width: number of feature channels D.
        **sizes: further sizes of the encoder, whole numbers from 1 up.
    """

    per_step: ClassVar[bool] = False
    """Whether a step's features depend on that step alone."""
    stride: int = 1
    """Steps of the signals for each step of the features."""

    def __init__(self, channels: int, width: int = WIDTH, **sizes: int) -> None:
        super().__init__()
        for name, value in {"channels": channels, "width": width, **sizes}.items():
            require(name, value, "be a whole number, 1 or more")
        self.channels = channels
        self.width = width

    @abc.abstractmethod
    def forward(self, x: Signals) -> StridedFeatures:
        """Step features (B, S, D)."""
