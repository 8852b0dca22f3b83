"""CREST in an ordinary CNN, beside the simplest remedy: python docs/examples/ordinary_cnn.py [--seeds N] [--epochs N].

Three bursts in 400 steps tell the label by their size. In training the level of the window follows the label too; out of
distribution it does not. The network has what such networks have: strides, batch normalisation, a max-pool, an
average over time. It is trained three times: as it is, with CREST in the place of its average, and as it is on
windows from which their mean was taken.
"""

import argparse
import statistics

import torch
from torch import Tensor, nn

import crest

STEPS = 400
BURST = 16  # steps
CORRELATION = 0.97  # of level and label in training
WAYS = ("average", "CREST", "average, input less its mean")


def windows(n: int, broken: bool, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Signals (n, 1, T) and labels (n); `broken` unties the level from the label."""
    label, other = torch.randn(2, n, generator=generator)
    level = other if broken else CORRELATION * label + (1 - CORRELATION**2) ** 0.5 * other
    time = torch.arange(STEPS) / STEPS
    rate, phase = torch.rand(2, n, 1, generator=generator)
    drift = 0.3 * torch.sin(2 * torch.pi * (rate * time + phase))
    signal = level[:, None] + drift + 0.1 * torch.randn(n, STEPS, generator=generator)
    age = torch.arange(BURST)
    burst = torch.exp(-age / 5) * torch.sin(2 * torch.pi * age / 6)
    for start in torch.randint(STEPS - BURST, (3, n, 1), generator=generator):
        signal.scatter_add_(1, start + age, (1 + 0.5 * label.clamp(min=-1.9))[:, None] * burst)
    return signal[:, None], label


def network() -> nn.Sequential:
    """A small CNN from (B, 1, T) to (B, 1)."""
    return nn.Sequential(
        *(nn.Conv1d(1, 16, 7, stride=2, padding=3), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2)),
        *(nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU()),
        *(nn.Conv1d(32, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU()),
        *(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 1)),
    )


def errors(way: str, seed: int, epochs: int) -> tuple[float, float]:
    """ID and OOD error after training."""
    generator = torch.Generator().manual_seed(seed)
    train, *tests = (windows(n, broken, generator) for n, broken in ((512, False), (256, False), (256, True)))
    torch.manual_seed(seed)
    model = network()
    if way == "CREST":
        crest.replace_pooling(model, "10", crest.CrestReadout())
    seen = (lambda x: x - x.mean(2, keepdim=True)) if way == WAYS[2] else (lambda x: x)
    optimiser = torch.optim.Adam(model.parameters())
    for _ in range(epochs):
        for rows in torch.randperm(512, generator=generator).split(32):
            optimiser.zero_grad()
            nn.functional.mse_loss(model(seen(train[0][rows]))[:, 0], train[1][rows]).backward()
            optimiser.step()
    model.eval()
    with torch.no_grad():
        scores = [(model(seen(x))[:, 0] - y).square().mean().sqrt().item() for x, y in tests]
    return scores[0], scores[1]


def main() -> None:
    """Print the mean errors of the three ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=30)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for way in WAYS:
        pairs = [errors(way, seed, arguments.epochs) for seed in range(arguments.seeds)]
        means = [statistics.fmean(column) for column in zip(*pairs, strict=True)]
        worst, best = max(ood for _, ood in pairs), min(ood for _, ood in pairs)
        print(f"{way:<30} ID {means[0]:.2f}  OOD {means[1]:.2f} ({best:.2f} to {worst:.2f})")


if __name__ == "__main__":
    main()
