"""One layer of a Transformer as they are built today: normalised before each part, positions inside the attention."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from crest._base.arrays import Features

BASE = 10000.0
"""Longest wavelength of rotary positions over 2 pi, as in RoFormer (Su et al. 2021)."""


def rotary_turns(steps: int, width: int) -> Tensor:
    """Cosines and sines (2, steps, width / 2) by which rotary positions turn pairs of channels, in float64.

    Example:
        >>> rotary_turns(2, 4)[:, 0]
        tensor([[1., 1.],
                [0., 0.]], dtype=torch.float64)
    """
    rates = BASE ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(steps).unsqueeze(1) * rates
    return torch.stack([angles.cos(), angles.sin()])


def rotated(vectors: Tensor, turns: Tensor) -> Tensor:
    """The vectors (..., T, W) with each pair of channels turned by the angle of its step: i goes with i + W / 2.

    Lengths stay, and the product of two rotated vectors depends on their steps by the distance alone.

    Example:
        >>> quarter = torch.tensor([[[0.0]], [[1.0]]])  # cosine and sine
        >>> rotated(torch.tensor([[3.0, 4.0]]), quarter)
        tensor([[-4.,  3.]])
    """
    cosine, sine = turns
    first, second = vectors.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)


class TransformerLayer(nn.Module):
    """Attention of every step to every other, then an MLP on each, both added to what came in; no dropout.

    Args:
        width: feature channels D.
        heads: attention heads; they divide the width.
        hidden: hidden units of the MLP.

    Example:
        >>> TransformerLayer(8, 2, 16)(torch.zeros(3, 10, 8)).shape
        torch.Size([3, 10, 8])
    """

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.asked = nn.Linear(width, 3 * width)
        self.answered = nn.Linear(width, width)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, features: Features, turns: Tensor | None = None) -> Features:
        """The features (B, T, D) of the next layer; `turns` (2, T, D / heads / 2) are rotary positions."""
        features = features + self._attended(self.attention_norm(features), turns)
        mixed: Tensor = features + self.mlp(self.mlp_norm(features))
        return mixed

    def _attended(self, features: Features, turns: Tensor | None) -> Features:
        batch, steps, width = features.shape
        parts = self.asked(features).view(batch, steps, 3, self.heads, -1)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)  # (B, heads, T, D / heads) each
        if turns is not None:
            queries, keys = rotated(queries, turns), rotated(keys, turns)
        mixed = functional.scaled_dot_product_attention(queries, keys, values)
        answer: Tensor = self.answered(mixed.transpose(1, 2).reshape(batch, steps, width))
        return answer
