"""How far CREST on a stream is from CREST on the whole recording, and what a low-pass over the windows' borders would change.

Features of SG-Drive by an untrained layer on each step; the budget is that of trajectories of 512 steps. Windows follow each other
without overlap. `python benchmarks/streaming.py [--quick]`.
"""

import argparse

import torch
from torch import Tensor

import crest
from crest._base import rng
from crest.background.transience import channel_transience, dilate, selected_count, top_steps
from crest.lab.encoders import PointwiseEncoder
from crest.lab.systems import GearSystem
from crest.readouts.crest import contrast, masked_means
from crest.recordings import Trajectories

SEED = 1000
REACH = 36
EDGE = 12


def features_of(trajectories: Trajectories, scale: tuple[Tensor, Tensor]) -> Tensor:
    """Features (B, T, D) of inputs that are scaled as a model of the lab scales them."""
    with rng.scope(SEED, "encoder"):
        encoder = PointwiseEncoder(3)
    level, spread = scale
    with torch.no_grad():
        return encoder((torch.from_numpy(trajectories.x) - level) / spread)


def over_borders(
    readout: crest.CrestReadout, features: Tensor, start: int, window: int
) -> tuple[Tensor, Tensor]:
    """Steps and pooled vector of a window whose low-pass sees the steps around it: what the stream does not do."""
    core, before = readout.select(features[:, start : start + window]), max(start - REACH, 0)
    around = channel_transience(features[:, before : start + window + REACH])
    transience = around[:, start - before :][:, :window]
    count = selected_count(core.epsilon, torch.full_like(core.epsilon, window), 2)
    count = count.minimum((transience > 0).sum(1)).clamp(min=1)
    selected = dilate(top_steps(transience, count), 2)
    means = masked_means(features[:, start : start + window], selected)
    return selected, contrast(means, core.alpha)


def shared(votes: Tensor, others: Tensor) -> float:
    """Share of all votes that both cast at the same steps."""
    return float(torch.minimum(votes, others).sum() / torch.maximum(votes, others).sum())


def apart(pooled: Tensor, other: Tensor) -> float:
    """Median of the relative difference."""
    return float(((pooled - other).norm(dim=-1) / other.norm(dim=-1)).median())


def on_events(votes: Tensor, events: Tensor, at: Tensor) -> float:
    """Share of the votes at some steps that are on events."""
    return float((votes * events)[:, at].sum() / votes[:, at].sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="does it work? Its numbers mean nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    steps, units, windows = (1024, 2, (256,)) if options.quick else (8192, 16, (256, 512, 1024, 2048))
    seen = GearSystem(steps=512).trajectories(64, rng.generator(SEED, "streaming/calibration"))
    recordings = GearSystem(steps=steps).trajectories(units, rng.generator(SEED, "streaming/recordings"))
    x, events = torch.from_numpy(seen.x), torch.from_numpy(recordings.events)
    scale = (x.mean((0, 1)), x.std((0, 1)))
    readout = crest.CrestReadout(run_up=0).calibrate([features_of(seen, scale)]).eval()
    features = features_of(recordings, scale)
    whole, votes_of_whole = readout(features), readout.votes(features)
    print(f"{units} recordings of {steps} steps, budget {float(readout.select(features).epsilon[0, 0]):.3f}")
    print("window | same windows offline: votes shared, pooled apart | whole recording: votes shared, one window apart, "
          "their mean apart | over borders: votes shared, pooled apart, votes at borders on events (stream, over borders)")  # fmt: skip
    for window in windows:
        streamed = crest.StreamingCrest(readout, window).push(features)
        votes = torch.cat([one.votes for one in streamed], 1)
        pooled = torch.stack([one.pooled for one in streamed], 1)
        cut_out = [features[:, one.start : one.stop] for one in streamed]
        same = torch.cat([readout.votes(one) for one in cut_out], 1)
        same_pooled = torch.stack([readout(one) for one in cut_out], 1)
        wide = [over_borders(readout, features, one.start, window) for one in streamed]
        wide_votes = torch.cat([selected for selected, _ in wide], 1).sum(-1)
        place = torch.arange(steps) % window
        border = (place < EDGE) | (place >= window - EDGE)
        row = [
            *(shared(votes, same), apart(pooled, same_pooled)),
            *(shared(votes, votes_of_whole), apart(pooled, whole[:, None]), apart(pooled.mean(1), whole)),
            *(shared(votes, wide_votes), apart(pooled, torch.stack([one for _, one in wide], 1))),
            *(on_events(votes, events, border), on_events(wide_votes, events, border)),
        ]
        print(f"{window:6d}" + "".join(f"{100 * one:8.1f} %" for one in row))


if __name__ == "__main__":
    main()
