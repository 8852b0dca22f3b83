"""Several changes of batches, one after the other."""

import copy
from collections.abc import Sequence
from typing import cast

import torch
from torch import nn

from crest._base.arrays import Signals, StepMask
from crest._base.doors import door
from crest.remedies.augmentation import Augmentation


@door
class Chain(Augmentation):
    """Changes of batches, one after the other, in training mode only; each draws its own rows.

    Args:
        changes: in their order. The layout and the generator are the chain's: those of the changes are not used.
        generator: draws the random numbers of all changes; without one, torch's own state does.
        channels_first: for signals (B, C, T) instead of (B, T, C).

    Example:
        >>> from crest.remedies import JitterLevel, Stretch
        >>> layer = Chain([JitterLevel(), Stretch()])
        >>> layer(torch.randn(4, 100, 1)).shape
        torch.Size([4, 100, 1])
    """

    def __init__(
        self,
        changes: Sequence[Augmentation],
        *,
        generator: torch.Generator | None = None,
        channels_first: bool = False,
    ) -> None:
        super().__init__(generator=generator, channels_first=channels_first)
        given = list(changes)
        if not given or not all(isinstance(one, Augmentation) for one in given):
            got = ", ".join(type(one).__name__ for one in given) or "none"
            raise ValueError(f"changes must be one augmentation or more, got {got}")
        # Copies without a generator of their own, which could not be sent to a worker of a loader.
        copies = [copy.copy(one) for one in given]
        for one in copies:
            one.generator = None
        self.changes = nn.ModuleList(copies)

    def augment(self, signals: Signals, mask: StepMask | None, generator: torch.Generator | None) -> Signals:
        """The signals after all changes."""
        for change in self.changes:
            signals = cast(Augmentation, change).augment(signals, mask, generator)
        return signals

    def extra_repr(self) -> str:
        """The options, for `print(model)`."""
        return "channels_first=True" if self.channels_first else ""
