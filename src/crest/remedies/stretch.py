"""Make the rate useless in training: time runs slower or faster, as at another speed, and the label stays."""

import math

import torch

from crest._base.arguments import require
from crest._base.arrays import Signals, StepMask
from crest._base.doors import door
from crest.nuisances.scale import stretched
from crest.remedies.augmentation import Augmentation
from crest.remedies.rows import random_numbers


@door
class Stretch(Augmentation):
    """Stretches the time of some rows by a random factor, in training mode only; the length stays.

    The factor is drawn evenly on a logarithmic scale: with 0.5 to 2, half of the rows run faster and half slower.
    `crest.nuisances.stretched` says what happens at the ends.

    It helps if speed changes how fast everything runs. It costs if the length of an event tells the target.

    Args:
        low: the smallest factor; below 1 time runs faster.
        high: the largest factor; at 2 every wave is twice as long.
        probability: of each row to be changed.
        generator: draws the random numbers; without one, torch's own state does.
        channels_first: for signals (B, C, T) instead of (B, T, C).

    Example:
        >>> layer = Stretch(2.0, 2.0, probability=1.0)
        >>> layer(torch.arange(5.0).reshape(1, 5, 1)).flatten()
        tensor([1.0000, 1.5000, 2.0000, 2.5000, 3.0000])
    """

    def __init__(
        self,
        low: float = 0.5,
        high: float = 2.0,
        *,
        probability: float = 0.5,
        generator: torch.Generator | None = None,
        channels_first: bool = False,
    ) -> None:
        super().__init__(probability=probability, generator=generator, channels_first=channels_first)
        require("low", low, "be positive")
        require("high", high, "be positive")
        if low > high:
            raise ValueError(f"low must be at most high = {high}, got {low}")
        self.low = low
        self.high = high

    def augment(self, signals: Signals, mask: StepMask | None, generator: torch.Generator | None) -> Signals:
        """The signals, some of them stretched."""
        count = len(signals)
        takes = random_numbers(torch.rand, count, like=signals, generator=generator) < self.probability
        lots = random_numbers(torch.rand, count, like=signals, generator=generator)
        own = takes.nonzero().flatten()
        if not len(own):
            return signals
        low, high = math.log(self.low), math.log(self.high)
        factors = (low + (high - low) * lots.double()).exp()
        made = signals.clone()
        made[own] = stretched(signals[own], factors[own], None if mask is None else mask[own])
        return made

    def extra_repr(self) -> str:
        """The options, for `print(model)`."""
        return f"low={self.low}, high={self.high}, {super().extra_repr()}"
