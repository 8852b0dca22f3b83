"""Make the background useless in training: give a trajectory the background of another, and keep its label."""

import torch

from crest._base.arguments import require
from crest._base.arrays import Signals, StepFlags, StepMask, valid_steps
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background.interpolation import nearest_valid, values_at
from crest.background.separation import background_of, kinds_of, separated
from crest.background.slow import SIGMA
from crest.remedies.augmentation import Augmentation
from crest.remedies.rows import drawn_donors


@door
def exchange_background(
    signals: Signals,
    *,
    kind: str = "slow",
    probability: float = 0.5,
    mask: StepFlags | None = None,
    sigma: float = SIGMA,
    generator: torch.Generator | None = None,
) -> Signals:
    """The signals, some of the rows with the background of another row of the batch in place of their own.

    What is transient in a row stays, and so must its label: the label then no longer follows the background. Each row
    is changed with the given probability, and never gets its own background. With masks, a donor's background at a
    step where the donor is padding is that of its nearest valid step; rows without a valid step neither give nor take,
    and padding comes back as it was. A batch with one such row has nothing to exchange and comes back as it is.

    It helps if the cue is in the background alone. It does not if the event itself tells the cue, and costs if
    the background is needed to read the event.

    Args:
        signals: (B, T, C).
        kind: a kind of background, or several joined by "+"; see `crest.background.split`.
        probability: of each row to be changed (0.5 is our choice: docs/evidence/choices.md#exchange-in-training).
        mask: valid steps (B, T).
        sigma: standard deviation of the Gaussian in steps, for kinds that have one.
        generator: draws the random numbers, on any device; without one, torch's own state does.

    Example:
        >>> signals = torch.tensor([[[1.0], [1.0], [4.0]], [[5.0], [5.0], [5.0]]])
        >>> exchange_background(signals, kind="level", probability=1.0).squeeze(-1)
        tensor([[4., 4., 7.],
                [2., 2., 2.]])
    """
    signals, flags = as_signals("signals", signals, mask)
    _check_options(kind, sigma)
    require("probability", probability, "lie in [0, 1]")
    if len(signals) == 1:
        return signals
    valid = valid_steps(flags, signals[..., 0])
    takes, donor = drawn_donors(valid.any(1), probability, like=signals, generator=generator)
    background, transient = separated(signals, background_of(kind), flags, sigma)
    given = values_at(background, nearest_valid(valid))[donor]
    changed = takes.unsqueeze(1) & valid
    return torch.where(changed.unsqueeze(-1), (transient + given).to(signals.dtype), signals)


@door
class ExchangeBackground(Augmentation):
    """`exchange_background` as a layer, in training mode only; `collate` makes a loader do it.

    Args:
        kind: as in `exchange_background`, with `probability` and `sigma`.
        probability: of each row to be changed.
        sigma: standard deviation of the Gaussian in steps, for kinds that have one.
        generator: draws the random numbers; without one, torch's own state does.
        channels_first: for signals (B, C, T) instead of (B, T, C).

    Example:
        >>> layer = ExchangeBackground("level", probability=1.0)
        >>> x = torch.tensor([[[1.0], [1.0], [4.0]], [[5.0], [5.0], [5.0]]])
        >>> layer(x)[0].flatten(), torch.equal(layer.eval()(x), x)
        (tensor([4., 4., 7.]), True)
    """

    def __init__(
        self,
        kind: str = "slow",
        *,
        probability: float = 0.5,
        sigma: float = SIGMA,
        generator: torch.Generator | None = None,
        channels_first: bool = False,
    ) -> None:
        super().__init__(probability=probability, generator=generator, channels_first=channels_first)
        _check_options(kind, sigma)
        self.kind = kind
        self.sigma = sigma

    def augment(self, signals: Signals, mask: StepMask | None, generator: torch.Generator | None) -> Signals:
        """The signals with some backgrounds exchanged."""
        return exchange_background(
            signals,
            kind=self.kind,
            probability=self.probability,
            mask=mask,
            sigma=self.sigma,
            generator=generator,
        )

    def extra_repr(self) -> str:
        """The options, for `print(model)`."""
        sigma = f", sigma={self.sigma}" if self.sigma != SIGMA else ""
        return f"{self.kind!r}, {super().extra_repr()}{sigma}"


def _check_options(kind: str, sigma: float) -> None:
    kinds_of(kind)
    require("sigma", sigma, "be positive")
