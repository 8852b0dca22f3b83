"""A small Transformer encoder: a step sees every other."""

import math

import torch
from torch import Tensor, nn

from crest.arrays import Features, Signals
from crest.lab.encoders.base import WIDTH, Encoder


def positions(steps: int, width: int) -> Tensor:
    """Sines and cosines of the step's number at geometrically spaced rates (steps, width), as in Transformers.

    Example:
        >>> positions(3, 4)[0]
        tensor([0., 1., 0., 1.])
    """
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    angles = torch.arange(steps).unsqueeze(1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


class AttentionEncoder(Encoder):
    """A Transformer encoder with sinusoidal positions, normalised before each part; no dropout.

    Example:
        >>> import torch
        >>> AttentionEncoder(3)(torch.zeros(2, 10, 3)).shape
        torch.Size([2, 10, 32])
    """

    # our choice: docs/choices.md#encoders
    def __init__(
        self, channels: int, width: int = WIDTH, *, layers: int = 1, heads: int = 2, hidden: int = 64
    ) -> None:
        super().__init__(channels, width, layers=layers, heads=heads, hidden=hidden)
        if width % heads:
            raise ValueError(f"heads must divide width = {width}, got {heads}")
        self.embed = nn.Linear(channels, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, hidden, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )

    def forward(self, x: Signals) -> Features:
        """Step features (B, T, D)."""
        features: Tensor = self.embed(x)
        features = features + positions(x.shape[1], self.width).to(features)
        for layer in self.layers:
            features = layer(features)
        return features
