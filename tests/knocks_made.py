"""Windows whose knock tells the target, on a level that follows it as far as one says; a small network and its training."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

STEPS = 150


def knocks(count: int, tie: float, seed: int) -> tuple[Tensor, Tensor]:
    """Signals (N, 1, T) and targets (N,)."""
    numbers = torch.Generator().manual_seed(seed)
    target = torch.randn(count, generator=numbers)
    level = tie * target + (1 - tie**2) ** 0.5 * torch.randn(count, generator=numbers)
    x = level[:, None, None] + 0.1 * torch.randn(count, 1, STEPS, generator=numbers)
    starts = torch.randint(20, STEPS - 28, (count, 1), generator=numbers)
    inside = (torch.arange(STEPS) >= starts) & (torch.arange(STEPS) < starts + 8)
    x[:, 0] += inside * (2 + 0.5 * target[:, None])
    return x, target


def split(x: Tensor, y: Tensor, size: int = 32) -> list[tuple[Tensor, Tensor]]:
    return list(zip(x.split(size), y.split(size), strict=True))


def network(outputs: int = 1) -> nn.Sequential:
    """Channels first, as convolutions have them."""
    torch.manual_seed(1000)
    return nn.Sequential(
        nn.Conv1d(1, 8, 9, padding=4), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, outputs)
    )


def loss_of(answers: Tensor, y: Tensor) -> Tensor:
    if y.is_floating_point():
        return (answers.reshape(len(y)) - y).square().mean()
    return nn.functional.cross_entropy(answers, y)


def fit(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]], epochs: int = 25) -> None:
    """Adam by hand: the first step of torch's own imports its compiler, which takes longer than a test may."""
    weights = list(model.parameters())
    sizes = [torch.zeros_like(weight) for weight in weights]
    means = [torch.zeros_like(weight) for weight in weights]
    for epoch in range(epochs):
        for x, y in batches:
            slopes = torch.autograd.grad(loss_of(model(x), y), weights)
            with torch.no_grad():
                for weight, slope, size, mean in zip(weights, slopes, sizes, means, strict=True):
                    size.mul_(0.9).add_(0.1 * slope.square())
                    mean.mul_(0.9).add_(0.1 * slope)
                    weight.sub_(0.03 * (1 - epoch / epochs) * mean / (size.sqrt() + 1e-6))


def one_step(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
    fit(model, list(batches)[:1], epochs=1)
