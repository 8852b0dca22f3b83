"""What the inputs of a model look like: raw, or already prepared for it."""

from crest._base.arrays import Signals, StepMask, valid_steps
from crest.exchange.preparation import preparation_of


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
    seen = preparation_of(signals, mask)
    if seen.centred:
        return (
            "look standardised window by window"
            if seen.scaled
            else "have no mean in any window, as behind AC coupling"
        )
    valid = valid_steps(mask, signals[..., 0]).unsqueeze(-1)
    values = signals.double()
    count = valid.sum(1).clamp(min=1)
    mean = values.masked_fill(~valid, 0.0).sum(1) / count
    deviation = ((values - mean.unsqueeze(1)).square() * valid).sum(1).div(count).sqrt()
    if len(signals) < 2 or not bool((deviation > 0).any()):
        return None
    # The least value lies at most one standard deviation above 0. A level above 0 alone is no envelope.
    least = values.masked_fill(~valid, float("inf")).amin(1)
    if bool((least >= 0).all()) and bool((least < mean).all()) and bool((least <= deviation).all()):
        return "are never negative, as an envelope"
    return None
