"""An ordinary small network and its training, in plain PyTorch."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from crest._base import rng
from crest._base.arguments import require
from crest._base.doors import door


@door
def network(outputs: int = 1, *, seed: int = 0) -> nn.Sequential:
    """A strided CNN with average pooling, from signals (B, 1, T) to predictions (B,), or to logits (B, K) of several classes.

    Args:
        outputs: 1 for a number, K for K classes.
        seed: draws other initial weights. The global random state stays as it is.

    Example:
        >>> network()(torch.zeros(2, 1, 128)).shape, network(3)(torch.zeros(2, 1, 128)).shape
        (torch.Size([2]), torch.Size([2, 3]))
    """
    require("outputs", outputs, "be a whole number, 1 or more")
    with rng.scope(seed, "examples/network"):
        return nn.Sequential(
            *(nn.Conv1d(1, 16, 5, stride=2, padding=2), nn.BatchNorm1d(16), nn.ReLU()),
            *(nn.Conv1d(16, 16, 3, stride=2, padding=1), nn.BatchNorm1d(16), nn.ReLU()),
            *(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, outputs)),
            *([nn.Flatten(0)] if outputs == 1 else []),
        )


@door
def fit_network(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]], *, epochs: int = 40) -> None:
    """Train a model in place: Adam, its step getting smaller along a cosine. Mean square error; cross-entropy for classes.

    Args:
        model: any module that takes the inputs of the batches.
        batches: pairs (inputs, targets), such as `machines().train.batches()`. Whole numbers are classes.
        epochs: how often all batches are gone through.

    Example:
        >>> x, y = torch.randn(8, 1, 128), torch.zeros(8)
        >>> model = network()
        >>> before = (model(x) - y).square().mean()
        >>> fit_network(model, [(x, y)], epochs=5)
        >>> bool((model(x) - y).square().mean() < before)
        True
    """
    require("epochs", epochs, "be a whole number, 0 or more")
    pairs = [_pair(batch) for batch in batches]
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(epochs, 1))
    model.train()
    for _ in range(epochs):
        for x, y in pairs:
            loss = nn.functional.mse_loss if y.is_floating_point() else nn.functional.cross_entropy
            optimiser.zero_grad()
            loss(model(x), y).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        slower.step()


def _pair(batch: object) -> tuple[Tensor, Tensor]:
    match batch:
        case (Tensor() as x, Tensor() as y):
            return x, y
    raise ValueError(f"batches must be pairs of tensors (inputs, targets), got {batch!r:.80}")
