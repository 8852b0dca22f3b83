"""Signals as a sum of what an operating condition changes: offset, drift, and what is fast, with gain, colour and tones."""

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from crest._base.arguments import require, require_choice
from crest._base.arrays import Signals, StepFlags, at_least_float32
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background import SIGMA, interpolate_out, low_pass, steady_tones, transient_core
from crest.nuisances.readings import (
    colour_numbers,
    core_numbers,
    course_numbers,
    gain_numbers,
    tone_numbers,
)
from crest.nuisances.scale import robust_scale, stretched
from crest.nuisances.spectra import with_colour, with_spectrum

# Standard deviations of the low-pass in a window: what is slow has at most some eleven waves there, whatever the sample rate.
# our choice: docs/evidence/choices.md#nuisances
_SLOW = 512 / SIGMA
# Of a low-pass: below this share of its weight nothing outside of the core is near. our choice: docs/evidence/choices.md#nuisances
_UNSEEN = 1e-3
# The part of the largest value that float32 and a filter leave as rounding. our choice: docs/evidence/choices.md#cues
_ROUNDING = 1e-5

NAMES = ("offset", "drift", "tones", "gain", "colour", "rate", "surroundings")
"""Every nuisance, in the order in which they are told."""


@dataclass(frozen=True)
class _Parts:
    """Signals (B, T, C) of one length and what they consist of; each part is separated when it is asked for, once."""

    signals: Tensor
    sigma: float

    @property
    def slowness(self) -> float:
        """Standard deviation of the low-pass that parts slow from fast; one for both, or a tone between two would be in neither."""
        return max(self.sigma, self.signals.shape[1] / _SLOW)

    @functools.cached_property
    def core(self) -> Tensor:
        return transient_core(self.signals, sigma=self.sigma)

    @functools.cached_property
    def around(self) -> Tensor:
        """The signals with their core interpolated out: an event's own slow part stays with the event."""
        return interpolate_out(self.signals, self.core)

    @functools.cached_property
    def slow(self) -> Tensor:
        """The low-pass of the steps outside of the core: an event's own slow part stays with the event.

        An average, and not lines between neighbours: of a fast vibration those would be another slow wave.
        """
        # A window of a few steps may be core throughout: then all of them tell the level.
        kept = (~self.core | self.core.all(1, keepdim=True)).unsqueeze(-1).to(self.signals.dtype)
        level = (self.signals * kept).sum(1, keepdim=True) / kept.sum(1, keepdim=True).clamp(min=1)
        weight = low_pass(kept, sigma=self.slowness)
        seen = weight > _UNSEEN
        average = low_pass((self.signals - level) * kept, sigma=self.slowness) / torch.where(
            seen, weight, 1.0
        )
        return interpolate_out(average, ~seen.squeeze(-1)) + level

    @functools.cached_property
    def offset(self) -> Tensor:
        return self.slow.mean(1, keepdim=True)

    @functools.cached_property
    def drift(self) -> Tensor:
        return self.slow - self.offset

    @functools.cached_property
    def fast(self) -> Tensor:
        """What is left of the signals without offset and drift: events, tones and noise."""
        return self.signals - self.slow

    @functools.cached_property
    def quick(self) -> Tensor:
        """The signals without their plain low-pass: the core takes crests of a loud tone for events, and would spoil a tone."""
        return self.signals - low_pass(self.signals, sigma=self.slowness)

    @functools.cached_property
    def tones(self) -> Tensor:
        return steady_tones(self.quick).to(self.signals.dtype)

    @functools.cached_property
    def gain(self) -> Tensor:
        """The scale of what is fast beside the tones: a loud tone is not a gain. 0 if a channel rests but for its events."""
        scale = robust_scale(self.quick - self.tones)
        # Of a channel that rests, filters leave rounding: a ratio to that would be anything.
        return torch.where(scale > _ROUNDING * self.signals.abs().amax(1, keepdim=True), scale, 0.0)

    def at(self, rows: Tensor) -> "_Parts":
        """Some rows, with the parts that are there."""
        found = _Parts(self.signals[rows], self.sigma)
        for name in (
            "core",
            "around",
            "slow",
            "offset",
            "drift",
            "fast",
            "quick",
            "tones",
            "gain",
        ):
            if name in self.__dict__:
                found.__dict__[name] = self.__dict__[name][rows]
        return found


def _crossed(names: Collection[str], own: _Parts, donor: _Parts, factor: Tensor) -> Tensor:
    """The own signals with these things of the donor's."""
    if "surroundings" in names:
        made = own.signals - own.around + with_spectrum(own.around, donor.around)
        return stretched(made, factor) if "rate" in names else made
    made = own.signals
    if "offset" in names:
        made = made + (donor.offset - own.offset)
    if "drift" in names:
        made = made + (with_spectrum(own.drift, donor.drift) - own.drift)
    fast = own.fast
    if "tones" in names:
        fast = fast + (_tones(own, donor) - own.tones)
    if "colour" in names:
        fast = with_colour(fast, donor.fast)
    if "gain" in names:
        louder = _louder(donor.gain, own.gain)
        fast = fast * louder
        if "drift" not in names:
            # All that varies is louder, not what is fast alone: a drift that stayed would be another drift beside it.
            made = made + own.drift * (louder - 1)
    if fast is not own.fast:
        made = made + (fast - own.fast)
    return stretched(made, factor) if "rate" in names else made


def _tones(own: _Parts, donor: _Parts) -> Tensor:
    """The own tones, as large beside the rest as the donor's are beside theirs; the donor's if there are none.

    Not the donor's size itself: if everything is louder, that is the gain, which is another nuisance.
    """
    mine, others = (one.tones.square().mean(1, keepdim=True).sqrt() for one in (own, donor))
    louder = _louder(own.gain, donor.gain)
    has = mine > 0
    sized = own.tones * torch.where(has, louder * others / torch.where(has, mine, 1.0), 0.0)
    # Of another length they cannot come as they are.
    given = louder * donor.tones if donor.tones.shape == own.tones.shape else torch.zeros_like(own.tones)
    return torch.where(has, sized, given)


def _louder(gain: Tensor, other: Tensor) -> Tensor:
    """One gain over another; 1 if a channel does not vary."""
    known = (gain > 0) & (other > 0)
    return torch.where(known, gain / torch.where(known, other, 1.0), 1.0)


@door
class SeparatedSignals:
    """Signals, separated once for every exchange: what `crest.nuisances.exchange` and the audit do their work with.

    Each signal is the sum of its offset, its drift and what is fast, which has a gain, a colour and maybe tones. Offset
    and drift are taken from the steps outside of the most transient ones, so an event's own slow part stays with it.

    Args:
        signals: (N, T, C).
        mask: valid steps (N, T).
        sigma: standard deviation of the low-pass in steps; in long windows 1/85 of the steps, if that is more.

    Example:
        >>> x = torch.arange(3.0)[:, None, None] + torch.zeros(3, 64, 1)
        >>> parts = SeparatedSignals(x)
        >>> parts.exchanged("offset", torch.tensor([0, 1]), torch.tensor([2, 2]))[:, 0, 0]
        tensor([2., 2.])
    """

    def __init__(self, signals: Signals, mask: StepFlags | None = None, *, sigma: float = SIGMA) -> None:
        require("sigma", sigma, "be positive")
        self.signals, self.mask = as_signals("signals", signals.detach(), mask, "(N, T, C)")
        values = self.signals.to(at_least_float32(signals))
        if self.mask is None:
            self._rows = [_Parts(values, sigma)]
        else:
            self._rows = [
                _Parts(row[valid].unsqueeze(0), sigma) for row, valid in zip(values, self.mask, strict=True)
            ]

    def exchanged(
        self, names: str | Sequence[str], own: Tensor, donors: Tensor, factor: Tensor | float = 2.0
    ) -> Signals:
        """The signals of the own rows with these things of the donors' rows, in the dtype of the signals; padding stays.

        Args:
            names: one nuisance, or several, also joined by "+".
            own: (B,), numbers of trajectories.
            donors: (B,), numbers of trajectories.
            factor: of "rate", which has no donor: time is stretched by it, one number or one for each row.
        """
        wanted = joint_nuisances_of(names)
        own, donors = own.to(self.signals.device), donors.to(self.signals.device)
        factors = torch.as_tensor(factor, dtype=torch.float64, device=self.signals.device).expand(len(own))
        if self.mask is None:
            (parts,) = self._rows
            self._prepare(parts, wanted)
            made = _crossed(wanted, parts.at(own), parts.at(donors), factors).to(self.signals.dtype)
        else:
            made = self.signals[own].clone()
            for row, (mine, other) in enumerate(zip(own.tolist(), donors.tolist(), strict=True)):
                one, two = self._rows[mine], self._rows[other]
                if one.signals.shape[1] and two.signals.shape[1]:
                    found = _crossed(wanted, one, two, factors[row : row + 1])
                    made[row, self.mask[mine]] = found[0].to(made.dtype)
        if "rate" in wanted:
            return made
        # With what is its own a signal is itself, to the bit.
        return torch.where((own == donors)[:, None, None], self.signals[own], made)

    def has(self, name: str) -> bool:
        """Whether some signal has this nuisance, so that there is something to exchange: tones are often none."""
        require_choice("name", name, NAMES)
        if name == "tones":
            return any(bool((parts.tones != 0).any()) for parts in self._rows)
        if name in ("gain", "colour"):
            return any(bool((parts.gain > 0).any()) for parts in self._rows)
        return True

    def _prepare(self, parts: _Parts, names: Collection[str]) -> None:
        """Separate all rows at once before some are taken."""
        for name in names:
            for part in _NEEDS[name]:
                getattr(parts, part)

    def part(self, name: str) -> Tensor:
        """One part of each signal (N, T, C): "offset", "drift", "fast", "tones" or "around"; 0 on padding."""
        require_choice("name", name, ("offset", "drift", "fast", "tones", "around"))
        made = torch.zeros_like(self.signals, dtype=at_least_float32(self.signals))
        if self.mask is None:
            whole: Tensor = getattr(self._rows[0], name)
            return made + whole
        for row, (parts, valid) in enumerate(zip(self._rows, self.mask, strict=True)):
            if valid.any():
                found = getattr(parts, name)
                made[row, valid] = found.expand_as(parts.signals)[0]
        return made

    def reading(self, name: str, *, scale: float | None = None) -> Tensor:
        """What a reader of one part alone sees of each trajectory (N, F): a few numbers for each channel, in float64.

        Args:
            name: "offset", "drift", "tones", "gain" or "colour"; "gain around" and "colour around" for those of the rest
                without the core; "surroundings" for all that is around the core; "core" for what is brief: the signal
                less its background around the core.
            scale: the size of the signals. A part below 1e-5 of it is rounding. By default the largest value;
                signals that are read piece by piece need one scale for all pieces.

        Example:
            >>> level = torch.tensor([1.0, 2.0])[:, None, None] + torch.zeros(2, 64, 1)
            >>> SeparatedSignals(level).reading("offset").flatten()
            tensor([1., 2.], dtype=torch.float64)
        """
        require_choice("name", name, _READ)
        if scale is None:
            scale = max(float(one.signals.abs().amax()) if one.signals.numel() else 0.0 for one in self._rows)
        floor = max(_ROUNDING * scale, _LEAST_FLOOR)
        return torch.cat([_READ[name](parts, floor) for parts in self._rows]).to(torch.float64)


_NEEDS = {
    "offset": ("offset",),
    "drift": ("drift",),
    "tones": ("tones", "gain"),
    "gain": ("gain", "drift"),
    "colour": ("fast",),
    "rate": (),
    "surroundings": ("around",),
}


@door
def nuisances_of(names: str | Sequence[str], argument: str = "names") -> tuple[str, ...]:
    """The nuisances that a name, several joined by "+", or a list says, each once and in the order of `NAMES`.

    Example:
        >>> nuisances_of("gain+offset"), nuisances_of(["colour"])
        (('offset', 'gain'), ('colour',))
    """
    given = [names] if isinstance(names, str) else list(names)
    found = [
        part.strip() for one in given for part in (one.split("+") if isinstance(one, str) else [repr(one)])
    ]
    for one in found:
        if one not in NAMES:
            raise ValueError(f"{argument} must be of {', '.join(NAMES)}, got {one!r}")
    return tuple(name for name in NAMES if name in found)


@door
def joint_nuisances_of(names: str | Sequence[str], argument: str = "names") -> tuple[str, ...]:
    """The same for nuisances that are exchanged together: the surroundings bring their own gain and colour.

    Example:
        >>> joint_nuisances_of("offset+surroundings")
        ('offset', 'surroundings')
    """
    found = nuisances_of(names, argument)
    if "surroundings" in found and {"gain", "colour"} & set(found):
        raise ValueError(
            f"{argument} must have surroundings, or gain and colour: the surroundings bring their own, got {names!r}"
        )
    return found


# Its square is a number of float32 still.
_LEAST_FLOOR = 1e-18


AROUND = ("offset", "drift", "tones", "gain around", "colour around")
"""What the surroundings consist of: offset, drift and tones, and gain and colour of a rest without the events."""


def _fast_around(parts: _Parts) -> Tensor:
    return interpolate_out(parts.fast, parts.core)


_READ: dict[str, Callable[[_Parts, float], Tensor]] = {
    "offset": lambda parts, _: parts.offset.flatten(1),
    "drift": lambda parts, _: course_numbers(parts.drift),
    "tones": lambda parts, floor: tone_numbers(parts.tones, floor),
    "gain": lambda parts, floor: gain_numbers(parts.gain, floor),
    "colour": lambda parts, floor: colour_numbers(parts.fast, floor),
    "gain around": lambda parts, floor: gain_numbers(robust_scale(_fast_around(parts)), floor),
    "colour around": lambda parts, floor: colour_numbers(_fast_around(parts), floor),
    "surroundings": lambda parts, floor: torch.cat([_READ[name](parts, floor) for name in AROUND], 1),
    "core": lambda parts, floor: core_numbers(parts.signals - parts.around, floor),
}
