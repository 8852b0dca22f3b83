"""A Transformer over patches: short stretches of the signal are its words."""

from torch import Tensor, nn

from crest._base.arrays import Signals, StridedFeatures
from crest.lab.encoders.attention import AttentionEncoder
from crest.lab.encoders.base import WIDTH, Encoder


class PatchEncoder(Encoder):
    """Patches of 8 steps, each made a vector by one linear map, and a Transformer over them.

    T steps of the signals give T // 8 steps of features. Signals with fewer than 8 are refused.

    Example:
        >>> import torch
        >>> PatchEncoder(3)(torch.zeros(2, 40, 3)).shape
        torch.Size([2, 5, 32])
    """

    stride = 8

    # our choice: docs/evidence/choices.md#encoders
    def __init__(
        self, channels: int, width: int = WIDTH, *, layers: int = 2, heads: int = 4, hidden: int = 64
    ) -> None:
        super().__init__(channels, width, layers=layers, heads=heads, hidden=hidden)
        self.patches = nn.Conv1d(channels, width, self.stride, stride=self.stride)
        self.transformer = AttentionEncoder(width, width, layers=layers, heads=heads, hidden=hidden)

    def forward(self, x: Signals) -> StridedFeatures:
        """Step features (B, T // 8, D)."""
        if x.shape[1] < self.stride:
            raise ValueError(f"x must have at least {self.stride} steps for patches, got {x.shape[1]}")
        words: Tensor = self.patches(x.transpose(1, 2)).transpose(1, 2)
        features: Tensor = self.transformer(words)
        return features
