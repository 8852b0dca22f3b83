"""Batches as people have them, tensors, arrays, tuples or dicts, read in one way wherever they are brought."""

import bisect
import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence
from torch.utils.data import BatchSampler, Dataset, IterableDataset, SequentialSampler

from crest._base.arguments import require
from crest._base.arrays import valid_steps
from crest._base.callers import users_line
from crest._base.recorded import recorded
from crest._base.rng import undisturbed
from crest._base.tensors import as_flags, as_targets, as_tensor, require_finite, require_signals
from crest.probes.tables import FEATURES_TO_MODEL, require_no_features
from crest.strangers.lengths import ORDER, mask_from

BatchKeys: TypeAlias = tuple[str, str, str]
"""Keys of inputs, targets and mask (or lengths) in dicts; the mask may be missing."""

_NAMES: dict[str, tuple[str, ...]] = {
    "inputs": ("inputs", "x", "signals", "signal"),
    "targets": ("targets", "y", "labels", "target", "label"),
    "mask": ("mask", "valid"),
}
"""Keys that are understood by default."""
_LENGTHS = "lengths"
"""The key under which lengths are looked for if there is no mask."""
_FORMS = "(inputs, targets), (inputs, targets, mask), (inputs, targets, lengths) or dicts"


@dataclass(frozen=True, eq=False)
class Batch:
    """Some trajectories: what a batch holds, or several batches together, as tensors without gradients.

    Example:
        >>> batch = read_batch((torch.zeros(2, 1, 5), torch.tensor([1.0, 2.0])))
        >>> len(batch), batch.targets, replace(batch, channels_first=True).signals.shape
        (2, tensor([1., 2.]), torch.Size([2, 5, 1]))
    """

    inputs: Tensor
    """(B, T, C), or (B, C, T): as the model takes them."""
    targets: Tensor | None = None
    """A row for each trajectory."""
    mask: Tensor | None = None
    """(B, T), True on valid steps; None if all are."""
    sizes: tuple[int, ...] = ()
    """How many trajectories each of the batches had that were joined."""
    channels_first: bool | None = None
    """Whether the inputs are (B, C, T), if that is known; None counts as (B, T, C)."""
    lengths: Tensor | None = None
    """(B,): what the mask was made from, as long as the axes are not known; until then its steps are a guess."""
    flat: bool = False
    """Whether they came as (B, T), of one channel: so the model takes them. Here they are (B, T, 1)."""
    label: bool = False
    """Whether the targets are those of one label, there (1) or not (0), of several that the model predicts."""

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def signals(self) -> Tensor:
        """(B, T, C)."""
        return self.inputs.mT if self.channels_first else self.inputs

    @property
    def valid(self) -> Tensor:
        """(B, T): all steps without a mask."""
        return valid_steps(self.mask, self.signals[..., 0])

    def first(self, rows: int) -> "Batch":
        """The first rows."""
        targets, mask, lengths = (
            None if part is None else part[:rows] for part in (self.targets, self.mask, self.lengths)
        )
        return replace(self, inputs=self.inputs[:rows], targets=targets, mask=mask, lengths=lengths)

    def to(self, device: torch.device, dtype: torch.dtype) -> "Batch":
        """On this device; the inputs in this precision."""
        targets, mask, lengths = (
            None if part is None else part.to(device) for part in (self.targets, self.mask, self.lengths)
        )
        return replace(
            self, inputs=self.inputs.to(device, dtype), targets=targets, mask=mask, lengths=lengths
        )

    def with_axes(self, channels_first: bool, argument: str = "batches") -> "Batch":
        """The same with known axes: a mask that was made from lengths is made again, with as many steps as there are.

        Args:
            channels_first: whether the inputs are (B, C, T).
            argument: what messages call the batches.

        Example:
            >>> batch = read_batch((torch.zeros(2, 64, 50), torch.zeros(2), torch.tensor([40, 30])))
            >>> batch.mask.shape, batch.with_axes(True).mask.shape
            (torch.Size([2, 64]), torch.Size([2, 50]))
        """
        mask = self.mask
        if self.lengths is not None:
            mask = mask_from(self.lengths, self.inputs, argument, channels_first)
        return replace(self, mask=mask, lengths=None, channels_first=channels_first)

    def checked(self, of: str = "") -> "Batch":
        """The same with flags for a mask and targets (B,), if all of them are finite at valid steps; else a ValueError.

        Args:
            of: what messages add to inputs and targets, such as " of field".
        """
        mask = None if self.mask is None else as_flags("mask", self.mask, self.signals)
        require_signals(f"inputs{of}", self.signals, mask, place=self.place)
        targets = self.targets
        if targets is not None:
            targets = as_targets(f"targets{of} must be", targets, len(self))
            require_finite(f"targets{of}", targets, place=self.place)
        return replace(self, mask=mask, targets=targets)

    def place(self, index: Sequence[int]) -> str:
        """Where a value of signals (B, T, C), or of targets, is in the batches as they came, for a message.

        Example:
            >>> Batch(torch.zeros(8, 1, 99), sizes=(4, 4), channels_first=True).place([5, 70, 0])
            'index [1, 0, 70] of (B, C, T) in batch 1'
        """
        trajectory, *inside = index
        ends = list(itertools.accumulate(self.sizes))
        batch = bisect.bisect_right(ends, trajectory)
        own = [
            trajectory - (ends[batch - 1] if batch else 0),
            *(inside[::-1] if self.channels_first else inside),
        ]
        known = inside and self.channels_first is not None
        letters = f" of {'(B, C, T)' if self.channels_first else '(B, T, C)'}" if known else ""
        return f"index {own}{letters}{f' in batch {batch}' if len(self.sizes) > 1 else ''}"


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
    if recorded(brought) is not None:
        raise ValueError(
            f"{argument} must hold batches, got Trajectories: take x, y, *_ = part.tensors() and give batches of them, such as "
            "torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=64, shuffle=True), with x.mT for a model of "
            "(B, C, T)"
        )
    if not isinstance(brought, Iterable) or isinstance(brought, str):
        raise ValueError(
            f"{argument} must be arrays, a tuple of them, or an iterable of batches, got {type(brought).__name__}"
        )
    return brought


def _split_batch(
    batch: Any, argument: str = "batches", keys: BatchKeys | None = None
) -> tuple[Any, Any, Any]:
    """Inputs, targets and mask (or lengths) of a batch as they came, whatever they are; None for those that are not there.

    Args:
        batch: as in `read_batch`.
        argument: what messages call the batches.
        keys: of inputs, targets and mask in a dict; the usual names by default.

    Example:
        >>> _split_batch({"x": 1, "label": 2})
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


def read_batch(
    batch: Any,
    argument: str = "batches",
    keys: BatchKeys | None = None,
    *,
    channels_first: bool | None = None,
    flat: bool = False,
) -> Batch:
    """One batch; a ValueError that names the argument if they cannot be told.

    Args:
        batch: inputs; inputs, targets and maybe a mask or lengths in a tuple or list; or a dict.
        argument: what messages call the batches.
        keys: of inputs, targets and mask in a dict; the usual names by default.
        channels_first: whether the inputs are (B, C, T), if that is known, for lengths.
        flat: whether (B, T) is read as trajectories of one channel.

    Example:
        >>> read_batch({"signal": torch.zeros(2, 5, 1), "wear": np.ones(2)}, keys=("signal", "wear", "valid")).targets
        tensor([1., 1.], dtype=torch.float64)
        >>> read_batch((torch.zeros(2, 3, 1), torch.ones(2), torch.tensor([3, 1]))).mask.tolist()
        [[True, True, True], [True, False, False]]
    """
    found = _split_batch(batch, argument, keys)
    if isinstance(found[0], tuple | list) and not isinstance(found[0], PackedSequence):
        raise ValueError(
            f"inputs of {argument} must be one tensor or array, got a {type(found[0]).__name__}: what belongs to them "
            "comes behind the targets, (inputs, targets, mask) or (inputs, targets, lengths)"
        )
    if hasattr(found[0], "to_numpy"):
        raise ValueError(
            f"inputs of {argument} must be signals, got a table ({type(found[0]).__name__}): crest needs the signals, as an array. "
            f"For a model of features pass {FEATURES_TO_MODEL} as the model"
        )
    inputs, targets, mask = (
        as_tensor(f"{part} of {argument}", value) for part, value in zip(_NAMES, found, strict=True)
    )
    flat = flat and inputs is not None and inputs.ndim == 2
    if flat and inputs is not None:
        require_no_features(f"inputs of {argument}", tuple(inputs.shape))
        inputs, channels_first = inputs.unsqueeze(-1), False
    if inputs is None or inputs.ndim != 3 or 0 in inputs.shape[1:]:
        got = "none" if inputs is None else tuple(inputs.shape)
        single = (
            ", which is a single trajectory: stack some of them, or give a DataLoader. Windows of one channel: x[..., None], and "
            "for a model of two axes torch.nn.Sequential(torch.nn.Flatten(), model)"
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
    if mask is None or mask.ndim > 1:
        return Batch(inputs, targets, mask, channels_first=channels_first, flat=flat)
    if not isinstance(batch, Mapping):
        _require_order(inputs, targets, mask, argument)
    lengths = mask if channels_first is None else None
    mask = mask_from(mask, inputs, argument, channels_first)
    return Batch(inputs, targets, mask, channels_first=channels_first, lengths=lengths, flat=flat)


def _require_order(inputs: Tensor, targets: Tensor | None, lengths: Tensor, argument: str) -> None:
    """Refuse (inputs, lengths, targets): lengths, unlike most targets, reach the last step of a padded batch."""
    longest = int(lengths.max()) if len(lengths) and not lengths.is_floating_point() else 0
    if 0 < 2 * longest <= max(inputs.shape[1:]):
        warnings.warn(
            f"the third part of {argument} is read as lengths, up to {longest} of {max(inputs.shape[1:])} steps; if it is something "
            "else, leave it out",
            stacklevel=users_line(),
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


def join_batches(batches: Sequence[Batch], argument: str = "batches", most: int | None = None) -> Batch:
    """All trajectories of the batches, with as many steps as the longest; shorter ones need masks to be padded.

    Args:
        batches: whose inputs are all (B, T, C) or all (B, C, T): the axis in which they differ is that of time.
        argument: what messages call the batches.
        most: how many trajectories are kept; None for all.

    Example:
        >>> short, long = (Batch(torch.ones(1, T, 2), None, torch.ones(1, T)) for T in (3, 5))
        >>> join_batches([short, long]).mask.sum(1)
        tensor([3., 5.])
    """
    for part, got in (
        ("mask", "must hold a mask in every batch or in none"),
        ("targets", "must all hold the same parts: some have targets, some have none"),
    ):
        if len({getattr(one, part) is None for one in batches}) > 1:
            raise ValueError(f"{argument} {got}")
    shapes = {tuple(one.inputs.shape[1:]) for one in batches}
    axes = [axis for axis in (1, 2) if len({shape[axis - 1] for shape in shapes}) > 1]
    if len(axes) > 1:
        first, other = sorted(shapes)[:2]
        raise ValueError(
            f"{argument} must hold inputs that differ only in the number of steps, got {first} and {other}"
        )
    if axes:
        steps = sorted(one.inputs.shape[axes[0]] for one in batches)
        _require_steps(batches, axes[0], argument)
        padded = [_longer(one, axes[0], steps[-1], argument) for one in batches]
    else:
        padded = list(batches)
    inputs, targets = _joined(padded, "inputs", argument, most), _joined(padded, "targets", argument, most)
    assert inputs is not None
    # Each batch guesses its steps from its own lengths, and a short one may guess otherwise: all of them guess once more.
    guessed = all(one.lengths is not None for one in padded)
    lengths = _joined(padded, "lengths", argument, most) if guessed else None
    mask = (
        _joined(padded, "mask", argument, most) if lengths is None else mask_from(lengths, inputs, argument)
    )
    sizes = tuple(map(len, batches))
    return Batch(inputs, targets, mask, sizes, batches[0].channels_first, lengths, batches[0].flat)


def _require_steps(batches: Sequence[Batch], axis: int, argument: str) -> None:
    """Raise a ValueError unless the axis in which inputs differ may be that of time, and masks tell which steps are padding."""
    first, shapes = batches[0], sorted({tuple(one.inputs.shape[1:]) for one in batches})
    # Which axis is time is told by channels_first=, by a mask, or by lengths that fit into one of them alone.
    times = {1, 2} if first.channels_first is None else {1 + first.channels_first}
    if first.lengths is not None:
        longest = int(first.lengths.max())
        times = {one for one in times if longest <= first.inputs.shape[one]} or times
    elif first.mask is not None:
        times = {one for one in times if first.mask.shape[1:] == (first.inputs.shape[one],)} or times
    fewest, most = shapes[0][axis - 1], shapes[-1][axis - 1]
    if axis not in times:
        raise ValueError(f"{argument} must hold inputs of one number of channels, got {fewest} to {most}")
    if first.mask is None and len(times) == 1:
        raise ValueError(
            f"{argument} must hold windows of one length, or masks, got {fewest} to {most} steps"
        )
    if first.mask is None:
        raise ValueError(
            f"{argument} must hold inputs of one shape, or masks if their steps differ, got {shapes[0]} and {shapes[-1]}"
        )


def _joined(batches: Sequence[Batch], part: str, argument: str, most: int | None) -> Tensor | None:
    found = [getattr(one, part) for one in batches]
    if found[0] is None:
        return None
    shapes = sorted({tuple(one.shape[1:]) for one in found})
    if len(shapes) > 1:
        first, other = (f"({', '.join(map(str, ('B', *shape)))})" for shape in shapes[:2])
        raise ValueError(f"{part} of {argument} must have one shape in all batches, got {first} and {other}")
    return torch.cat(found)[:most]


def _longer(one: Batch, axis: int, steps: int, argument: str) -> Batch:
    # The axis in which they differ is that of time.
    one = one.with_axes(axis == 2, argument) if one.lengths is not None else one
    behind = steps - one.inputs.shape[axis]
    wanted = (len(one), one.inputs.shape[axis])
    if one.mask is None or one.mask.shape != wanted:
        raise ValueError(
            f"mask of {argument} must have shape (B, T) = {wanted}, got {None if one.mask is None else tuple(one.mask.shape)}"
        )
    room = (0, 0, 0, behind) if axis == 1 else (0, behind)
    inputs = torch.nn.functional.pad(one.inputs, room)
    return replace(one, inputs=inputs, mask=torch.nn.functional.pad(one.mask, (0, behind)))


def gathered(
    batches: Any, most: int, keys: BatchKeys | None = None, *, channels_first: bool | None = None
) -> Batch:
    """The first trajectories of what was brought, at most `most`; batches after them are not read.

    Args:
        batches: a tensor or an array of all inputs; a tuple of inputs, targets and maybe a mask or lengths; or an iterable
            of such batches, or of dicts with the keys "x", "y" and "mask" or other usual names. Shorter batches are
            padded if they have masks or lengths.
        most: how many trajectories are kept.
        keys: of inputs, targets and mask in dicts, if they have other names.
        channels_first: whether the inputs are (B, C, T), if that is known.

    Example:
        >>> batch = gathered([(torch.zeros(4, 9, 1), torch.zeros(4)), (torch.zeros(4, 9, 1), torch.zeros(4))], 6)
        >>> batch.inputs.shape, batch.targets.shape, batch.mask is None
        (torch.Size([6, 9, 1]), torch.Size([6]), True)
    """
    require("most", most, "be a whole number, 2 or more")
    found: list[Batch] = []
    # Even a loader that does not shuffle draws a number when it is opened.
    with undisturbed(*generators_of(batches)):
        for batch in as_batches(batches):
            found.append(read_batch(batch, keys=keys, channels_first=channels_first, flat=True))
            if sum(map(len, found)) >= most:
                break
    if not any(map(len, found)):
        raise ValueError("batches must hold at least one trajectory, got none")
    return join_batches(found, most=most)


def known_count(batches: Any) -> int | None:
    """How many trajectories were brought, if that is known without reading them; None for loaders of unknown length.

    Example:
        >>> pair = (torch.zeros(4, 9, 1), torch.zeros(4))
        >>> known_count(pair), known_count([pair, pair]), known_count(iter([pair]))
        (4, 8, None)
    """
    if isinstance(batches, Tensor | np.ndarray):
        return len(batches) if batches.ndim else None
    if isinstance(batches, list):
        parts = [known_count(one) for one in batches]
        known = [one for one in parts if one is not None]
        return sum(known) if known and len(known) == len(parts) else None
    if isinstance(batches, tuple):
        return known_count(batches[0]) if batches and isinstance(batches[0], Tensor | np.ndarray) else None
    sampler = getattr(getattr(batches, "batch_sampler", None), "sampler", None)
    whole = isinstance(sampler, SequentialSampler) and not getattr(batches, "drop_last", False)
    return len(sampler) if whole and sampler is not None else None


def generators_of(batches: Any) -> set[torch.Generator]:
    """Those that a loader draws from, if it has its own.

    Example:
        >>> own = torch.Generator()
        >>> generators_of(torch.utils.data.DataLoader(torch.zeros(4, 9, 1), shuffle=True, generator=own)) == {own}
        True
    """
    grouped = getattr(batches, "batch_sampler", None)
    owners = (batches, getattr(batches, "sampler", None), grouped, getattr(grouped, "sampler", None))
    found = (getattr(owner, "generator", None) for owner in owners)
    return {one for one in found if isinstance(one, torch.Generator)}


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
            stacklevel=users_line(),
        )
    return inputs, targets, mask
