"""Blur the level in training: the trivial augmentation, and what people try first."""

import torch

from crest._base.arguments import require
from crest._base.arrays import Signals, StepMask, valid_steps
from crest._base.doors import door
from crest.remedies.augmentation import Augmentation
from crest.remedies.rows import random_numbers, row_levels, spread_of_levels


@door
class JitterLevel(Augmentation):
    """Adds a random constant to each channel of some rows, in training mode only.

    The constant is normal, with `scale` times the standard deviation of that channel's level over the rows of the batch. One
    trajectory comes back unchanged, and padding as it was.

    It helps if the cue is the level itself. It blurs the cue and does not break it: if the level tells the label
    well, a model can still average it out of many rows.

    Args:
        scale: of the constants, in standard deviations of the levels.
        probability: of each row to be changed.
        generator: draws the random numbers; without one, torch's own state does.
        channels_first: for signals (B, C, T) instead of (B, T, C).

    Example:
        >>> x = torch.tensor([[[1.0], [1.0]], [[5.0], [5.0]]])
        >>> moved = JitterLevel(probability=1.0)(x) - x
        >>> bool((moved != 0).all()), torch.equal(moved[:, 0], moved[:, 1])
        (True, True)
    """

    def __init__(
        self,
        scale: float = 1.0,
        *,
        probability: float = 0.5,
        generator: torch.Generator | None = None,
        channels_first: bool = False,
    ) -> None:
        super().__init__(probability=probability, generator=generator, channels_first=channels_first)
        require("scale", scale, "be 0 or more")
        self.scale = scale

    def augment(self, signals: Signals, mask: StepMask | None, generator: torch.Generator | None) -> Signals:
        """The signals with some levels moved."""
        valid = valid_steps(mask, signals[..., 0])
        levels, present = row_levels(signals, valid), valid.any(1)
        takes = random_numbers(torch.rand, len(signals), like=signals, generator=generator) < self.probability
        lots = random_numbers(torch.randn, *levels.shape, like=signals, generator=generator)
        constants = self.scale * spread_of_levels(levels, present) * lots
        changed = (takes.unsqueeze(1) & valid).unsqueeze(-1)
        moved = (signals.to(levels.dtype) + constants.unsqueeze(1)).to(signals.dtype)
        return torch.where(changed, moved, signals)

    def extra_repr(self) -> str:
        """The options, for `print(model)`."""
        return f"scale={self.scale}, {super().extra_repr()}"
