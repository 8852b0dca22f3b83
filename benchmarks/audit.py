"""How an exchange test of all nuisances, an audit and the search for cues grow with trajectories, steps and channels.

Each line is one size. `passes` is how often each trajectory went through the model, and `x passes` how long the whole took over the
time of these passes alone, measured before and after: 1 would mean that all else is free. Cues ask no model, so they are compared with
one pass over the same trajectories. One thread. `python benchmarks/audit.py [--quick]`.
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

import crest
from crest import ExchangeSettings
from crest.nuisances import NAMES
from crest.probes import batches_of, evaluating, in_batches

SIZES = ((128, 512, 1), (512, 512, 1), (128, 2048, 1), (128, 8192, 1), (128, 512, 4), (128, 512, 16))
QUICK = ((40, 128, 1), (40, 128, 2))
BATCH = 256


class Counted(nn.Module):
    """A small CNN that counts the trajectories which it has seen."""

    # Of the class: what a model writes to itself while it is asked is put back afterwards.
    seen = 0

    def __init__(self, channels: int) -> None:
        super().__init__()
        layers = [
            nn.Conv1d(channels, 32, 9, padding=4),
            nn.ReLU(),
            nn.Conv1d(32, 32, 9, padding=4),
            nn.ReLU(),
        ]
        self.features, self.pool, self.head = (
            nn.Sequential(*layers),
            nn.AdaptiveAvgPool1d(1),
            nn.Linear(32, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        """One prediction for each trajectory (B, C, T)."""
        Counted.seen += len(x)
        predictions: Tensor = self.head(self.pool(self.features(x)).flatten(1))
        return predictions


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(trajectories: int, steps: int, channels: int) -> None:
    """Print one line."""
    numbers = torch.Generator().manual_seed(1000)
    x = torch.randn(trajectories, channels, steps, generator=numbers).cumsum(2) / steps**0.5
    y = torch.rand(trajectories, generator=numbers)
    x[:, :, steps // 2 : steps // 2 + 8] += 3 * y[:, None, None]
    torch.manual_seed(1000)
    model = Counted(channels).eval()
    settings = ExchangeSettings(trajectories=trajectories, batch_size=BATCH, invariant=NAMES[:-1])

    def forward() -> float:
        """Seconds of a plain pass, for one trajectory."""
        with evaluating(model), torch.no_grad():
            return min(seconds(lambda: in_batches(model, batches_of(x))) for _ in range(3)) / trajectories

    works: dict[str, Callable[[], object]] = {
        "exchange test": lambda: crest.exchange_test(
            model, x, targets=y, channels_first=True, exchange=settings
        ),
        "audit": lambda: crest.audit(model, (x, y), exchange=settings),
        "cues": lambda: crest.cues(x, y, channels_first=True),
    }
    forward()
    for name, work in works.items():
        # Before and after: other work on the machine comes and goes.
        before = forward()
        Counted.seen = 0
        took, seen = seconds(work), Counted.seen
        alone = (before + forward()) / 2 * (seen or trajectories)
        print(
            f"{trajectories:>5} x {steps:>5} x {channels:<3} {name:<14} {took:7.2f} s {seen / trajectories:7.1f} passes"
            f" {took / alone:7.1f} x passes"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="does it work? Its numbers mean nothing")
    torch.set_num_threads(1)
    for size in QUICK if parser.parse_args().quick else SIZES:
        measure(*size)
