"""A network and a training loop as people write them; nothing here knows of crest."""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR

LEARNING_RATE = 1e-2  # our choice: docs/evidence/choices.md#demo


class StridedCnn(nn.Module):
    """A convolutional network with strides, batch normalisation and an average over time: (B, C, T) -> (B, 1).

    Example:
        >>> import torch
        >>> StridedCnn(3)(torch.randn(2, 3, 512)).shape
        torch.Size([2, 1])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.BatchNorm1d(channels),
            *(
                nn.Conv1d(channels, 32, 7, stride=2, padding=3),
                nn.BatchNorm1d(32),
                nn.ReLU(),
                nn.MaxPool1d(2),
            ),
            *(nn.Conv1d(32, 64, 5, padding=2), nn.BatchNorm1d(64), nn.ReLU()),
            *(nn.Conv1d(64, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU()),
        )
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(32, 1)

    def forward(self, x: Tensor) -> Tensor:
        """One prediction for each trajectory."""
        predictions: Tensor = self.head(self.pool(self.encoder(x)).flatten(1))
        return predictions


@runtime_checkable
class Batches(Protocol):
    """What a `DataLoader` gives: (inputs, targets), as often as they are read."""

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...


def train(model: nn.Module, batches: Batches, *, epochs: int) -> None:
    """An ordinary training from the start: weights drawn anew, AdamW, one cycle of the learning rate.

    Args:
        model: trained in place.
        batches: (inputs, targets), read once in each epoch.
        epochs: how many.
    """
    for part in model.modules():
        if isinstance(part, nn.Conv1d | nn.Linear | nn.BatchNorm1d):
            part.reset_parameters()
    model.train()
    optimiser = AdamW(model.parameters(), LEARNING_RATE, weight_decay=1e-4)
    cycle = OneCycleLR(optimiser, LEARNING_RATE, total_steps=epochs * len(batches))
    for _ in range(epochs):
        for x, y in batches:
            optimiser.zero_grad()
            nn.functional.mse_loss(model(x)[:, 0], y).backward()  # type: ignore[no-untyped-call]
            clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            cycle.step()
