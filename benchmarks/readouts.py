"""Cost of every readout, all in one run: time, as a ratio to two kinds of attention, and memory; and how both grow with T.

Times are printed to be read as ratios: machines differ, and a busy one is slow for all. Rounds go over the readouts by turns, and a
ratio is the median of the rounds' own ratios. On one thread of a CPU the times are the processor's: a busy machine takes it away
from long calls, and leaves short ones alone. `crest` is measured twice: as it runs here, and in plain torch. Then a model with CREST
is trained, compiled by `torch.compile` and as it is.

`python benchmarks/readouts.py [--shapes 64x512x64,2x65536x64] [--threads 1,2] [--device cuda] [--rounds N] [--json FILE]
[--picture FILE] [--quick]`.
"""

import argparse
import copy
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

# The profiler that counts the memory would tell of each start and stop.
os.environ.setdefault("KINETO_LOG_LEVEL", "99")

import torch
from torch import Tensor, nn

from crest.readouts import READOUTS, make_readout
from crest.readouts.fast import backend, serves

SHAPES = ((64, 512, 64), (16, 4096, 64), (2, 65536, 64), (1, 1048576, 8))
QUICK = ((2, 64, 4), (1, 128, 4))
FLOOR, YARDSTICKS = "mean", ("attention", "scored_attention")
PLAIN = "crest, torch"
# Beside the largest shape these would take minutes or more memory than there is; they say nothing about CREST.
LARGEST = 2**23


def wait(device: str) -> None:
    """Until the device has done what it was given; a CPU has when the call returns."""
    if device != "cpu":
        getattr(torch, torch.device(device).type).synchronize()


def seconds(work: Callable[[], object], device: str = "cpu") -> float:
    alone = device == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    wait(device)
    start = clock()
    work()
    wait(device)
    return clock() - start


def peak_memory(work: Callable[[], object], device: str = "cpu") -> int | None:
    """Bytes of tensors that the work needs at once, beyond what was there before; None where nobody counts them."""
    if torch.device(device).type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        work()
        wait(device)
        return torch.cuda.max_memory_allocated(device) - before
    if device != "cpu":
        return None
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as traced:
        work()
    held, peak = 0, 0
    events = [event for event in traced.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


def forward(readout: nn.Module, features: Tensor) -> None:
    with torch.no_grad():
        readout(features)


def both_ways(readout: nn.Module, leaf: Tensor) -> None:
    leaf.grad = None
    readout(leaf).sum().backward()


def candidates(width: int, device: str) -> dict[str, tuple[nn.Module, str]]:
    """Readouts by name, each with the backend that it runs with. In training, where CREST also looks for a run-up."""
    found = {name: (make_readout(name, width, validate=False).to(device), "auto") for name in READOUTS}
    return {**found, PLAIN: (make_readout("crest", width, validate=False).to(device), "torch")}


def measure(shape: tuple[int, int, int], rounds: int, device: str) -> list[dict[str, object]]:
    """One row per readout: median milliseconds and ratios, forward and with backward, and peak memory over the features'."""
    features, leaf = torch.randn(shape, device=device), torch.randn(shape, device=device, requires_grad=True)
    readouts = candidates(shape[2], device)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in readouts}
    memory: dict[str, float] = {}
    for number in range(rounds + 1):
        for name, (readout, chosen) in readouts.items():
            with backend(chosen):
                pair = (
                    seconds(lambda readout=readout: forward(readout, features), device),
                    seconds(lambda readout=readout: both_ways(readout, leaf), device),
                )
                if number:  # the first round warms up
                    times[name].append(pair)
                elif features.numel() <= LARGEST:
                    extra = peak_memory(lambda readout=readout: forward(readout, features), device)
                    if extra is not None:
                        memory[name] = extra / (features.numel() * features.element_size())
        progress(f"{shape}: round {number} of {rounds}")
    return [row(name, times, memory.get(name)) for name in readouts]


def compiled_ratios(shape: tuple[int, int, int], rounds: int, device: str) -> dict[str, float]:
    """Time of a training step of a compiled model with CREST over that of the same model as it is, by backend."""
    found = {}
    for chosen in ("auto", "torch"):
        network = nn.Sequential(
            nn.Linear(8, shape[2]), nn.GELU(), make_readout("crest", shape[2], validate=False), nn.Linear(shape[2], 1)
        ).to(device)  # fmt: skip
        signals = torch.randn(*shape[:2], 8, device=device)
        pair = network, torch.compile(copy.deepcopy(network), dynamic=True)
        with backend(chosen):
            # The first two rounds compile and warm up.
            times = [
                [
                    seconds(lambda one=one, signals=signals: one(signals).sum().backward(), device)
                    for one in pair
                ]
                for _ in range(rounds + 2)
            ]
        found[chosen] = statistics.median(compiled / eager for eager, compiled in times[2:])
        progress(f"{shape}: compiled, {chosen}")
    return found


def row(name: str, times: dict[str, list[tuple[float, float]]], memory: float | None) -> dict[str, object]:
    found: dict[str, object] = {"readout": name, "memory": memory}
    for place, kind in enumerate(("forward", "both")):
        found[f"{kind}_ms"] = 1e3 * statistics.median(pair[place] for pair in times[name])
        for other in (*YARDSTICKS, FLOOR):
            ratios = [own[place] / its[place] for own, its in zip(times[name], times[other], strict=True)]
            found[f"{kind}_over_{other}"] = statistics.median(ratios)
    return found


def progress(words: str) -> None:
    """On a terminal alone, and beside the table."""
    if sys.stderr.isatty():
        print(f"\r{words:<60}", end="", file=sys.stderr, flush=True)


def show(shape: tuple[int, int, int], threads: int, rows: list[dict[str, object]]) -> None:
    print(f"\n(B, T, D) = {shape}, threads: {threads}")
    print(
        f"  {'':<18}{'forward':>12}{'/ dot':>8}{'/ MLP':>8}{'both ways':>13}{'/ dot':>8}{'/ MLP':>8}{'memory':>10}"
    )
    for one in rows:
        dot, scored = YARDSTICKS
        memory = "-" if one["memory"] is None else f"{one['memory']:.2f} x"
        print(
            f"  {one['readout']:<18}{one['forward_ms']:9.2f} ms{one[f'forward_over_{dot}']:6.1f} x"
            f"{one[f'forward_over_{scored}']:6.1f} x{one['both_ms']:10.2f} ms{one[f'both_over_{dot}']:6.1f} x"
            f"{one[f'both_over_{scored}']:6.1f} x{memory:>10}"
        )


def growth(results: list[dict[str, object]]) -> None:
    """Nanoseconds per feature, forward and backward, at each T: a cost in proportion to T stays the same."""
    for threads in sorted({one["threads"] for one in results}):
        own = [one for one in results if one["threads"] == threads]
        print(f"\nnanoseconds per feature, both ways, threads: {threads}")
        print(f"  {'':<18}" + "".join(f"{'T = ' + str(one['shape'][1]):>14}" for one in own))
        for place, name in enumerate(one["readout"] for one in own[0]["rows"]):
            cells = [1e6 * one["rows"][place]["both_ms"] / torch.Size(one["shape"]).numel() for one in own]
            print(f"  {name:<18}" + "".join(f"{cell:14.2f}" for cell in cells))


def draw(results: list[dict[str, object]], path: Path) -> None:
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    own = sorted(
        (one for one in results if one["threads"] == results[0]["threads"]), key=lambda one: one["shape"][1]
    )
    for place, name in enumerate(one["readout"] for one in own[0]["rows"]):
        cost = [1e6 * one["rows"][place]["both_ms"] / torch.Size(one["shape"]).numel() for one in own]
        strong = name.startswith("crest") or name in (FLOOR, *YARDSTICKS)
        axes.loglog(
            [one["shape"][1] for one in own], cost, marker="o", label=name, alpha=1.0 if strong else 0.3
        )
    axes.set(xlabel="steps T", ylabel="nanoseconds per feature, forward and backward")
    axes.legend(fontsize="small", ncols=2)
    figure.savefig(path, dpi=150)


def shapes_of(words: str) -> list[tuple[int, int, int]]:
    shapes = [tuple(numbers_of(word, "x")) for word in words.split(",")]
    if any(len(shape) != 3 for shape in shapes):
        raise argparse.ArgumentTypeError(f"must be like 64x512x64,2x65536x64, got {words!r}")
    return shapes


def numbers_of(words: str, between: str = ",") -> list[int]:
    if not all(word.isdecimal() and int(word) > 0 for word in words.split(between)):
        raise argparse.ArgumentTypeError(f"must be whole numbers, 1 or more, got {words!r}")
    return [int(word) for word in words.split(between)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--shapes", type=shapes_of)
    parser.add_argument("--threads", type=numbers_of, default=[1])
    parser.add_argument("--device", default="cpu", help="cpu, cuda or mps")
    parser.add_argument("--json", type=Path, help="a file for the numbers")
    parser.add_argument("--picture", type=Path, help="a file for a chart over T")
    parser.add_argument("--quick", action="store_true", help="does it work? Its numbers mean nothing")
    options = parser.parse_args()
    shapes = options.shapes or (QUICK if options.quick else SHAPES)
    compiled = "compiled by numba" if serves(torch.zeros(1, 1, 1, device=options.device)) else "plain torch"
    print(f"{platform.machine()}, torch {torch.__version__}; crest is {compiled}")
    rounds = 1 if options.quick else options.rounds
    results: list[dict[str, object]] = []
    for threads in options.threads:
        torch.set_num_threads(threads)
        for shape in shapes:
            rows = measure(shape, rounds, options.device)
            show(shape, threads, rows)
            results.append({"shape": shape, "threads": threads, "rows": rows})
    growth(results)
    # The first shape alone: to compile takes longer than to measure.
    torch.set_num_threads(options.threads[0])
    for name, ratio in compiled_ratios(shapes[0], rounds, options.device).items():
        print(f"\na training step at {shapes[0]}, backend {name}: compiled / eager {ratio:.2f} x")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.picture:
        draw(results, options.picture)


if __name__ == "__main__":
    main()
