"""What a repair of eight candidates costs, in trainings: one after the other, and two at a time.

A training is the user's own `fit` of one copy, timed before and after. Each process has one thread, so two at a time need two idle cores.
`python benchmarks/repair.py [--quick]`.
"""

import argparse
import copy
import time
import warnings
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

import crest
from crest import ExchangeSettings

REMEDIES = (
    "re-anchored",
    "standardise",
    "high-pass",
    "level jitter",
    "exchange",
    "exchange of tones",
    "CREST",
)
CHANNELS, EVENT = 2, 16


def data(trajectories: int, steps: int) -> list[tuple[Tensor, Tensor]]:
    """Batches of smooth noise whose level is tied to the target, with an event whose height is the target."""
    numbers = torch.Generator().manual_seed(1000)
    x = 0.2 * torch.randn(trajectories, CHANNELS, steps, generator=numbers).cumsum(2) / steps**0.5
    y = torch.rand(trajectories, generator=numbers)
    x[:, 0] += 2 * y[:, None]
    x[:, :, steps // 3 : steps // 3 + EVENT] += y[:, None, None]
    return list(zip(x.split(32), y.split(32), strict=True))


def network() -> nn.Module:
    """A CNN with mean pooling."""
    torch.manual_seed(1000)
    layers = [nn.Conv1d(CHANNELS, 32, 9, padding=4), nn.ReLU(), nn.Conv1d(32, 32, 9, padding=4), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 1), nn.Flatten(0))


def fit_for(epochs: int) -> Callable[[nn.Module, Iterable[tuple[Tensor, Tensor]]], None]:
    """A usual training."""

    def fit(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        for _ in range(epochs):
            for x, y in batches:
                optimizer.zero_grad()
                (model(x) - y).square().mean().backward()
                optimizer.step()

    return fit


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(trajectories: int, steps: int, epochs: int) -> None:
    """Print a line for each number of jobs."""
    batches, model, fit = data(trajectories, steps), network(), fit_for(epochs)
    held_out, batches = batches[:4], batches[4:]
    settings = ExchangeSettings(trajectories=min(128, trajectories // 8))

    def training() -> float:
        return seconds(lambda: fit(copy.deepcopy(model), batches))

    fit(model, batches)
    print(f"{trajectories} trajectories of {steps} steps, {epochs} epochs")
    chosen = dict[int, dict[str, float]]()
    for jobs in (1, 2):
        before = training()

        def repaired(jobs: int = jobs) -> None:
            found = crest.repair(
                model, batches, fit=fit, validation=held_out, remedies=REMEDIES, exchange=settings, jobs=jobs
            )
            chosen[jobs] = {name: row.id_error for name, row in found.candidates.items()}

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            took = seconds(repaired)
        alone = (before + training()) / 2
        print(
            f"jobs={jobs}: {len(chosen[jobs]) - 1} candidates take {took / alone:5.1f} trainings of {alone:.1f} s"
        )
    same = chosen[1] == chosen[2]
    print(f"the same candidates with the same errors: {'yes' if same else 'no'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="does it work? Its numbers mean nothing")
    torch.set_num_threads(1)
    main(*((160, 64, 1) if parser.parse_args().quick else (1024, 512, 20)))
