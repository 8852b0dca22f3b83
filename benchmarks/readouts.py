"""Cost of every readout as a ratio to dot-product attention, all in one run on one thread.

Times are printed to be read as ratios: machines differ, and a busy one is slow for all. `python
benchmarks/readouts.py [--rounds N] [--quick]`.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from crest.readouts import READOUTS, make_readout

SHAPES = [(64, 512, 64), (16, 4096, 64), (2, 65536, 64)]
QUICK = [(2, 64, 4)]
YARDSTICK = "attention"


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(shape: tuple[int, int, int], rounds: int) -> dict[str, tuple[float, float]]:
    """Median milliseconds forward, and forward with backward, rounds interleaved over the readouts."""
    features = torch.randn(shape)
    leaf = torch.randn(shape, requires_grad=True)
    readouts = {name: make_readout(name, shape[2], validate=False) for name in READOUTS}

    def both(readout: torch.nn.Module) -> None:
        leaf.grad = None
        readout(leaf).sum().backward()

    times: dict[str, list[tuple[float, float]]] = {name: [] for name in readouts}
    for round_number in range(rounds + 1):
        for name, readout in readouts.items():
            with torch.no_grad():
                forward = seconds(lambda readout=readout: readout(features))
            pair = forward, seconds(lambda readout=readout: both(readout))
            if round_number:  # the first round warms up
                times[name].append(pair)
    return {
        name: (1e3 * statistics.median(a for a, _ in pairs), 1e3 * statistics.median(b for _, b in pairs))
        for name, pairs in times.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="does it work? Its numbers mean nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for shape in QUICK if options.quick else SHAPES:
        result = measure(shape, 1 if options.quick else options.rounds)
        forward, both = result[YARDSTICK]
        print(f"\n(B, T, D) = {shape}{'':8}forward{'':16}forward + backward")
        for name, (a, b) in result.items():
            print(f"  {name:<18}{a:9.2f} ms {a / forward:7.1f} x {b:14.2f} ms {b / both:7.1f} x")


if __name__ == "__main__":
    main()
