"""A signal with some of its steps interpolated out."""

import torch
from torch import Tensor

from crest._base.arrays import StepMask, at_least_float32, valid_steps
from crest._base.doors import door
from crest._base.tensors import as_flags, as_signals, require_signals


def nearest_valid(mask: StepMask) -> Tensor:
    """The valid step that is nearest to each step (B, T), the earlier of two; any step if none is valid.

    Example:
        >>> nearest_valid(torch.tensor([[False, True, False, False, True]]))
        tensor([[1, 1, 1, 4, 4]])
    """
    T = mask.shape[1]
    steps = torch.arange(T, device=mask.device).expand_as(mask)
    before = torch.where(mask, steps, -T).cummax(1).values
    after = torch.where(mask, steps, 2 * T).flip(1).cummin(1).values.flip(1)
    return torch.where(steps - before <= after - steps, before, after).clamp(0, T - 1)


def values_at(values: Tensor, steps: Tensor) -> Tensor:
    """The values (B, T, C) at the given steps (B, T).

    Example:
        >>> values_at(torch.tensor([[[5.0], [7.0]]]), torch.tensor([[1, 1]])).flatten()
        tensor([7., 7.])
    """
    return values.gather(1, steps.unsqueeze(-1).expand_as(values))


@door
def interpolate_out(inputs: Tensor, remove_mask: Tensor, mask: Tensor | None = None) -> Tensor:
    """The inputs (B, T, C) with the removed steps replaced by a line between their kept neighbours.

    The neighbours are the nearest valid steps that are kept; before the first and after the last of them
    the nearest one is held. If every valid step is removed, each becomes the mean over the valid steps:
    the level stays, all that happens in time goes. Kept and padded steps come back untouched.

    Example:
        >>> inputs = torch.tensor([[[0.0], [9.0], [9.0], [6.0], [7.0]]])
        >>> remove = torch.tensor([[False, True, True, False, True]])
        >>> interpolate_out(inputs, remove).flatten()
        tensor([0., 2., 4., 6., 6.])
    """
    # A removed step may hold NaN: it is not read, unless no other step is left.
    inputs, given = as_signals("inputs", inputs, mask, validate=False)
    valid = valid_steps(given, inputs[..., 0])
    removed = as_flags("remove_mask", remove_mask, inputs) & valid
    kept = valid & ~removed
    require_signals("inputs", inputs, torch.where(kept.any(1, keepdim=True), kept, valid))
    return interpolated(inputs, removed, valid)


def interpolated(inputs: Tensor, removed: StepMask, valid: StepMask) -> Tensor:
    """`interpolate_out` of checked inputs, whose removed steps are valid ones; without a door.

    Example:
        >>> steps = torch.tensor([[False, True, False]])
        >>> interpolated(torch.tensor([[[0.0], [9.0], [4.0]]]), steps, torch.ones_like(steps)).flatten()
        tensor([0., 2., 4.])
    """
    kept = valid & ~removed
    values = inputs.to(at_least_float32(inputs))

    T = inputs.shape[1]
    steps = torch.arange(T, device=inputs.device).expand_as(kept)
    before = torch.where(kept, steps, -1).cummax(1).values
    after = torch.where(kept, steps, T).flip(1).cummin(1).values.flip(1)
    # At an end only one neighbour exists: both names then mean that one.
    left = torch.where(before < 0, after, before).clamp(0, T - 1)
    right = torch.where(after >= T, before, after).clamp(0, T - 1)
    weight = (steps - left).to(values.dtype) / (right - left).clamp(min=1)
    line = torch.lerp(values_at(values, left), values_at(values, right), weight.unsqueeze(-1))

    level = torch.where(valid.unsqueeze(-1), values, 0).sum(1) / valid.sum(1, keepdim=True).clamp(min=1)
    line = torch.where(kept.any(1)[:, None, None], line, level.unsqueeze(1))
    return torch.where(removed.unsqueeze(-1), line.to(inputs.dtype), inputs)
