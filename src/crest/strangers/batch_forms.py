"""Batches as people have them: read, changed and held out, in the form in which they came."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from crest._base.rng import generator
from crest._base.tensors import as_flags, require_finite
from crest.strangers.batch import (
    Batch,
    BatchKeys,
    as_batches,
    input_key,
    join_batches,
    label_keys,
    read_batch,
)

# our choice: docs/choices.md#repair
HELD_OUT = 5


@dataclass(frozen=True)
class BatchForm:
    """Where a batch has its inputs, targets and mask: first, second and third of a tuple or list, or keys of a dict.

    Example:
        >>> BatchForm().parts((torch.zeros(2, 5, 1), torch.ones(2)), "batches").targets
        tensor([1., 1.])
    """

    keys: BatchKeys | None = None
    """Of inputs, targets and mask, for dicts; the usual names unless given."""
    channels_first: bool | None = None
    """Whether the inputs are (B, C, T), where that is known."""

    def parts(self, batch: Any, argument: str) -> Batch:
        """The batch; a ValueError that names the argument if it cannot be read, or has no targets."""
        found = read_batch(batch, argument, self.keys, channels_first=self.channels_first)
        if found.targets is None:
            under = (
                f" under {', '.join(map(str, batch))}: pass keys= to name them"
                if isinstance(batch, Mapping)
                else ""
            )
            raise ValueError(
                f"{argument} must hold (inputs, targets), (inputs, targets, mask or lengths) or dicts, got no targets{under}"
            )
        return found

    def with_inputs(self, batch: Any, inputs: Tensor) -> Any:
        """The same batch with other inputs, an array where they were one."""
        if isinstance(batch, Mapping):
            key = input_key(batch, self.keys)
            return {**batch, key: _as_before(batch[key], inputs)}
        return _like(batch, [_as_before(batch[0], inputs), *batch[1:]])

    def rows(self, batch: Any, rows: Tensor) -> Any:
        """Some rows of a batch: of every tensor or array in it that has as many rows as its inputs, and of its own lists.

        A list under any key is a column, as a data loader collates names; a tuple under another key than those of targets, mask
        or lengths is something else, such as the names of channels.
        """
        count = len(batch[input_key(batch, self.keys)] if isinstance(batch, Mapping) else batch[0])

        def taken(part: Any, own: bool = True) -> Any:
            column = isinstance(part, list) or (own and isinstance(part, tuple))
            if column and len(part) == count:
                return _like(part, [part[row] for row in rows.tolist()])
            if not isinstance(part, Tensor | np.ndarray) or part.ndim == 0 or len(part) != count:
                return part
            return part[rows.to(part.device)] if isinstance(part, Tensor) else part[rows.numpy()]

        if isinstance(batch, Mapping):
            own = label_keys(self.keys)
            return {key: taken(part, key in own) for key, part in batch.items()}
        return _like(batch, [taken(part) for part in batch])

    def words(self, batch: Any) -> str:
        """What such batches are, for a message.

        Example:
            >>> BatchForm().words((torch.zeros(2, 5, 1), torch.ones(2), torch.tensor([5, 3])))
            '(x, y, lengths)'
        """
        if isinstance(batch, Mapping):
            return f"dicts with {', '.join(map(str, batch))}"
        third = [] if len(batch) < 3 else ["lengths" if _is_flat(batch[2]) else "mask"]
        return f"({', '.join(['x', 'y', *third])})"

    def joined(self, batches: Iterable[Any], argument: str, channels_first: bool) -> Batch:
        """All trajectories as signals (N, T, C) on the CPU, with targets (N,). Shorter batches are padded where they have masks.

        Example:
            >>> batches = [(torch.zeros(2, 1, 5), torch.zeros(2)), (torch.zeros(3, 1, 5), torch.ones(3))]
            >>> BatchForm().joined(batches, "validation", channels_first=True).inputs.shape
            torch.Size([5, 5, 1])
        """
        found = [self.parts(batch, argument) for batch in as_batches(batches, argument)]
        if sum(map(len, found)) < 2:
            raise ValueError(f"{argument} must hold two trajectories or more, got {sum(map(len, found))}")
        whole = join_batches(found, argument).with_axes(channels_first, argument)
        whole = whole.to(torch.device("cpu"), whole.inputs.dtype).checked(f" of {argument}")
        return replace(whole, inputs=whole.signals, channels_first=False)


def _as_before(before: Any, inputs: Tensor) -> Any:
    return inputs.numpy() if isinstance(before, np.ndarray) else inputs


def _is_flat(part: Any) -> bool:
    """Whether this has one axis; asked of a list without making an array of it, which fails where rows differ in length."""
    if isinstance(part, list | tuple):
        return not any(isinstance(one, list | tuple) or getattr(one, "ndim", 0) for one in part)
    return getattr(part, "ndim", 0) == 1


def _like(batch: Any, parts: list[Any]) -> Any:
    named = isinstance(batch, tuple) and hasattr(batch, "_fields")
    return type(batch)(*parts) if named else type(batch)(parts)


class ChangedBatches:
    """Batches that pass a function on their way, anew in each pass over them.

    Example:
        >>> batches = ChangedBatches([1, 2], lambda batch: 10 * batch)
        >>> list(batches), list(batches), len(batches)
        ([10, 20], [10, 20], 2)
    """

    def __init__(self, batches: Iterable[Any], change: Callable[[Any], Any]) -> None:
        self.batches = batches
        self.change = change

    def __iter__(self) -> Iterator[Any]:
        return (self.change(batch) for batch in self.batches)

    def __len__(self) -> int:
        return len(self.batches)  # type: ignore[arg-type]


def require_rereadable(argument: str, batches: object) -> None:
    """Raise a ValueError unless these are batches that can be read again and again.

    Example:
        >>> require_rereadable("train_batches", iter([1]))
        Traceback (most recent call last):
        ValueError: train_batches must be a list or a DataLoader, which can be read many times, got an iterator
    """
    if not isinstance(batches, Iterable) or isinstance(batches, Tensor | Mapping | str):
        got = type(batches).__name__
    elif isinstance(batches, Iterator):
        # Not `iter(batches) is batches`: to ask a loader for an iterator draws from torch's generator, and may start its workers.
        got = "an iterator"
    else:
        return
    raise ValueError(f"{argument} must be a list or a DataLoader, which can be read many times, got {got}")


def split_batches(batches: Iterable[Any], form: BatchForm, seed: int) -> tuple[list[Any], list[Any]]:
    """Two lists of batches: to train on, and a fifth of the trajectories, drawn by the seed, to measure on.

    Every batch gives its share, so that the batches to train on are of nearly the same size as before.

    Example:
        >>> x, y = torch.zeros(20, 5, 1), torch.arange(20.0)
        >>> kept, held = split_batches([(x[:10], y[:10]), (x[10:], y[10:])], BatchForm(), seed=0)
        >>> [len(y) for _, y in kept], [len(y) for _, y in held]
        ([8, 8], [2, 2])
    """
    numbers = generator(seed, "repair/held out")
    whole = list(batches)
    sizes: list[int] = []
    for batch in whole:
        parts = form.parts(batch, "train_batches")
        # Here, since rows have other places among those that are held out.
        _require_finite_batch(parts, len(sizes))
        sizes.append(len(parts))
    total = sum(sizes)
    if total < 2 * HELD_OUT:
        raise ValueError(
            f"train_batches must hold {2 * HELD_OUT} trajectories or more, of which a fifth is held out where "
            f"validation is not given, got {total}"
        )
    kept, held, seen = [], [], 0
    for batch, size in zip(whole, sizes, strict=True):
        share = (seen + size) // HELD_OUT - seen // HELD_OUT
        seen += size
        order = torch.from_numpy(numbers.permutation(size))
        out, stays = order[:share].sort().values, order[share:].sort().values
        held += [form.rows(batch, out)] if share else []
        kept += [form.rows(batch, stays)] if share < size else []
    return kept, held


def _require_finite_batch(batch: Batch, number: int) -> None:
    """Raise a ValueError if inputs, at valid steps, or targets are not finite, with the index that they have in their batch."""
    if batch.channels_first is None and batch.mask is not None:
        batch = replace(batch, channels_first=batch.mask.shape[1] != batch.inputs.shape[1])
    sized = replace(batch, sizes=(*(0 for _ in range(number)), len(batch), 0))
    flags = None if batch.mask is None else as_flags("mask", batch.mask, batch.signals)
    require_finite("inputs of train_batches", batch.signals, flags, place=sized.place)
    if batch.targets is not None:
        require_finite("targets of train_batches", batch.targets, place=sized.place)
