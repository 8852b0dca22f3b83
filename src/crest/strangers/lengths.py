"""Valid steps of padded trajectories, as lengths (B,) or as a mask (B, T)."""

import torch
from torch import Tensor

from crest.probes.rates import events_at

ORDER = "the order is (inputs, targets, lengths)"
"""What messages say where something else seems to stand in the place of lengths."""


def mask_from(
    lengths: Tensor, inputs: Tensor, argument: str = "batches", channels_first: bool | None = None
) -> Tensor:
    """The mask (B, T), True on as many first steps as the lengths (B,) say.

    If it is not told which axis of the inputs is time, it is the one that the longest trajectory fills, as after padding
    batch by batch; else the longer one.

    Args:
        lengths: (B,), valid steps of each trajectory.
        inputs: (B, T, C), or (B, C, T).
        argument: what messages call the batches.
        channels_first: whether the inputs are (B, C, T), if that is known.

    Example:
        >>> mask_from(torch.tensor([2, 1]), torch.zeros(2, 4, 1)).tolist()
        [[True, True, False, False], [True, False, False, False]]
    """
    if lengths.dtype == torch.bool or lengths.is_floating_point() or lengths.is_complex():
        raise ValueError(
            f"mask of {argument} must have shape (B, T), or be lengths (B,) in whole numbers, got shape "
            f"{tuple(lengths.shape)} of {lengths.dtype}; {ORDER}"
        )
    sizes, longest = inputs.shape[1:], int(lengths.max()) if len(lengths) else 0
    if channels_first is None:
        filled = [size for size in sizes if size == longest]
        steps = filled[0] if filled else max(sizes)
    else:
        steps = sizes[1 if channels_first else 0]
    if len(lengths) and not (int(lengths.min()) >= 1 and longest <= steps):
        raise ValueError(
            f"lengths of {argument} must lie from 1 to {steps}, the steps of the inputs {tuple(inputs.shape)}, got "
            f"{int(lengths.min())} to {longest}; {ORDER}"
        )
    return torch.arange(steps, device=lengths.device) < lengths.unsqueeze(1)


def lengths_of(mask: Tensor) -> Tensor:
    """The lengths (B,) that say the same as a mask (B, T) whose padding is behind.

    Example:
        >>> lengths_of(torch.tensor([[True, True, False], [True, False, False]]))
        tensor([2, 1])
    """
    flags = mask != 0
    lengths = flags.sum(1)
    other = (flags.long().cumprod(1).sum(1) != lengths).nonzero()
    if len(other):
        raise ValueError(
            "mask must be True on the first steps of each trajectory, and on no others, for a model that takes lengths; it "
            f"is not in trajectory {int(other[0])}"
        )
    return lengths


def valid_at(valid: Tensor, steps: int, rate: float) -> Tensor:
    """The valid steps (B, steps) of features: those whose stretch of the inputs has no padding, or any valid one if there is none such.

    Args:
        valid: (B, T), the valid steps of the inputs.
        steps: of the features.
        rate: input steps for each step of the features. If they are fewer than T of them give, the model has cut the padding
            behind the longest trajectory of the batch.

    Example:
        >>> valid_at(torch.tensor([[True, True, True, True, True, False]]), 3, 2.0)
        tensor([[ True,  True, False]])
        >>> valid_at(torch.tensor([[True, False, False, False]]), 2, 2.0)
        tensor([[ True, False]])
    """
    given = valid.shape[1]
    if steps * rate <= given - rate:
        longest = int(valid.any(0).nonzero().max()) + 1
        given = min(given, longest, key=lambda size: abs(steps * rate - size))
    valid = valid[:, : max(given, steps)]
    clean = ~events_at(~valid, steps)
    return torch.where(clean.any(1, keepdim=True), clean, events_at(valid, steps))


def padding_note(signals: Tensor, mask: Tensor | None) -> list[str]:
    """A note if trajectories (N, T, C) without a mask end in exact zeros of different lengths, which may be padding.

    Example:
        >>> signals = torch.ones(3, 8, 2)
        >>> signals[1, 5:] = 0
        >>> padding_note(signals, None)
        ['1 of 3 trajectories end in zeros, up to 3 steps: if these are padding, pass lengths or a mask with the batches']
    """
    if mask is not None:
        return []
    # How many steps stand behind the last one that is not zero.
    behind = (signals != 0).any(-1).flip(1).cumsum(1).eq(0).sum(1)
    ends = behind[(behind > 1) & (behind < signals.shape[1])]
    if len(ends) == 0 or (len(ends) == len(signals) and bool((ends == ends[0]).all())):
        return []
    return [
        f"{len(ends)} of {len(signals)} trajectories end in zeros, up to {int(ends.max())} steps: if these are padding, pass lengths or a "
        "mask with the batches"
    ]
