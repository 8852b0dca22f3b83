"""A residual convolutional network, as people take from the shelf for biosignals and wearables."""

from torch import Tensor, nn

from crest._base.arrays import Signals, StridedFeatures
from crest.lab.encoders.base import WIDTH, Encoder


class _Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(inside, outside, 5, stride=stride, padding=2)
        self.first_norm = nn.BatchNorm1d(outside)
        self.second = nn.Conv1d(outside, outside, 5, padding=2)
        self.second_norm = nn.BatchNorm1d(outside)
        same = inside == outside and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv1d(inside, outside, 1, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.first_norm(self.first(x)).relu()
        outer: Tensor = (self.second_norm(self.second(inner)) + self.shortcut(x)).relu()
        return outer


class ResidualEncoder(Encoder):
    """A strided convolution and two residual blocks, with batch normalisation and ReLU; a quarter of the steps is left.

    T steps of the signals give T // 4 steps of features; the end of a signal that fills no stretch of four has none. Signals with
    fewer than 4 are refused. In training the features of a trajectory depend on the others of its batch, by the normalisation.

    Example:
        >>> import torch
        >>> ResidualEncoder(3)(torch.zeros(2, 40, 3)).shape
        torch.Size([2, 10, 32])
    """

    stride = 4

    # our choice: docs/evidence/choices.md#encoders
    def __init__(self, channels: int, width: int = WIDTH, *, first: int = 24) -> None:
        super().__init__(channels, width, first=first)
        self.layers = nn.Sequential(
            nn.Conv1d(channels, first, 7, stride=2, padding=3),
            nn.BatchNorm1d(first),
            nn.ReLU(),
            _Block(first, width, 2),
            _Block(width, width, 1),
        )

    def forward(self, x: Signals) -> StridedFeatures:
        """Step features (B, T // 4, D)."""
        steps = x.shape[1] // self.stride
        if steps == 0:
            raise ValueError(
                f"x must have at least {self.stride} steps for the residual CNN, got {x.shape[1]}"
            )
        features: Tensor = self.layers(x.transpose(1, 2)).transpose(1, 2)
        return features[:, :steps]
