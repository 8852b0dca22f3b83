"""Make a named nuisance useless in training: give a trajectory the gain, colour or tones of another, and keep its label."""

from collections.abc import Sequence

import torch

from crest._base.arguments import require
from crest._base.arrays import Signals, StepMask, valid_steps
from crest._base.doors import door
from crest.background.slow import SIGMA
from crest.nuisances.separated import SeparatedSignals, joint_nuisances_of
from crest.remedies.augmentation import Augmentation
from crest.remedies.rows import drawn_donors


@door
class ExchangeNuisances(Augmentation):
    """Gives some rows the named nuisances of another row of the batch, in training mode only.

    What is not named stays: with "gain+colour" a row keeps its offset, drift, tones and the course of its rest. The label
    then no longer follows the nuisance. "surroundings" has the spectrum of everything around the most transient steps
    exchanged, as the exchange test does. Rows without a valid step neither give nor take, and padding comes back as it
    was. A batch with one such row comes back as it is.

    It helps if the named nuisance follows the operating condition and tells the label in training. It costs if the
    target itself is told by it.

    Args:
        names: one of `crest.nuisances.NAMES`, or several in a list or joined by "+"; "rate" has no donor, see `Stretch`.
        probability: of each row to be changed. With 1 no row shows its own.
        sigma: standard deviation of the low-pass in steps, by which drift is told from the rest.
        generator: draws the random numbers; without one, torch's own state does.
        channels_first: for signals (B, C, T) instead of (B, T, C).

    Example:
        >>> layer = ExchangeNuisances("offset", probability=1.0)
        >>> x = torch.tensor([1.0, 5.0])[:, None, None].expand(2, 64, 1)
        >>> layer(x)[:, 0].flatten(), torch.equal(layer.eval()(x), x)
        (tensor([5., 1.]), True)
    """

    def __init__(
        self,
        names: str | Sequence[str] = "gain+colour",
        *,
        probability: float = 0.5,
        sigma: float = SIGMA,
        generator: torch.Generator | None = None,
        channels_first: bool = False,
    ) -> None:
        super().__init__(probability=probability, generator=generator, channels_first=channels_first)
        self.names = joint_nuisances_of(names)
        if not self.names or "rate" in self.names:
            raise ValueError(
                f"names must be of nuisances that a donor can give (for rate take Stretch), got {names!r}"
            )
        require("sigma", sigma, "be positive")
        self.sigma = sigma

    def augment(self, signals: Signals, mask: StepMask | None, generator: torch.Generator | None) -> Signals:
        """The signals with some nuisances exchanged."""
        if len(signals) == 1:
            return signals
        present = valid_steps(mask, signals[..., 0]).any(1)
        takes, donors = drawn_donors(present, self.probability, like=signals, generator=generator)
        own = takes.nonzero().flatten()
        if not len(own):
            return signals
        parts = SeparatedSignals(signals, mask, sigma=self.sigma)
        made = signals.clone()
        made[own] = parts.exchanged(self.names, own, donors[own])
        return made

    def extra_repr(self) -> str:
        """The options, for `print(model)`."""
        sigma = f", sigma={self.sigma}" if self.sigma != SIGMA else ""
        return f"{'+'.join(self.names)!r}, {super().extra_repr()}{sigma}"
