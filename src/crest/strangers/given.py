"""What people bring: arrays, or batches of tensors, pairs or dicts, in one form."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.data import BatchSampler, SequentialSampler

from crest._base.arguments import require
from crest.strangers.batch_parts import BatchKeys, BatchParts, as_batches, padded_alike, parts_of


class Given(NamedTuple):
    """Some trajectories, as the model takes them."""

    inputs: Tensor
    """(N, T, C), or (N, C, T) where the model is channels first."""
    targets: Tensor | None
    """(N,)."""
    mask: Tensor | None
    """(N, T), True where a step is valid."""
    sizes: tuple[int, ...] = ()
    """How many trajectories each batch had."""


def gathered(
    batches: Any, most: int, keys: BatchKeys | None = None, *, channels_first: bool | None = None
) -> Given:
    """The first trajectories of what was brought, at most `most`; batches after them are not read.

    Args:
        batches: a tensor or an array of all inputs; a tuple of inputs, targets and maybe a mask or lengths; or an iterable
            of such batches, or of dicts with the keys "x", "y" and "mask" or other usual names. Shorter batches are
            padded where they have masks or lengths.
        most: how many trajectories are kept.
        keys: of inputs, targets and mask in dicts, where they have other names.
        channels_first: whether the inputs are (B, C, T), where that is known.

    Example:
        >>> given = gathered([(torch.zeros(4, 9, 1), torch.zeros(4)), (torch.zeros(4, 9, 1), torch.zeros(4))], 6)
        >>> given.inputs.shape, given.targets.shape, given.mask is None
        (torch.Size([6, 9, 1]), torch.Size([6]), True)
    """
    require("most", most, "be a whole number, 2 or more")
    found: list[BatchParts] = []
    count = 0
    for batch in as_batches(batches):
        found.append(parts_of(batch, keys=keys, channels_first=channels_first))
        if (found[-1].targets is None) != (found[0].targets is None):
            raise ValueError("batches must all hold the same parts: some have targets, some have none")
        count += len(found[-1].inputs)
        if count >= most:
            break
    if not count:
        raise ValueError("batches must hold at least one trajectory, got none")
    inputs, targets, mask = (
        None if some[0] is None else torch.cat(some)[:most] for some in zip(*padded_alike(found), strict=True)
    )
    assert inputs is not None
    return Given(inputs, targets, mask, tuple(len(one.inputs) for one in found))


def require_in_order(batches: Any) -> None:
    """Raise a ValueError for a loader with an order of its own: what is known of each trajectory would be that of another.

    Example:
        >>> require_in_order(torch.utils.data.DataLoader(torch.zeros(4, 9, 1), shuffle=True))
        Traceback (most recent call last):
        ValueError: batches must come in the order of events and conditions: give a loader with shuffle=False, or a list \
of batches, got one with RandomSampler
    """
    grouped = getattr(batches, "batch_sampler", None)
    # A loader that is given a batch sampler has a plain sampler beside, which it does not use.
    samplers = (getattr(batches, "sampler", None), getattr(grouped, "sampler", None))
    others = [one for one in samplers if one is not None and not isinstance(one, SequentialSampler)]
    # Other batch samplers, also those derived from this one, may put together what they like.
    if grouped is not None and type(grouped) is not BatchSampler:
        others.append(grouped)
    if others:
        raise ValueError(
            "batches must come in the order of events and conditions: give a loader with shuffle=False, or a list of "
            f"batches, got one with {type(others[0]).__name__}"
        )
