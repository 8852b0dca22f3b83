"""One notion, four uses: a signal is its background plus what is transient in it."""

import functools
from typing import NamedTuple

import torch

from crest._base.arguments import require
from crest._base.arrays import Features, StepFlags, StepMask, at_least_float32
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background.core import core_background
from crest.background.level import level_background
from crest.background.periodic import periodic_background
from crest.background.slow import SIGMA, Background, slow_background
from crest.background.steady import tones_background

KINDS: dict[str, Background] = {
    "level": level_background,
    "slow": slow_background,
    "core": core_background,
    "periodic": periodic_background,
    "tones": tones_background,
}
"""Kinds of background by name."""


class Separated(NamedTuple):
    """A signal in two parts, which add up to it."""

    background: Features
    transient: Features


@door
def kinds_of(kind: str, name: str = "kind") -> tuple[str, ...]:
    """The kinds that a composition such as "slow+periodic" names, in the order in which they are taken off.

    Args:
        kind: one kind, or several joined by "+".
        name: of the argument, for the message.

    Example:
        >>> kinds_of("slow + level")
        ('slow', 'level')
    """
    kinds = tuple(part.strip() for part in kind.split("+")) if isinstance(kind, str) else (kind,)
    if not all(part in KINDS for part in kinds) or len(set(kinds)) < len(kinds):
        names = ", ".join(KINDS)
        raise ValueError(f"{name} must be one of {names}, or several of them joined by +, got {kind!r}")
    return kinds


@door
def background_of(kind: str, name: str = "kind") -> Background:
    """The background of that kind, or of a composition: each kind is taken of what the ones before it left.

    Args:
        kind: one kind, or several joined by "+".
        name: of the argument, for the message.

    Example:
        >>> background_of("level")(torch.tensor([[[1.0], [3.0]]]), None, sigma=6.0).flatten()
        tensor([2., 2.])
    """
    kinds = kinds_of(kind, name)
    return KINDS[kinds[0]] if len(kinds) == 1 else functools.partial(_composed, kinds)


def _composed(kinds: tuple[str, ...], signals: Features, mask: StepFlags | None, *, sigma: float) -> Features:
    background = KINDS[kinds[0]](signals, mask, sigma=sigma)
    for other in kinds[1:]:
        background = background + KINDS[other](signals - background, mask, sigma=sigma)
    return background


@door
def split(signals: Features, kind: str, mask: StepFlags | None = None, *, sigma: float = SIGMA) -> Separated:
    """Separate the signals (B, T, C) into a background and what is transient; the two add up to the signals.

    Label-free and without training. In float32 at least; both parts are 0 on padding, whatever stands there.

    Args:
        signals: (B, T, C), or features (B, T, D).
        kind: "level" (each channel's mean over the window), "slow" (a Gaussian low-pass), "core" (the signals
            with the most transient steps interpolated out), "periodic" (tones and their harmonics, which may drift),
            "tones" (steady tones, many times faster; neither has gradients), or several joined by "+": each is taken off what the one before it left.
        mask: valid steps (B, T).
        sigma: standard deviation of the Gaussian in steps, for kinds that have one.

    Example:
        >>> parts = split(torch.tensor([[[1.0], [2.0], [6.0]]]), "level")
        >>> parts.background.flatten(), parts.transient.flatten()
        (tensor([3., 3., 3.]), tensor([-2., -1.,  3.]))
    """
    signals, valid = as_signals("signals", signals, mask)
    if not torch.compiler.is_compiling():
        require("sigma", sigma, "be positive")
    return separated(signals, background_of(kind), valid, sigma)


def separated(signals: Features, background: Background, mask: StepMask | None, sigma: float) -> Separated:
    """`split` of checked signals by a background of `background_of`, without a door.

    Example:
        >>> separated(torch.tensor([[[1.0], [3.0]]]), background_of("level"), None, 6.0).transient.flatten()
        tensor([-1.,  1.])
    """
    signals = signals.to(at_least_float32(signals))
    if mask is not None:
        signals = signals.masked_fill(~mask.unsqueeze(-1), 0.0)
    smooth = background(signals, mask, sigma=sigma)
    return Separated(smooth, signals - smooth)
