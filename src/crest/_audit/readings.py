"""Where the pooled vector takes its direction from, trajectory by trajectory, and how far the predictions move without the core."""

from dataclasses import dataclass

import torch
from torch import Tensor

from crest._base.arrays import StepMask, StepScores
from crest.background import interpolate_out
from crest.background.core import transient_core
from crest.probes.batches import batches_of
from crest.probes.credit import credit_shares, step_scores
from crest.probes.rates import events_at
from crest.readouts.crest import CrestReadout
from crest.strangers.batch import Batch
from crest.strangers.interface import Interface, captured_interface
from crest.strangers.lengths import valid_at
from crest.strangers.model import StrangerModel

# A budget at its limit is there up to rounding. our choice: docs/evidence/choices.md#audit
_ROUNDING = 1e-3
_DRAWS = 10
"""Places that are tried for the stretches of the core. Our choice: docs/evidence/choices.md#audit"""


class FeaturesNotFiniteError(ValueError):
    """Features, or a pooled vector, with NaN or infinity; the predictions can be finite all the same."""


@dataclass(frozen=True, kw_only=True)
class Readings:
    """What the pooling interface showed, for all audited trajectories."""

    scores: StepScores
    """(N, T'): cosine of each step's feature with the pooled vector."""
    credit: StepScores
    """(N, T'): the positive part, as shares; 0 if no step has any."""
    mask: StepMask
    """(N, T'): steps of the features that are valid."""
    transience: StepScores
    """(N, T'): how transient each step of the features is."""

    @property
    def concentration(self) -> Tensor:
        """(N,): over what share of the steps the credit is spread, 1 if evenly; the participation ratio."""
        whole = self.credit.sum(1).square()
        even = self.mask.sum(1) * self.credit.square().sum(1)
        return torch.where(even > 0, whole / even.clamp(min=torch.finfo(even.dtype).tiny), torch.nan)

    def on(self, steps: StepMask) -> tuple[Tensor, Tensor]:
        """(N,) each: the share of the credit on these steps (N, T) of the inputs, and the share of the steps that they are.

        The share of the credit is NaN in a trajectory without any credit: no mean counts it.
        """
        there = events_at(steps, self.credit.shape[1]) & self.mask
        share = (self.credit * there).sum(1).masked_fill(~(self.credit.sum(1) > 0), torch.nan)
        return share, there.sum(1) / self.mask.sum(1).clamp(min=1)

    def means_on(self, steps: StepMask) -> tuple[float, float]:
        """The means of `on`: of the credit over the trajectories that have any, NaN if none has; of the steps over all."""
        share, chance = self.on(steps)
        return float(share.nanmean()), float(chance.mean())


def readings(stranger: StrangerModel, batch: Batch, interface: Interface) -> Readings:
    """The readings of all trajectories, batch by batch; of the features only scores and profiles are kept.

    Args:
        stranger: any module, in evaluation mode.
        batch: what it is asked about.
        interface: where its features and its pooled vector are.

    Raises:
        FeaturesNotFiniteError: if features or pooled vectors have NaN or infinity.
    """
    scores, profiles, masks = [], [], []
    readout = CrestReadout(run_up=0)
    beside = 0 if batch.mask is None else 1
    batches = batches_of(batch.signals, batch.mask, batch.valid, size=max(1, stranger.size - beside))
    with captured_interface(stranger, interface) as last:
        for x, given, present in batches:
            if given is None:
                stranger(x)
            else:
                # With a trajectory of zeros that has no padding, features that are packed, or cut to the longest of a batch,
                # have as many steps in each batch.
                full, everywhere = torch.zeros_like(x[:1]), torch.ones_like(given[:1])
                stranger(torch.cat([x, full]), torch.cat([given, everywhere]))
            features, pooled = (part[: len(x)].float().cpu() for part in last())
            for what, part in (("from", features), ("in what is read by", pooled)):
                if not bool(torch.isfinite(part).all()):
                    name = interface.features if part is features else interface.head
                    raise FeaturesNotFiniteError(
                        f"features must be finite numbers, got NaN or infinity {what} {name!r}"
                    )
            features = interface.active(features)
            features = features[:, int(interface.token) :]
            there = valid_at(present.cpu(), features.shape[1], interface.rate)
            scores.append(step_scores(features, pooled))
            masks.append(there)
            profiles.append(readout.profile(features, there))
    cosine, there, profile = (torch.cat(parts) for parts in (scores, masks, profiles))
    credit = credit_shares(cosine, there)
    return Readings(scores=cosine, credit=credit, mask=there, transience=profile)


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """How far the predictions move without some steps: root mean square change, in standard deviations of the predictions."""

    core: float
    """Without the most transient steps of the inputs."""
    others: float
    """Without as many steps elsewhere."""


def deletions(stranger: StrangerModel, batch: Batch, core: StepMask, *, seed: int) -> Deletion | None:
    """How far the predictions move without the core, and without the same stretches moved elsewhere.

    None if the predictions do not vary.

    Args:
        stranger: any model.
        batch: what it is asked about.
        core: (N, T), the steps of the core.
        seed: of where the stretches are moved to.
    """
    generator = torch.Generator().manual_seed(seed)
    moved = torch.stack(
        [_elsewhere(row, there, generator) for row, there in zip(core, batch.valid, strict=True)]
    )

    def answers(removed: StepMask | None) -> Tensor:
        found = []
        for x, given, gone in batches_of(batch.signals, batch.mask, removed, size=stranger.size):
            left = x if gone is None else interpolate_out(x, gone, given).to(x.dtype)
            found.append(stranger(left, given))
        joined = torch.cat(found).detach().reshape(len(batch), -1).double().cpu()
        return joined - joined.mean(1, keepdim=True) if joined.shape[1] > 1 else joined

    own = answers(None)
    spread = (own - own.mean(0)).square().sum(1).mean().sqrt()
    if not spread > 0:
        return None
    core_change, other_change = (
        float((answers(gone) - own).square().sum(1).mean().sqrt() / spread) for gone in (core, moved)
    )
    return Deletion(core=core_change, others=other_change)


def _elsewhere(core: Tensor, valid: Tensor, generator: torch.Generator) -> Tensor:
    """The flags (T,) turned around the valid steps, with as little of the core among them as a few draws get."""
    places = valid.nonzero().flatten()
    row = core[places]
    best, overlap = row, len(row) + 1
    for shift in torch.randint(1, max(len(row), 2), (_DRAWS,), generator=generator).tolist():
        turned = row.roll(shift)
        shared = int((turned & row).sum())
        if shared < overlap:
            best, overlap = turned, shared
    moved = torch.zeros_like(core)
    moved[places] = best
    return moved


def core_of(signals: Tensor, valid: StepMask, sigma: float) -> StepMask:
    """The most transient steps (N, T) of signals (N, T, C), batch by batch."""
    return torch.cat(
        [transient_core(x, there, sigma=sigma) for x, there in batches_of(signals.float(), valid)]
    )


def sharp_share(signals: Tensor, valid: StepMask) -> float:
    """In what share of the trajectories a transient core stands out: CREST's own budget is below its upper limit."""
    readout = CrestReadout("trajectory", run_up=0)
    limit = readout.config.epsilon_max
    found = [
        readout.select(x, there).epsilon.amin(1) < limit * (1 - _ROUNDING)
        for x, there in batches_of(signals.float(), valid)
    ]
    return float(torch.cat(found).float().mean())
