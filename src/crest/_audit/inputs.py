"""What the inputs of a model look like: raw, or already prepared for it."""

from crest._base.arrays import Signals, StepMask, valid_steps

# our choice: docs/choices.md#audit
_EXACT = 1e-3


def preprocessing_seen(signals: Signals, mask: StepMask | None = None) -> str | None:
    """What was done to each window before the model, as far as it can be seen; None if nothing was.

    Args:
        signals: (N, T, C).
        mask: valid steps (N, T).

    Example:
        >>> import torch
        >>> x = torch.randn(8, 100, 1, generator=torch.Generator().manual_seed(0))
        >>> preprocessing_seen((x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True))
        'look standardised window by window'
        >>> preprocessing_seen(x), preprocessing_seen(x.abs())
        (None, 'are never negative, as an envelope')
    """
    valid = valid_steps(mask, signals[..., 0]).unsqueeze(-1)
    count = valid.sum(1).clamp(min=1)
    values = signals.double().masked_fill(~valid, 0.0)
    mean = values.sum(1) / count
    deviation = ((values - mean.unsqueeze(1)).square() * valid).sum(1).div(count).sqrt()
    if not bool((deviation > 0).any()) or len(signals) < 2:
        return None
    centred = bool((mean.abs() <= _EXACT * deviation.clamp(min=_EXACT)).all())
    # With or without Bessel's correction.
    if centred and bool(((deviation - 1).abs() <= max(_EXACT, float(1 / count.amin()))).all()):
        return "look standardised window by window"
    if centred:
        return "have no mean in any window, as behind AC coupling"
    # Down to 0, as far as its deviation reaches: a level above 0 alone is no envelope.
    least = signals.double().masked_fill(~valid, float("inf")).amin(1)
    if bool((least >= 0).all()) and bool((least < mean).all()) and bool((least <= deviation).all()):
        return "are never negative, as an envelope"
    return None
