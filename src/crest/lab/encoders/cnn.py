"""A convolutional network as people write it for vibration signals: batch normalisation, a stride, a max-pool."""

from torch import Tensor, nn

from crest._base.arrays import Signals, StridedFeatures
from crest.lab.encoders.base import WIDTH, Encoder


class CnnEncoder(Encoder):
    """Three convolutions with batch normalisation and ReLU; a stride and a max-pool leave a quarter of the steps.

    T steps of the signals give (T + 1) // 4 steps of features. Signals with fewer than 4 are refused. In training the features of
    a trajectory depend on the others of its batch, by the normalisation.

    Example:
        >>> import torch
        >>> CnnEncoder(3)(torch.zeros(2, 40, 3)).shape
        torch.Size([2, 10, 32])
    """

    stride = 4

    # our choice: docs/evidence/choices.md#encoders
    def __init__(self, channels: int, width: int = WIDTH, *, first: int = 32, second: int = 64) -> None:
        super().__init__(channels, width, first=first, second=second)
        self.layers = nn.Sequential(
            nn.Conv1d(channels, first, 7, stride=2, padding=3),
            nn.BatchNorm1d(first),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(first, second, 5, padding=2),
            nn.BatchNorm1d(second),
            nn.ReLU(),
            nn.Conv1d(second, width, 3, padding=1),
            nn.BatchNorm1d(width),
            nn.ReLU(),
        )

    def forward(self, x: Signals) -> StridedFeatures:
        """Step features (B, (T + 1) // 4, D)."""
        if x.shape[1] < self.stride:
            raise ValueError(f"x must have at least {self.stride} steps for the CNN, got {x.shape[1]}")
        features: Tensor = self.layers(x.transpose(1, 2)).transpose(1, 2)
        return features
