"""The small network of the estimators, and how it is trained."""

from collections.abc import Iterable, Sized
from typing import Any

import torch
from torch import Tensor, nn

# our choice: docs/evidence/choices.md#estimators
_WIDTHS = (24, 32, 32)
_LEARNING_RATE = 3e-3
_WEIGHT_DECAY = 1e-4
_CLIP = 1.0


class _ResidualBlock(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv1d(inside, outside, 5, stride=stride, padding=2),
            nn.BatchNorm1d(outside),
            nn.ReLU(),
            nn.Conv1d(outside, outside, 5, padding=2),
            nn.BatchNorm1d(outside),
        )
        same = inside == outside and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv1d(inside, outside, 1, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = (self.inner(x) + self.shortcut(x)).relu()
        return found


class ResidualNetwork(nn.Sequential):
    """A residual CNN: signals (B, C, T) -> (B, outputs). Its pooling is a mean over time.

    One step of its features covers 4 steps of the signals. It has some 21,000 weights.

    Args:
        channels: C.
        outputs: 1 for a number, K for logits of K classes.

    Example:
        >>> ResidualNetwork(3, 2)(torch.zeros(5, 3, 40)).shape
        torch.Size([5, 2])
    """

    def __init__(self, channels: int, outputs: int) -> None:
        first, second, third = _WIDTHS
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(channels, first, 7, stride=2, padding=3),
            nn.BatchNorm1d(first),
            nn.ReLU(),
            _ResidualBlock(first, second, 2),
            _ResidualBlock(second, third, 1),
        )
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.flat = nn.Flatten()
        self.head = nn.Linear(third, outputs)


def train_network(model: nn.Module, batches: Iterable[Any], *, epochs: int) -> None:
    """Train a model in place: AdamW under one cycle of the learning rate, on squared errors or the cross-entropy.

    The weights are those of the last epoch.

    Args:
        model: (B, C, T) -> (B, 1), or logits (B, K) for targets that are whole numbers.
        batches: of signals and targets (B,); read once in each epoch.
        epochs: passes over the batches.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> model, x, y = nn.Sequential(nn.Flatten(), nn.Linear(4, 1)), torch.randn(32, 1, 4), torch.ones(32)
        >>> train_network(model, [(x, y)], epochs=1000)
        >>> bool((model(x)[:, 0] - y).abs().mean() < 0.5)
        True
    """
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=_LEARNING_RATE, weight_decay=_WEIGHT_DECAY, fused=True)
    # Not by a pass over them if they tell it: each pass over changed batches makes every change anew.
    updates = epochs * (len(batches) if isinstance(batches, Sized) else sum(1 for _ in batches))
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, _LEARNING_RATE, total_steps=updates)
    model.train()
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            _loss(model(x), y).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(parameters, _CLIP)
            optimizer.step()
            cycle.step()
    model.eval()


def _loss(predictions: Tensor, y: Tensor) -> Tensor:
    if y.is_floating_point():
        return nn.functional.mse_loss(predictions[:, 0], y)
    return nn.functional.cross_entropy(predictions, y)
