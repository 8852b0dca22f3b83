"""Convolutions over a short window: a step sees its neighbours."""

from torch import Tensor, nn

from crest._base.arrays import Features, Signals
from crest.lab.encoders.base import WIDTH, Encoder


class LocalEncoder(Encoder):
    """Two convolutions along time; a feature sees `2 * kernel - 1` steps, centred on its own.

    Example:
        >>> import torch
        >>> LocalEncoder(3)(torch.zeros(2, 10, 3)).shape
        torch.Size([2, 10, 32])
    """

    # our choice: docs/evidence/choices.md#encoders
    def __init__(self, channels: int, width: int = WIDTH, *, hidden: int = 32, kernel: int = 9) -> None:
        super().__init__(channels, width, hidden=hidden, kernel=kernel)
        if kernel % 2 == 0:
            raise ValueError(f"kernel must be odd, so that a window has a centre, got {kernel}")
        self.layers = nn.Sequential(
            nn.Conv1d(channels, hidden, kernel, padding="same"),
            nn.GELU(),
            nn.Conv1d(hidden, width, kernel, padding="same"),
        )

    def forward(self, x: Signals) -> Features:
        """Step features (B, T, D)."""
        features: Tensor = self.layers(x.transpose(1, 2)).transpose(1, 2)
        return features
