"""A robust scale of signals, and time that runs at another rate."""

import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.arrays import Signals, StepFlags, StepMask, at_least_float32
from crest._base.doors import door
from crest._base.tensors import as_signals
from crest.background.transience import from_first_step, in_order

# Of normal numbers: their standard deviation over the median of their sizes.
_NORMAL = 1.4826


def median_of(series: Tensor, mask: StepMask | None = None) -> Tensor:
    """The median (B, 1, C) over valid steps of (B, T, C): the mean of the two in the middle where their number is even.

    Example:
        >>> median_of(torch.tensor([[[1.0], [5.0], [2.0]]])).flatten(), median_of(torch.tensor([[[1.0], [2.0]]])).flatten()
        (tensor([2.]), tensor([1.5000]))
    """
    values = series.transpose(1, 2)
    if mask is None:
        ordered, count = _in_order(values), series.shape[1]
        return ((ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2).unsqueeze(1)
    ordered = _in_order(values.masked_fill(~mask.unsqueeze(1), torch.inf))
    counts = mask.sum(1).clamp(min=1)[:, None, None].expand(-1, values.shape[1], 1)
    middle = ordered.gather(2, (counts - 1) // 2) + ordered.gather(2, counts // 2)
    return (middle / 2).transpose(1, 2)


def _in_order(values: Tensor) -> Tensor:
    """Sorted along the last axis. The fast sort has no gradient, so torch's own is used if one is asked for."""
    return values.sort(dim=-1).values if values.requires_grad else in_order(values)


def robust_scale(series: Tensor, mask: StepMask | None = None) -> Tensor:
    """The standard deviation (B, 1, C) that a normal series with the same median size would have; 0 if nothing varies.

    A brief event does not change it. If more than half of the steps have no size, as in a signal that rests between
    events, it is the root mean square.

    Example:
        >>> robust_scale(torch.tensor([[[-1.0], [1.0], [-1.0], [1.0], [100.0]]])).flatten()
        tensor([1.4826])
    """
    middle = _NORMAL * median_of(series.abs(), mask)
    square = series.square()
    if mask is None:
        mean = square.mean(1, keepdim=True)
    else:
        valid = mask.unsqueeze(-1)
        mean = square.masked_fill(~valid, 0.0).sum(1, keepdim=True) / valid.sum(1, keepdim=True).clamp(min=1)
    # The root of zero has no gradient.
    size = torch.where(mean > 0, torch.where(mean > 0, mean, 1.0).sqrt(), 0.0)
    return torch.where(middle > 0, middle, size)


def in_own_units(signals: Signals, mask: StepMask | None = None, *, robust: bool = True) -> Signals:
    """Signals (B, T, C) less their median, in units of their robust scale; 0 on padding and in a constant channel.

    In float32 at least.

    Args:
        signals: (B, T, C).
        mask: valid steps (B, T).
        robust: False takes mean and standard deviation instead.

    Example:
        >>> x = torch.tensor([[[4.0], [5.0], [6.0], [4.0], [6.0], [99.0]]])
        >>> in_own_units(x).flatten()[:5]
        tensor([-1.0117, -0.3372,  0.3372, -1.0117,  0.3372])
        >>> in_own_units(torch.full((1, 5, 1), 0.1)).abs().max()
        tensor(0.)
    """
    # From the first step, so that a constant is exactly zero and a small signal on a large level is not rounded away.
    shifted, _ = from_first_step(signals.to(at_least_float32(signals)), mask)
    # A row without a valid step holds zeros: all of its steps may count.
    counted = None if mask is None else mask | ~mask.any(1, keepdim=True)
    if robust:
        centred = shifted - median_of(shifted, counted)
        scale = robust_scale(centred, counted)
    else:
        weight = None if counted is None else counted.unsqueeze(-1).to(shifted.dtype)
        centred = shifted - _mean(shifted, weight)
        square = _mean(centred.square(), weight)
        # The root of zero has no gradient.
        scale = torch.where(square > 0, torch.where(square > 0, square, 1.0).sqrt(), 0.0)
    made = centred / torch.where(scale > 0, scale, 1.0)
    return made if mask is None else made.masked_fill(~mask.unsqueeze(-1), 0.0)


def _mean(series: Tensor, weight: Tensor | None) -> Tensor:
    if weight is None:
        return series.mean(1, keepdim=True)
    return (series * weight).sum(1, keepdim=True) / weight.sum(1, keepdim=True)


@door
def stretched(signals: Signals, factor: Tensor | float, mask: StepFlags | None = None) -> Signals:
    """Signals (B, T, C) whose time runs slower by the factor: at 2 every wave is twice as long. The length stays.

    The middle of the valid steps stays where it is. If the stretched signal is too short, it goes on mirrored at its
    ends. What would be faster than two steps is filtered out first. With the speed of each trajectory,
    `stretched(x, speed / reference)` is order tracking for a steady speed: the same angle of the shaft per step.

    Args:
        signals: (B, T, C).
        factor: one number, or one for each trajectory (B,); positive.
        mask: valid steps (B, T).

    Example:
        >>> ramp = torch.arange(9.0).reshape(1, 9, 1)
        >>> stretched(ramp, 2.0).flatten()
        tensor([2.0000, 2.5000, 3.0000, 3.5000, 4.0000, 4.5000, 5.0000, 5.5000, 6.0000])
    """
    signals, valid = as_signals("signals", signals, mask)
    factors = torch.as_tensor(factor)
    if factors.shape not in {(), (len(signals),)} or factors.is_complex() or factors.dtype == torch.bool:
        raise ValueError(
            f"factor must be a number, or a tensor of numbers of shape (B,) = ({len(signals)},), got {factor!r:.80}"
        )
    factors = factors.to(signals.device, torch.float64).expand(len(signals))
    if not bool((factors.isfinite() & (factors > 0)).all()):
        require("factor", float(factors.amin()), "be positive")
    values = signals.to(at_least_float32(signals))
    if valid is None:
        return _resampled(values, factors).to(signals.dtype)
    made = signals.clone()
    for row, there in enumerate(valid):
        if there.any():
            made[row, there] = _resampled(values[row : row + 1, there], factors[row : row + 1])[0].to(
                made.dtype
            )
    return made


def _resampled(values: Tensor, factors: Tensor) -> Tensor:
    """Values (B, T, C) read off along a line at steps of 1 / factor around the middle."""
    T = values.shape[1]
    if T == 1:
        return values
    limited = _below(values, factors)
    middle = (T - 1) / 2
    place = middle + (torch.arange(T, device=values.device) - middle) / factors.unsqueeze(1)
    # Mirrored at both ends: a period of 2 (T - 1) steps there and back.
    place = place.remainder(2 * (T - 1))
    place = torch.minimum(place, 2 * (T - 1) - place).clamp(0, T - 1)
    low = place.floor().long().clamp(max=T - 2)
    part = (place - low).to(values.dtype).unsqueeze(-1)
    here, there = (limited.gather(1, index.unsqueeze(-1).expand_as(values)) for index in (low, low + 1))
    return torch.lerp(here, there, part)


def _below(values: Tensor, factors: Tensor) -> Tensor:
    """Values without the frequencies that a time that runs faster would alias."""
    if not bool((factors < 1).any()):
        return values
    waves = torch.fft.rfft(values, dim=1)
    frequency = torch.linspace(0, 1, waves.shape[1], dtype=factors.dtype, device=values.device)
    kept = frequency <= factors.clamp(max=1).unsqueeze(1)
    made: Tensor = torch.fft.irfft(waves * kept.unsqueeze(-1), n=values.shape[1], dim=1)
    return torch.where((factors < 1)[:, None, None], made, values)
