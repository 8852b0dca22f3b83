"""Response curves: the predictions on signals that are louder, slower or shifted, as an engineer would try by hand."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from crest._base.arrays import Signals, StepMask
from crest.background import level
from crest.nuisances import stretched
from crest.probes.batches import batches_of
from crest.strangers.batch import Batch
from crest.strangers.model import StrangerModel

# our choice: docs/evidence/choices.md#curves
_ASKED = 24
_GAINS = (0.25, 0.5, 1.0, 2.0, 4.0)
_STRETCHES = (0.5, 0.71, 1.0, 1.41, 2.0)
_OFFSETS = (-2.0, -1.0, 0.0, 1.0, 2.0)


@dataclass(frozen=True, kw_only=True)
class ResponseCurve:
    """How predictions change along one thing that is done to the signals."""

    values: tuple[float, ...]
    """What is done: factors of gain, factors by which time is stretched, or offsets in standard deviations of the signals' levels."""
    moved: tuple[float, ...]
    """At each value, the root mean square change of the predictions from those on the signals as they are, in their standard
    deviations."""
    shifted: tuple[float, ...]
    """The mean change, with its sign; of logits, the change that is largest over classes."""


def response_curves(stranger: StrangerModel, batch: Batch, answers: Tensor) -> dict[str, ResponseCurve]:
    """The curves of gain, rate and offset, over some trajectories; none if the predictions do not vary.

    Args:
        stranger: any model.
        batch: what it is asked about.
        answers: its predictions on the signals as they are.
    """
    own = answers.reshape(len(batch), -1).double()
    spread = float((own - own.mean(0)).square().sum(1).mean().sqrt())
    if not spread > 0:
        return {}
    rows = torch.linspace(0, len(batch) - 1, min(_ASKED, len(batch))).round().long()
    x, mask = batch.signals[rows], None if batch.mask is None else batch.mask[rows]
    step, spread_of_steps, largest = _sizes(batch)
    # The levels' own standard deviation over trajectories; for signals without levels, that of their steps.
    scale = torch.where(step > 1e-6 * largest, step, spread_of_steps)

    def curve(
        values: tuple[float, ...], change: Callable[[Signals, StepMask | None, float], Signals]
    ) -> ResponseCurve:
        changes = []
        for value in values:
            found = torch.cat(
                [
                    stranger(change(some, valid, value).to(x.dtype), valid)
                    for some, valid in batches_of(x, mask, size=stranger.size)
                ]
            )
            changes.append((found.detach().reshape(len(x), -1).double().cpu() - own[rows].cpu()) / spread)
        means = [one.mean(0) for one in changes]
        return ResponseCurve(
            values=values,
            moved=tuple(float(one.square().sum(1).mean().sqrt()) for one in changes),
            shifted=tuple(float(one[one.abs().argmax()]) for one in means),
        )

    def padded(made: Tensor, valid: StepMask | None) -> Tensor:
        return made if valid is None else made.masked_fill(~valid.unsqueeze(-1), 0.0)

    return {
        "gain": curve(_GAINS, lambda some, valid, value: padded(value * some, valid)),
        "rate": curve(_STRETCHES, lambda some, valid, value: padded(stretched(some, value, valid), valid)),
        "offset": curve(_OFFSETS, lambda some, valid, value: padded(some + value * scale, valid)),
    }


def _sizes(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Of each channel (C,): the standard deviation of the levels, that of the steps, and the largest value; of valid steps alone."""
    valid = batch.valid
    values = batch.signals[valid]
    levels = level(batch.signals, batch.mask).sum(1) / valid.sum(1, keepdim=True).clamp(min=1)
    return levels.std(0, correction=0), values.std(0, correction=0), values.abs().amax(0)
