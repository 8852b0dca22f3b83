"""One trajectory taken apart, and an exchanged version of it: so that a reader can believe the separation."""

from dataclasses import dataclass

import torch
from torch import Tensor

from crest._base.arrays import StepMask
from crest.exchange.preparation import preparation_of
from crest.exchange.settings import ExchangeSettings
from crest.nuisances import SeparatedSignals
from crest.strangers.batch import Batch

# Trajectories among which the example and its donor are looked for.
_LOOKED_AT = 24


@dataclass(frozen=True, kw_only=True, eq=False)
class SeparatedTrajectory:
    """One channel of a trajectory: its core, what is slow in it, and the signal with declared nuisances of another."""

    row: int
    """The trajectory."""
    donor: int
    """The one that gave the declared nuisances."""
    channel: int
    signal: Tensor
    """(T,), valid steps alone."""
    core: Tensor
    """(T,), True on the most transient steps."""
    slow: Tensor
    """(T,), offset and drift."""
    exchanged: Tensor
    """(T,), what the model was asked about."""
    exchanged_slow: Tensor
    """(T,), offset and drift of that."""
    names: tuple[str, ...]
    """What was exchanged."""


def separated_trajectory(
    batch: Batch, core: StepMask, settings: ExchangeSettings
) -> SeparatedTrajectory | None:
    """The trajectory whose core stands out most, and the other that changes it most; None if nothing declared can be exchanged.

    Both are of the first few dozen, and the channel is the one in which the core stands out most.

    Args:
        batch: what the model was asked about.
        core: (N, T), its most transient steps.
        settings: what is declared.
    """
    x = batch.signals[:_LOOKED_AT].cpu().float()
    mask = None if batch.mask is None else batch.mask[:_LOOKED_AT].cpu()
    valid = torch.ones(x.shape[:2], dtype=torch.bool) if mask is None else mask
    # Padding may hold NaN, and tells nothing of which trajectory stands out.
    x = x.masked_fill(~valid.unsqueeze(-1), 0.0)
    flags = core[:_LOOKED_AT].cpu() & valid
    around = ~flags & valid
    parts = SeparatedSignals(x, mask, sigma=settings.sigma)
    names = tuple(name for name in settings.invariant if parts.has(name))
    if not names or len(x) < 2:
        return None
    slow = parts.part("offset") + parts.part("drift")
    brief = ((x - slow) * flags.unsqueeze(-1)).square().sum(1)
    # Against the rest that is fast: a loud channel is not one that stands out.
    rest = ((x - slow) * around.unsqueeze(-1)).square().sum(1) / around.sum(1, keepdim=True).clamp(min=1)
    share = brief / (brief + rest * flags.sum(1, keepdim=True).clamp(min=1)).clamp(min=1e-12)
    row, channel = divmod(int(share.flatten().argmax()), x.shape[2])
    others = torch.tensor([place for place in range(len(x)) if place != row])
    own = torch.full_like(others, row)
    prepared = preparation_of(x, mask)
    made = prepared.again(parts.exchanged(names, own, others), None if mask is None else mask[own])
    change = ((made - x[row]) * valid[row].unsqueeze(-1))[..., channel].square().sum(1)
    best = int(change.argmax())
    new, there = made[best : best + 1], slice(None) if mask is None else mask[row]
    found = SeparatedSignals(new, None if mask is None else mask[row : row + 1], sigma=settings.sigma)
    new_slow = found.part("offset") + found.part("drift")
    return SeparatedTrajectory(
        row=row,
        donor=int(others[best]),
        channel=channel,
        signal=x[row, there, channel],
        core=flags[row, there],
        slow=slow[row, there, channel].expand_as(x[row, there, channel]),
        exchanged=new[0, there, channel],
        exchanged_slow=new_slow[0, there, channel],
        names=names,
    )
