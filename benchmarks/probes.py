"""What the probes add to the model's own predictions: credit, deletion, the exchange test, the audit.

Each is timed on one thread and compared with what its predictions alone would take: the trajectories that went through
the model while it ran, at the price of a plain forward pass just before and after.
`python benchmarks/probes.py [--trajectories N] [--quick]`.
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

import crest
from crest import ExchangeSettings
from crest.lab.model import Model, make_model
from crest.probes import batches_of, deletion, evaluating, in_batches
from crest.probes.batches import BATCH

STEPS, CHANNELS, EVENT = 512, 3, 16


class Counted(nn.Module):
    """A model that counts the trajectories which it has seen."""

    # Of the class: what a model writes to itself while it is asked is put back afterwards.
    seen = 0

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        """The model's own answer."""
        Counted.seen += len(x)
        return self.model(x)


def made(trajectories: int) -> tuple[Tensor, Tensor, Tensor]:
    """Noise with an event of 16 steps somewhere, whose height is the target."""
    numbers = torch.Generator().manual_seed(0)
    x = torch.randn(trajectories, STEPS, CHANNELS, generator=numbers)
    start = torch.randint(0, STEPS - EVENT, (trajectories, 1), generator=numbers)
    events = (torch.arange(STEPS) >= start) & (torch.arange(STEPS) < start + EVENT)
    y = torch.rand(trajectories, generator=numbers)
    x[..., 0] += 5 * y[:, None] * events
    return x, y, events


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def credited(model: Counted, x: Tensor, events: Tensor) -> None:
    """The metric over all trajectories, batch by batch; the features are those of the prediction."""
    metric = crest.CreditInEvent()
    for rows, inside in batches_of(x, events):
        Counted.seen += len(rows)
        features = model.model.features(rows)
        pooled = model.model.pool(features)
        model.model.head(pooled)
        metric.update(features, pooled, inside)
    metric.compute()


def main(trajectories: int) -> None:
    torch.set_num_threads(1)
    x, y, events = made(trajectories)
    model = Counted(
        make_model("local", "scored_attention", channels=CHANNELS, seed=1000, encoder_options={"width": 64})
    )
    with evaluating(model), torch.no_grad():
        # Once before it counts: what is imported or compiled on the way.
        in_batches(model, batches_of(x[:256]))
        credited(model, x[:256], events[:256])
        some = x[:2048]

        def forward() -> float:
            """Seconds of a plain pass, for one trajectory."""
            return seconds(lambda: in_batches(model, batches_of(some))) / len(some)

        width = model.model.features(x[:1]).shape[2]
        print(
            f"{trajectories} trajectories of {STEPS} steps, {width} features, convolution and MLP-scored attention"
        )
        print(f"forward pass      {1e3 * forward():8.3f} ms for a trajectory")
        ratings = torch.rand(trajectories, STEPS, generator=torch.Generator().manual_seed(1))
        works: dict[str, Callable[[], object]] = {
            "credit": lambda: credited(model, x, events),
            "deletion": lambda: deletion(lambda rows: in_batches(model, batches_of(rows)), x, y, ratings),
            "exchange test": lambda: crest.exchange_test(
                model, x, exchange=ExchangeSettings(what="background", batch_size=BATCH)
            ),
            "audit": lambda: crest.audit(
                model, (x, y), exchange=ExchangeSettings(trajectories=trajectories, batch_size=BATCH)
            ),
        }
        for name, work in works.items():
            # Before and after: other work on the machine comes and goes.
            before = forward()
            Counted.seen = 0
            took, seen = seconds(work), Counted.seen
            alone = seen * (before + forward()) / 2
            print(f"{name:<14} {took:8.1f} s   {seen:>7} predictions   {took / alone:5.2f} x")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", type=int, default=10_000)
    parser.add_argument("--quick", action="store_true", help="does it work? Its numbers mean nothing")
    options = parser.parse_args()
    main(32 if options.quick else options.trajectories)
