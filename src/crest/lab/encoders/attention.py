"""A small Transformer encoder: a step sees every other."""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from crest._base.arguments import require_choice
from crest._base.arrays import Features, Signals
from crest.lab.encoders.base import WIDTH, Encoder
from crest.lab.encoders.transformer_layer import TransformerLayer, rotary_turns

POSITIONS = ("rotary", "sinusoidal", "none")
"""How the encoder tells steps apart by their place."""


def sinusoids(steps: int, width: int) -> Tensor:
    """Sines and cosines of the step's number at geometrically spaced rates (steps, width), as in Transformers.

    Example:
        >>> sinusoids(3, 4)[0]
        tensor([0., 1., 0., 1.])
    """
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    angles = torch.arange(steps).unsqueeze(1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]


class AttentionEncoder(Encoder):
    """A Transformer encoder, normalised before each part; no dropout.

    Args:
        channels: number of input channels C.
        width: number of feature channels D.
        layers: number of layers.
        heads: attention heads; they divide the width.
        hidden: hidden units of each layer's MLP.
        positions: "rotary" turns queries and keys by the step's number, so that attention sees distances and the
            features hold no trace of the place (RoFormer); "sinusoidal" adds waves to the features, where
            they stay (the first Transformer); "none": the steps are a set.
        final_norm: a LayerNorm after the last layer, as Transformers have it that normalise before each part.

    Example:
        >>> import torch
        >>> AttentionEncoder(3)(torch.zeros(2, 10, 3)).shape
        torch.Size([2, 10, 32])
    """

    # our choice: docs/evidence/choices.md#encoders
    def __init__(
        self,
        channels: int,
        width: int = WIDTH,
        *,
        layers: int = 1,
        heads: int = 2,
        hidden: int = 64,
        positions: Literal["rotary", "sinusoidal", "none"] = "rotary",
        final_norm: bool = True,
    ) -> None:
        super().__init__(channels, width, layers=layers, heads=heads, hidden=hidden)
        require_choice("positions", positions, POSITIONS)
        if not isinstance(final_norm, bool):
            raise ValueError(f"final_norm must be True or False, got {final_norm!r}")
        if width % heads:
            raise ValueError(f"heads must divide width = {width}, got {heads}")
        if positions == "rotary" and width // heads % 2:
            raise ValueError(
                f"heads must leave each an even number of channels for rotary positions, got {heads} for "
                f"width = {width}"
            )
        self.positions = positions
        self.heads = heads
        self.embed = nn.Linear(channels, width)
        self.layers = nn.ModuleList(self._layer(hidden) for _ in range(layers))
        self.norm = nn.LayerNorm(width) if final_norm else nn.Identity()

    def _layer(self, hidden: int) -> nn.Module:
        if self.positions != "sinusoidal":
            return TransformerLayer(self.width, self.heads, hidden)
        # PyTorch's own: the published records of this encoder were made with it, and hold to its bits.
        return nn.TransformerEncoderLayer(
            self.width, self.heads, hidden, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )

    def forward(self, x: Signals) -> Features:
        """Step features (B, T, D)."""
        features: Tensor = self.embed(x)
        if self.positions == "sinusoidal":
            features = features + sinusoids(x.shape[1], self.width).to(features)
        inside: tuple[Tensor, ...] = ()
        if self.positions == "rotary":
            inside = (rotary_turns(x.shape[1], self.width // self.heads).to(features),)
        for layer in self.layers:
            features = layer(features, *inside)
        normed: Tensor = self.norm(features)
        return normed
