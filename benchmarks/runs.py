"""Throughput of training runs: two processes against one; where the time of one run goes; our layers against PyTorch's; the whole catalog.

The same runs go through a pool of one process and a pool of two, by turns in one session, so that a slow minute
of the machine hits both. The processes are warm: starting one (torch, numba) takes a few seconds once.
`python benchmarks/runs.py [--runs N] [--epochs N] [--rounds N] [--quick]`.
"""

import argparse
import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from crest.lab.encoders.few_channels import FewChannelLinear
from crest.lab.encoders.recurrence import CompiledGru
from crest.lab.evidence import CATALOG
from crest.lab.evidence.experiment import distinct
from crest.lab.model import make_model
from crest.lab.objectives import MeanSquaredError, TrainingBatch
from crest.lab.runs.executors import LocalExecutor, cores
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.lab.runs.sweep import sweep
from crest.lab.systems import Sizes, make_system
from crest.lab.training import SCHEDULES, Schedule

RESULTS = Path(__file__).parent.parent / "results"
TINY = Sizes(train=8, id=8, ood=8)
READOUTS = ("mean", "attention", "scored_attention", "crest")


def specs(runs: int, epochs: int, sizes: Sizes) -> list[RunSpec]:
    return [
        RunSpec(
            system="gear",
            readout="attention",
            seed=1000 + run,
            sizes=sizes,
            schedule=Schedule(epochs=epochs),
        )
        for run in range(runs)
    ]


def throughput(executor: LocalExecutor, wanted: list[RunSpec]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        outcome = sweep(wanted, Store(Path(folder)), executor)
        if len(outcome.done) != len(wanted):
            raise SystemExit(f"only {len(outcome.done)} of {len(wanted)} runs were done")
        return len(wanted) / (time.perf_counter() - start)


def compare(runs: int, epochs: int, rounds: int, sizes: Sizes) -> None:
    tiny, wanted = specs(4, 1, TINY), specs(runs, epochs, sizes)
    with LocalExecutor(1) as one, LocalExecutor(2) as two:
        throughput(one, tiny)
        throughput(two, tiny)
        pairs = [(throughput(one, wanted), throughput(two, wanted)) for _ in range(rounds)]
    ratios = [second / first for first, second in pairs]
    print(f"{cores()} cores; {runs} runs of {sizes.train} trajectories, {epochs} epochs, {rounds} rounds")
    print(f"one process   {statistics.median(first for first, _ in pairs):.3f} runs per second")
    print(f"two processes {statistics.median(second for _, second in pairs):.3f} runs per second")
    print(f"ratio         {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def seconds(work: Callable[[], object], repeats: int) -> float:
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def profile(sizes: Sizes, repeats: int) -> None:
    """Milliseconds of the parts of one update, on one thread, and the seconds of a run that they add up to."""
    torch.set_num_threads(1)
    start = time.perf_counter()
    data = make_system("gear").splits(1000, sizes).train
    count = sizes.train + sizes.id + sizes.ood
    print(f"\ngear, {count} trajectories: {time.perf_counter() - start:.1f} s to simulate, once per seed")
    x, y, events, proxy = data.tensors()
    print(f"{'encoder':<10} {'readout':<17} {'encode':>7} {'pool':>7} {'update':>7} ms   {'run':>5} s")
    for encoder, schedule in SCHEDULES.items():
        rows = torch.arange(min(schedule.batch, len(data)))
        batch = TrainingBatch(x, y, events, proxy).rows(rows)
        for readout in READOUTS:
            model = make_model(encoder, readout, channels=x.shape[2], seed=1000)
            optimizer = torch.optim.AdamW(model.parameters(), fused=True)  # as in training

            def update(model=model, batch=batch, optimizer=optimizer) -> None:
                optimizer.zero_grad()
                MeanSquaredError().loss(model, batch).backward()
                optimizer.step()

            features = model.features(batch.x).detach()
            encode = seconds(lambda model=model, batch=batch: model.features(batch.x), repeats)
            pool = seconds(lambda model=model, features=features: model.pool(features), repeats)
            whole = seconds(update, repeats)
            run = whole * schedule.epochs * len(data) / schedule.batch
            print(
                f"{encoder:<10} {readout:<17} {1e3 * encode:7.1f} {1e3 * pool:7.1f} {1e3 * whole:7.1f}      {run:5.0f}"
            )


def layers(batch: int, steps: int, rounds: int) -> None:
    """Our GRU and our linear layer for few channels against PyTorch's, forward and backward by turns, on one thread."""
    torch.set_num_threads(1)
    x = torch.randn(batch, steps, 3)
    pairs: dict[str, tuple[nn.Module, nn.Module]] = {
        "GRU": (nn.GRU(3, 32, batch_first=True), CompiledGru(3, 32)),
        "linear layer for 3 channels": (nn.Linear(3, 64), FewChannelLinear(3, 64)),
    }

    def both_ways(layer: nn.Module) -> None:
        answer = layer(x)
        (answer[0] if isinstance(answer, tuple) else answer).sum().backward()

    for name, pair in pairs.items():
        theirs, ours = (functools.partial(both_ways, layer) for layer in pair)
        ratios = [seconds(theirs, 1) / seconds(ours, 1) for _ in range(rounds)]
        print(f"{name}: PyTorch's takes {statistics.median(ratios):.1f} times as long as ours")


def catalog(folder: Path) -> None:
    """What the kept runs of the catalog would take if each trained as fast as the fastest one of its kind did."""
    store = Store(folder)
    there = store.ids()
    records = [store.record(spec) for spec in distinct(CATALOG.values()) if spec.id in there]
    paces: dict[tuple[str, ...], list[float]] = {}
    for record in records:
        paces.setdefault(_kind(record), []).append(record.seconds["training"] / _shown(record))
    hours = sum(_shown(record) * min(paces[_kind(record)]) for record in records) / 3600
    print(f"\n{len(records)} kept runs of the catalog: {hours / 2:.1f} hours of training on two cores")


def _kind(record: Record) -> tuple[str, ...]:
    return record.spec.system, record.spec.encoder, record.spec.readout, record.spec.remedy


def _shown(record: Record) -> int:
    """Trajectories that the training saw, each once an epoch."""
    return record.spec.training.epochs * record.spec.sizes.train


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="does it work? Its numbers mean nothing")
    options = parser.parse_args()
    if options.quick:
        compare(1, 1, 1, TINY)
        profile(TINY, 1)
        layers(2, 16, 1)
    else:
        compare(options.runs, options.epochs, options.rounds, Sizes())
        profile(Sizes(), 12)
        layers(64, 512, 12)
    catalog(RESULTS)
