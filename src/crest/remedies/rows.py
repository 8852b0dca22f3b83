"""What the augmentations ask of a batch: which rows are drawn, who gives to whom, and at which level each row is."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from crest._base.arrays import Signals, StepMask, at_least_float32


def random_numbers(
    law: Callable[..., Tensor], *shape: int, like: Tensor, generator: torch.Generator | None = None
) -> Tensor:
    """Random numbers in float32, drawn on the generator's device and brought to the device of `like`.

    So a generator on the CPU gives the same numbers for a batch on a GPU. Without one, torch's own state draws.

    Example:
        >>> generator = torch.Generator().manual_seed(1000)
        >>> random_numbers(torch.rand, 2, 3, like=torch.zeros(1), generator=generator).shape
        torch.Size([2, 3])
    """
    device = like.device if generator is None else generator.device
    return law(*shape, generator=generator, device=device, dtype=torch.float32).to(like.device)


class Donors(NamedTuple):
    """Which rows of a batch take something of another row, and of which."""

    takes: Tensor  # (B,), True for rows that take something
    rows: Tensor  # (B,), the other row


def drawn_donors(
    present: Tensor, probability: float, *, like: Tensor, generator: torch.Generator | None = None
) -> Donors:
    """Each row takes with the given probability, of another row that is present; rows that are not neither give nor take.

    Args:
        present: (B,), True for rows with a valid step.
        probability: of each row to take.
        like: a tensor on the device of the batch.
        generator: draws the random numbers.

    Example:
        >>> drawn_donors(torch.tensor([True, True]), 1.0, like=torch.zeros(1))
        Donors(takes=tensor([True, True]), rows=tensor([1, 0]))
    """
    count = len(present)
    allowed = present.unsqueeze(1) & present & ~torch.eye(count, dtype=torch.bool, device=like.device)
    takes = random_numbers(torch.rand, count, like=like, generator=generator) < probability
    lots = random_numbers(torch.rand, *allowed.shape, like=like, generator=generator)
    return Donors(takes & allowed.any(1), lots.masked_fill(~allowed, -1.0).argmax(1))


def row_levels(signals: Signals, valid: StepMask) -> Tensor:
    """Each channel's mean over a row's valid steps (B, C), in float32 at least, without a gradient; 0 if none is valid.

    Example:
        >>> row_levels(torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[True, True, False]]))
        tensor([[2.]])
    """
    signals = signals.detach().to(at_least_float32(signals)).masked_fill(~valid.unsqueeze(-1), 0.0)
    return signals.sum(1) / valid.sum(1, keepdim=True).clamp(min=1)


def spread_of_levels(levels: Tensor, present: Tensor) -> Tensor:
    """The standard deviation of each channel's level over the rows that are present (C,); 0 if only one is.

    Args:
        levels: (B, C), as `row_levels` gives them.
        present: (B,), True for rows with a valid step.

    Example:
        >>> spread_of_levels(torch.tensor([[1.0], [3.0], [9.0]]), torch.tensor([True, True, False]))
        tensor([1.])
    """
    weight = present.to(levels.dtype).unsqueeze(-1)
    count = weight.sum().clamp(min=1)
    # From the first level present, so that equal levels have no spread at all instead of a rounding error.
    first = levels.index_select(0, present.to(torch.int64).argmax(0, keepdim=True))
    shifted = (levels - first) * weight
    mean = shifted.sum(0) / count
    return (((shifted - mean) * weight).square().sum(0) / count).sqrt()
