"""What was done to each window before the model, and done again to signals that were exchanged."""

from typing import NamedTuple

from torch import Tensor

from crest._base.arrays import Signals, StepFlags, valid_steps
from crest.nuisances.scale import in_own_units, median_of, robust_scale

# our choice: docs/evidence/choices.md#audit
_EXACT = 1e-3


class Preparation(NamedTuple):
    """Whether every window has no mean, and a standard deviation of 1 too; or median and robust scale in their place.

    A model that was given such windows has never seen others. An exchange that leaves windows of another mean or size would
    ask it about signals that the field never brings, so the same is done to them again. Then it does not matter whether a model
    standardises by its first layer or is given standardised windows.
    """

    centred: bool
    scaled: bool
    robust: bool = False
    """Whether it was done by median and robust scale, as `crest.Standardise` does."""

    def again(self, signals: Signals, mask: StepFlags | None = None) -> Signals:
        """The signals prepared in the same way; what does not vary is centred alone.

        Args:
            signals: (B, T, C).
            mask: valid steps (B, T); padding becomes 0 if anything is done.
        """
        if not self.centred:
            return signals
        if self.robust:
            return in_own_units(signals, mask).to(signals.dtype)
        mean, deviation = _moments(signals, mask)
        made = signals - mean.unsqueeze(1).to(signals.dtype)
        if self.scaled:
            made = made / deviation.where(deviation > 0, 1.0).unsqueeze(1).to(signals.dtype)
        return made if mask is None else made.masked_fill(~mask.unsqueeze(-1), 0.0)


def preparation_of(signals: Signals, mask: StepFlags | None = None) -> Preparation:
    """What was done to these signals window by window, as far as it can be seen.

    Args:
        signals: (N, T, C).
        mask: valid steps (N, T).

    Example:
        >>> import torch
        >>> x = torch.randn(8, 100, 1, generator=torch.Generator().manual_seed(0))
        >>> centred = x - x.mean(1, keepdim=True)
        >>> preparation_of(x).centred, preparation_of(centred), preparation_of(centred / x.std(1, keepdim=True)).scaled
        (False, Preparation(centred=True, scaled=False, robust=False), True)
    """
    mean, deviation = _moments(signals, mask)
    if not bool((deviation > 0).any()) or len(signals) < 2:
        return Preparation(centred=False, scaled=False)
    centred = bool((mean.abs() <= _EXACT * deviation.clamp(min=_EXACT)).all())
    # With or without Bessel's correction.
    fewest = int(valid_steps(mask, signals[..., 0]).sum(1).clamp(min=1).amin())
    scaled = centred and bool(((deviation - 1).abs() <= max(_EXACT, 1 / fewest)).all())
    if not centred and _is_robust(signals, mask):
        return Preparation(centred=True, scaled=True, robust=True)
    return Preparation(centred=centred, scaled=scaled)


def _is_robust(signals: Signals, mask: StepFlags | None) -> bool:
    """Whether every window that varies has the median 0 and the robust scale 1."""
    valid = valid_steps(mask, signals[..., 0])
    values = signals.double().masked_fill(~valid.unsqueeze(-1), 0.0)
    counted = valid | ~valid.any(1, keepdim=True)
    middle, scale = median_of(values, counted), robust_scale(values, counted)
    varies = scale > 0
    return bool((middle.abs() <= _EXACT).all()) and bool(((scale - 1).abs() <= _EXACT)[varies].all())


def _moments(signals: Signals, mask: StepFlags | None) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation (N, C) of each window, in float64."""
    valid = valid_steps(mask, signals[..., 0]).unsqueeze(-1)
    count = valid.sum(1).clamp(min=1)
    values = signals.double().masked_fill(~valid, 0.0)
    mean = values.sum(1) / count
    deviation = ((values - mean.unsqueeze(1)).square() * valid).sum(1).div(count).sqrt()
    return mean, deviation
