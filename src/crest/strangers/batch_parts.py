"""Batches as people have them, tensors, arrays, tuples or dicts, read in one way wherever they are brought."""

import bisect
import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence
from torch.utils.data import Dataset, IterableDataset

from crest._base.tensors import as_tensor
from crest.strangers.lengths import ORDER, mask_from

BatchKeys: TypeAlias = tuple[str, str, str]
"""Keys of inputs, targets and mask (or lengths) in dicts; the mask may be missing."""

_NAMES: dict[str, tuple[str, ...]] = {
    "inputs": ("inputs", "x", "signals", "signal"),
    "targets": ("targets", "y", "labels", "target", "label"),
    "mask": ("mask", "valid"),
}
"""Keys that are understood where nobody says others."""
_LENGTHS = "lengths"
"""The key under which lengths are looked for where there is no mask."""
_FORMS = "(inputs, targets), (inputs, targets, mask), (inputs, targets, lengths) or dicts"


class BatchParts(NamedTuple):
    """What a batch holds, as tensors without gradients."""

    inputs: Tensor
    """(B, T, C), or (B, C, T)."""
    targets: Tensor | None
    """A row for each trajectory."""
    mask: Tensor | None
    """(B, T), True on valid steps."""


def as_batches(brought: Any, argument: str = "batches") -> Iterable[Any]:
    """What was brought as an iterable of batches: an array, a tuple of arrays or a dict is one batch.

    Example:
        >>> len(as_batches((torch.zeros(2, 5, 1), torch.ones(2))))
        1
    """
    # A tuple of arrays is one set of trajectories: a loader gives lists, or tuples one after the other.
    whole = isinstance(brought, tuple) and bool(brought) and not isinstance(brought[0], Mapping | Sequence)
    if whole or isinstance(brought, Tensor | np.ndarray | Mapping):
        return [brought]
    if isinstance(brought, Dataset) and not isinstance(brought, IterableDataset):
        raise ValueError(
            f"{argument} must hold batches, got {type(brought).__name__}, which holds single trajectories: give "
            "torch.utils.data.DataLoader(dataset, batch_size=64)"
        )
    if not isinstance(brought, Iterable) or isinstance(brought, str):
        raise ValueError(
            f"{argument} must be arrays, a tuple of them, or an iterable of batches, got {type(brought).__name__}"
        )
    return brought


def split_batch(batch: Any, argument: str = "batches", keys: BatchKeys | None = None) -> tuple[Any, Any, Any]:
    """Inputs, targets and mask (or lengths) of a batch as they came, whatever they are; None for those that are not there.

    Args:
        batch: as in `parts_of`.
        argument: what messages call the batches.
        keys: of inputs, targets and mask in a dict; the usual names unless given.

    Example:
        >>> split_batch({"x": 1, "label": 2})
        (1, 2, None)
    """
    if isinstance(batch, Mapping):
        return _by_keys(batch, argument, keys) if keys is not None else _by_names(batch, argument)
    if not isinstance(batch, tuple | list) or isinstance(batch, PackedSequence):
        return batch, None, None
    if not 1 <= len(batch) <= len(_NAMES):
        raise ValueError(f"{argument} must hold {_FORMS}, got {len(batch)} parts")
    inputs, targets, mask = [*batch, None, None][: len(_NAMES)]
    return inputs, targets, mask


def parts_of(
    batch: Any,
    argument: str = "batches",
    keys: BatchKeys | None = None,
    *,
    channels_first: bool | None = None,
) -> BatchParts:
    """The parts of one batch; a ValueError that names the argument where they cannot be told.

    Args:
        batch: inputs; inputs, targets and maybe a mask or lengths in a tuple or list; or a dict.
        argument: what messages call the batches.
        keys: of inputs, targets and mask in a dict; the usual names unless given.
        channels_first: whether the inputs are (B, C, T), where that is known, for lengths.

    Example:
        >>> parts_of({"signal": torch.zeros(2, 5, 1), "wear": np.ones(2)}, keys=("signal", "wear", "valid")).targets
        tensor([1., 1.], dtype=torch.float64)
        >>> parts_of((torch.zeros(2, 3, 1), torch.ones(2), torch.tensor([3, 1]))).mask.tolist()
        [[True, True, True], [True, False, False]]
    """
    found = split_batch(batch, argument, keys)
    if isinstance(found[0], tuple | list) and not isinstance(found[0], PackedSequence):
        raise ValueError(
            f"inputs of {argument} must be one tensor or array, got a {type(found[0]).__name__}: what belongs to them "
            "comes behind the targets, (inputs, targets, mask) or (inputs, targets, lengths)"
        )
    inputs, targets, mask = (
        as_tensor(f"{part} of {argument}", value) for part, value in zip(_NAMES, found, strict=True)
    )
    if inputs is None or inputs.ndim != 3 or 0 in inputs.shape[1:]:
        got = "none" if inputs is None else tuple(inputs.shape)
        single = (
            ", which is a single trajectory: stack some of them, or give a DataLoader. Windows of one channel: x[..., None]"
            if inputs is not None and inputs.ndim == 2
            else ""
        )
        raise ValueError(f"{argument} must hold inputs of shape (B, T, C) or (B, C, T), got {got}{single}")
    if not inputs.is_floating_point():
        raise ValueError(f"inputs of {argument} must be floating-point numbers, got {inputs.dtype}")
    for part, tensor in (("targets", targets), ("mask", mask)):
        if tensor is not None and (tensor.ndim == 0 or len(tensor) != len(inputs)):
            raise ValueError(
                f"{part} of {argument} must have a row for each of {len(inputs)} trajectories, got {tuple(tensor.shape)}"
            )
    if mask is not None and mask.ndim == 1:
        if not isinstance(batch, Mapping):
            _require_order(inputs, targets, mask, argument)
        mask = mask_from(mask, inputs, argument, channels_first)
    return BatchParts(inputs, targets, mask)


def _require_order(inputs: Tensor, targets: Tensor | None, lengths: Tensor, argument: str) -> None:
    """Refuse (inputs, lengths, targets): lengths, unlike most targets, reach the last step of a padded batch."""
    longest = int(lengths.max()) if len(lengths) and not lengths.is_floating_point() else 0
    if 0 < 2 * longest <= max(inputs.shape[1:]):
        warnings.warn(
            f"the third part of {argument} is read as lengths, up to {longest} of {max(inputs.shape[1:])} steps; if it is something "
            "else, leave it out",
            stacklevel=2,
        )
    if (
        targets is None
        or targets.shape != lengths.shape
        or targets.dtype.is_floating_point
        or not len(targets)
    ):
        return
    first = int(targets.max())
    if first in inputs.shape[1:] and first > int(lengths.max()):
        raise ValueError(f"{argument} seem to hold (inputs, lengths, targets); {ORDER}")


def place_in_batches(
    index: Sequence[int], sizes: Sequence[int] = (), channels_first: bool | None = None
) -> str:
    """Where a value of joined trajectories is in the batches that they came in, for a message.

    Args:
        index: in (N, T, C), or (N,).
        sizes: how many trajectories each batch has.
        channels_first: whether the batches have (B, C, T); None where the index has the order of the batches already.

    Example:
        >>> place_in_batches([5, 70, 0], [4, 4], channels_first=True)
        'index [1, 0, 70] of (B, C, T) in batch 1'
    """
    trajectory, *inside = index
    ends = list(itertools.accumulate(sizes))
    batch = bisect.bisect_right(ends, trajectory)
    own = [trajectory - (ends[batch - 1] if batch else 0), *(inside[::-1] if channels_first else inside)]
    letters = (
        f" of {'(B, C, T)' if channels_first else '(B, T, C)'}"
        if inside and channels_first is not None
        else ""
    )
    return f"index {own}{letters}{f' in batch {batch}' if len(sizes) > 1 else ''}"


def input_key(batch: Mapping[str, Any], keys: BatchKeys | None) -> str:
    """The key of a dict under which its inputs are.

    Example:
        >>> input_key({"signal": 1, "y": 2}, None)
        'signal'
    """
    return keys[0] if keys is not None else next(name for name in _NAMES["inputs"] if name in batch)


def label_keys(keys: BatchKeys | None) -> set[str]:
    """The keys under which a dict may have its targets, and its mask or lengths.

    Example:
        >>> sorted(label_keys(("signal", "wear", "ok")))
        ['ok', 'wear']
    """
    return {*_NAMES["targets"], *_NAMES["mask"], _LENGTHS} if keys is None else set(keys[1:])


def padded_alike(all_parts: Sequence[BatchParts], argument: str = "batches") -> list[BatchParts]:
    """The same batches with as many steps as the longest one, zeros and an unset mask behind; they need masks for that.

    Args:
        all_parts: batches whose inputs are all (B, T, C) or all (B, C, T): the axis in which they differ is that of time.
        argument: what messages call the batches.

    Example:
        >>> short, long = (BatchParts(torch.ones(1, T, 2), None, torch.ones(1, T)) for T in (3, 5))
        >>> [parts.mask.sum().item() for parts in padded_alike([short, long])]
        [3.0, 5.0]
    """
    if len({parts.mask is None for parts in all_parts}) > 1:
        raise ValueError(f"{argument} must hold a mask in every batch or in none")
    shapes = {tuple(parts.inputs.shape[1:]) for parts in all_parts}
    if len(shapes) <= 1:
        return list(all_parts)
    axes = [axis for axis in (1, 2) if len({shape[axis - 1] for shape in shapes}) > 1]
    sizes = sorted({parts.inputs.shape[axes[0]] for parts in all_parts})
    if len(axes) > 1:
        first, other = sorted(shapes)[:2]
        raise ValueError(
            f"{argument} must hold inputs that differ in their steps alone, got {first} and {other}"
        )
    if all_parts[0].mask is None:
        raise ValueError(
            f"{argument} must hold windows of one length, or masks, got {sizes[0]} to {sizes[-1]} steps"
        )
    return [_longer(parts, axes[0], sizes[-1], argument) for parts in all_parts]


def _longer(parts: BatchParts, axis: int, steps: int, argument: str) -> BatchParts:
    assert parts.mask is not None
    behind = steps - parts.inputs.shape[axis]
    if parts.mask.shape != (len(parts.inputs), parts.inputs.shape[axis]):
        raise ValueError(
            f"mask of {argument} must have shape (B, T) = {(len(parts.inputs), parts.inputs.shape[axis])}, got "
            f"{tuple(parts.mask.shape)}"
        )
    room = (0, 0, 0, behind) if axis == 1 else (0, behind)
    inputs = torch.nn.functional.pad(parts.inputs, room)
    return BatchParts(inputs, parts.targets, torch.nn.functional.pad(parts.mask, (0, behind)))


def _by_keys(batch: Mapping[str, Any], argument: str, keys: BatchKeys) -> tuple[Any, Any, Any]:
    missing = [key for key in keys[:2] if key not in batch]
    if missing:
        raise ValueError(
            f"keys must name inputs, targets and mask in the dicts of {argument}, which have "
            f"{', '.join(map(str, batch))}; got {missing[0]!r}"
        )
    inputs, targets, mask = keys
    return batch[inputs], batch[targets], batch.get(mask)


def _by_names(batch: Mapping[str, Any], argument: str) -> tuple[Any, Any, Any]:
    found = []
    for part, names in _NAMES.items():
        there = [name for name in names if name in batch]
        if len(there) > 1:
            raise ValueError(f"{argument} must name their {part} once, got the keys {', '.join(there)}")
        if not there and part == "inputs":
            raise ValueError(
                f"{argument} must name their inputs by one of {', '.join(names)}, or keys= must name them, got "
                f"{', '.join(map(str, batch))}"
            )
        found.append(batch[there[0]] if there else None)
    inputs, targets, mask = found
    # A mask says more than lengths, and they need not be told apart: lengths have one axis.
    mask = batch.get(_LENGTHS) if mask is None else mask
    read = {_LENGTHS, *(name for names in _NAMES.values() for name in names)}
    unread = [str(key) for key in batch if key not in read]
    if targets is None and unread:
        warnings.warn(
            f"{argument} name no targets ({', '.join(_NAMES['targets'])}), so there are none: {', '.join(unread)} "
            "is not read. If it holds them, give keys=(inputs, targets, mask).",
            stacklevel=2,
        )
    return inputs, targets, mask
