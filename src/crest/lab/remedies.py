"""Remedies beside the readout, as an axis of runs: a layer in front of the encoder, or a change of training batches."""

from typing import Any

import torch
from torch import nn

from crest._base.arguments import require_choice
from crest.background import SIGMA
from crest.remedies import Augmentation, ExchangeBackground, HighPass, JitterLevel


class Remedy:
    """What is done to the signals beside pooling them; this one does nothing."""

    def front(self) -> nn.Module | None:
        """A layer for the signals on their way to the encoder."""
        return None

    def augmentation(self, generator: torch.Generator) -> Augmentation | None:  # noqa: ARG002
        """A change of the signals of a training batch."""
        return None


class TakeOff(Remedy):
    """Take the background off the signals; with the level as background this is AC coupling."""

    def __init__(self, kind: str = "slow", sigma: float = SIGMA) -> None:
        self.layer = HighPass(kind, sigma=sigma)

    def front(self) -> nn.Module:
        """The filter."""
        return self.layer


class Jitter(Remedy):
    """Move the level of half of a batch by chance."""

    def __init__(self, scale: float = 1.0, probability: float = 0.5) -> None:
        self.options: dict[str, Any] = {"scale": scale, "probability": probability}
        JitterLevel(**self.options)

    def augmentation(self, generator: torch.Generator) -> Augmentation:
        """The jitter."""
        return JitterLevel(**self.options, generator=generator)


class ExchangeInTraining(Remedy):
    """Give half of a batch the background of another trajectory, and keep the labels."""

    def __init__(
        self, kind: str = "slow", probability: float = 0.5, donors: str = "random", sigma: float = SIGMA
    ) -> None:
        self.options: dict[str, Any] = {
            "kind": kind,
            "probability": probability,
            "donors": donors,
            "sigma": sigma,
        }
        ExchangeBackground(**self.options)

    def augmentation(self, generator: torch.Generator) -> Augmentation:
        """The exchange."""
        return ExchangeBackground(**self.options, generator=generator)


REMEDIES: dict[str, type[Remedy]] = {
    "none": Remedy,
    "high_pass": TakeOff,
    "jitter": Jitter,
    "exchange": ExchangeInTraining,
}
"""Remedies by name."""


def make_remedy(name: str, **options: Any) -> Remedy:
    """The remedy of that name.

    Example:
        >>> make_remedy("high_pass", kind="level").front()
        HighPass('level')
    """
    require_choice("remedy", name, REMEDIES)
    return REMEDIES[name](**options)
