"""Batches as people have them: read, changed and held out, in the form in which they came."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.rng import generator
from crest._base.tensors import as_flags, as_tensor, require_finite, require_signals
from crest.probes.outputs import Output, read_targets
from crest.strangers.batch import (
    Batch,
    BatchKeys,
    as_batches,
    input_key,
    join_batches,
    label_keys,
    read_batch,
)

# our choice: docs/evidence/choices.md#repair
HELD_OUT = 5


@dataclass(frozen=True)
class BatchForm:
    """Where a batch has its inputs, targets and mask: first, second and third of a tuple or list, or keys of a dict.

    Example:
        >>> BatchForm().parts((torch.zeros(2, 5, 1), torch.ones(2)), "batches").targets
        tensor([1., 1.])
    """

    keys: BatchKeys | None = None
    """Of inputs, targets and mask, for dicts; the usual names by default."""
    channels_first: bool | None = None
    """Whether the inputs are (B, C, T), if that is known."""

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
        """The same batch with other inputs, an array if they were one."""
        if isinstance(batch, Mapping):
            key = input_key(batch, self.keys)
            return {**batch, key: _as_before(batch[key], inputs)}
        return _like(batch, [_as_before(batch[0], inputs), *batch[1:]])

    def copied(self, batch: Any) -> Any:
        """The same batch with tensors and arrays of its own: who works in place changes nothing of the user's."""

        def own(part: Any) -> Any:
            if isinstance(part, Tensor):
                return part.clone()
            return part.copy() if isinstance(part, np.ndarray) else part

        if isinstance(batch, Mapping):
            return {key: own(part) for key, part in batch.items()}
        return _like(batch, [own(part) for part in batch])

    def rows(self, batch: Any, rows: Tensor) -> Any:
        """Some rows of a batch: of every tensor or array in it that has as many rows as its inputs, and of its own lists.

        A list under any key is a column, as a data loader collates names; a tuple under another key than those of targets, mask
        or lengths is something else, such as the names of channels.
        """
        count = len(batch[input_key(batch, self.keys)] if isinstance(batch, Mapping) else batch[0])

        def taken(part: Any, own: bool = True) -> Any:
            if not _is_column(part, count, own):
                return part
            if isinstance(part, list | tuple):
                return _like(part, [part[row] for row in rows.tolist()])
            return part[rows.to(part.device)] if isinstance(part, Tensor) else part[rows.numpy()]

        if isinstance(batch, Mapping):
            own = label_keys(self.keys)
            return {key: taken(part, key in own) for key, part in batch.items()}
        return _like(batch, [taken(part) for part in batch])

    def stacked(self, batches: Iterable[Any], argument: str) -> Any:
        """One batch with the rows of all, in the same form: tensors, arrays and lists that have a row for each input are joined.

        Shorter batches are padded with zeros in time, if they have masks or lengths. What has no rows is the first batch's.

        Example:
            >>> batches = [(torch.zeros(2, 5, 1), ["a", "b"]), (torch.ones(1, 5, 1), ["c"])]
            >>> x, names = BatchForm().stacked(batches, "train_batches")
            >>> x.shape, names
            (torch.Size([3, 5, 1]), ['a', 'b', 'c'])
        """
        whole = list(batches)
        if not whole:
            raise ValueError(f"{argument} must hold one batch or more, got none")
        first = whole[0]
        own = label_keys(self.keys)
        keys: list[Any] = list(first) if isinstance(first, Mapping) else list(range(len(first)))
        for batch in whole[1:]:
            others: list[Any] = list(batch) if isinstance(batch, Mapping) else list(range(len(batch)))
            if set(others) != set(keys):
                raise ValueError(f"{argument} must all have the form of the first, {self.words(first)}")
        signals = input_key(first, self.keys) if isinstance(first, Mapping) else 0
        counts = [len(batch[signals]) for batch in whole]
        steps = self._differing_steps(whole, [tuple(batch[signals].shape[1:]) for batch in whole], argument)
        joined = {}
        for key in keys:
            parts = [batch[key] for batch in whole]
            loose = not isinstance(first, Mapping) or key in own
            columns = [_is_column(part, count, loose) for part, count in zip(parts, counts, strict=True)]
            joined[key] = _end_to_end(parts, steps, f"{argument}[...][{key!r}]") if all(columns) else parts[0]
        return joined if isinstance(first, Mapping) else _like(first, list(joined.values()))

    def _differing_steps(
        self, batches: list[Any], shapes: list[tuple[int, ...]], argument: str
    ) -> list[int] | None:
        """How many steps each batch has, None if all have the same; a ValueError if their inputs differ in anything else."""
        axes = [axis for axis in (1, 2) if len({shape[axis - 1] for shape in shapes}) > 1]
        if not axes:
            return None
        time = None if self.channels_first is None else 2 if self.channels_first else 1
        parts = [self.parts(batch, argument) for batch in batches]
        masked = all(one.mask is not None for one in parts)
        other = masked and not all(_runs_along(axes[0], one) for one in parts)
        got = " and ".join(f"(B, {', '.join(map(str, shape))})" for shape in list(dict.fromkeys(shapes))[:2])
        if len(axes) > 1 or other or (time is not None and time != axes[0]):
            raise ValueError(
                f"{argument} must hold inputs that differ only in the number of steps, got {got}"
            )
        if not masked:
            raise ValueError(
                f"{argument} must have signals of one length, or masks or lengths, to be joined, got {got}"
            )
        return [shape[axes[0] - 1] for shape in shapes]

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

    def joined(
        self,
        batches: Iterable[Any],
        argument: str,
        channels_first: bool,
        output: Output | None = None,
        notes: list[str] | None = None,
        *,
        several: bool | None = None,
    ) -> Batch:
        """All trajectories as signals (N, T, C) on the CPU, with targets as `read_targets` reads them.

        Shorter batches are padded if they have masks.

        Args:
            batches: in this form.
            argument: what messages call them.
            channels_first: whether inputs are (B, C, T).
            output: which output of the model is asked about.
            notes: what was assumed of the targets is added to these.
            several: as in `read_targets`.

        Example:
            >>> batches = [(torch.zeros(2, 1, 5), torch.zeros(2)), (torch.zeros(3, 1, 5), torch.ones(3))]
            >>> BatchForm().joined(batches, "validation", channels_first=True).inputs.shape
            torch.Size([5, 5, 1])
        """
        found = [self.parts(batch, argument) for batch in as_batches(batches, argument)]
        if sum(map(len, found)) < 2:
            raise ValueError(f"{argument} must hold two trajectories or more, got {sum(map(len, found))}")
        whole = join_batches(found, argument).with_axes(channels_first, argument)
        if whole.targets is not None:
            targets, told, label = read_targets(whole.targets, output, f" of {argument}", several=several)
            whole = replace(whole, targets=targets, label=label)
            if notes is not None:
                notes += [f"{note[0].upper()}{note[1:]}." for note in told]
        whole = whole.to(torch.device("cpu"), whole.inputs.dtype).checked(f" of {argument}")
        return replace(whole, inputs=whole.signals, channels_first=False)


def _is_column(part: Any, count: int, own: bool) -> bool:
    """Whether a part of a batch has a row for each trajectory; a tuple only if it is one of the batch's own parts."""
    if isinstance(part, list) or (own and isinstance(part, tuple)):
        return len(part) == count
    return isinstance(part, Tensor | np.ndarray) and part.ndim > 0 and len(part) == count


def _runs_along(axis: int, batch: Batch) -> bool:
    """Whether the mask, or the lengths, of a batch may be about this axis of its inputs."""
    size = batch.inputs.shape[axis]
    if batch.lengths is not None:
        return int(batch.lengths.max()) <= size
    return batch.mask is not None and batch.mask.shape[1] == size


def _end_to_end(parts: list[Any], steps: list[int] | None, name: str) -> Any:
    """Columns of several batches as one, shorter ones padded with zeros: only along time, if batches have these steps."""
    first = parts[0]
    if isinstance(first, list | tuple):
        return _like(first, [one for part in parts for one in part])
    if len({part.ndim for part in parts}) > 1 or len({type(part) for part in parts}) > 1:
        raise ValueError(f"{name} must be alike in all batches, got {', '.join(map(_sort, parts))}")
    axes = list(zip(*(part.shape[1:] for part in parts), strict=True))
    if any(len(set(sizes)) > 1 and list(sizes) != steps for sizes in axes):
        one, other = list(dict.fromkeys(tuple(part.shape[1:]) for part in parts))[:2]
        raise ValueError(f"{name} must have rows of one shape but for their steps, got {one} and {other}")
    sizes = list(map(max, axes))
    if isinstance(first, Tensor):
        return torch.cat([_padded(part, sizes) for part in parts])
    return np.concatenate(
        [
            np.pad(part, [(0, 0), *((0, n - m) for n, m in zip(sizes, part.shape[1:], strict=True))])
            for part in parts
        ]
    )


def _padded(part: Tensor, sizes: list[int]) -> Tensor:
    made = part.new_zeros(len(part), *sizes)
    made[tuple(slice(size) for size in part.shape)] = part
    return made


def _sort(part: Any) -> str:
    return f"{type(part).__name__} of {part.ndim} axes"


def _as_before(before: Any, inputs: Tensor) -> Any:
    return inputs.numpy() if isinstance(before, np.ndarray) else inputs


def _is_flat(part: Any) -> bool:
    """Whether this has one axis; asked of a list without making an array of it, which fails if rows differ in length."""
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


class FirstBatches:
    """The first batches, up to a number of trajectories: what is read of a loader that may never end.

    Example:
        >>> import itertools
        >>> first = FirstBatches(itertools.repeat(torch.zeros(4, 5, 1)), 10)
        >>> len(list(first)), first.cut
        (3, True)
    """

    def __init__(self, batches: Iterable[Any], most: int) -> None:
        self.batches = batches
        self.most = most
        self.cut = False
        """Whether there were more."""

    def __iter__(self) -> Iterator[Any]:
        seen = 0
        for batch in self.batches:
            if seen >= self.most:
                self.cut = True
                return
            yield batch
            seen += _rows_of(batch)


def bounded(batches: Iterable[Any], most: int) -> Iterable[Any]:
    """The batches, if they tell how many they are; else the first of them, up to a number of trajectories.

    Example:
        >>> import itertools
        >>> bounded([1, 2], 10), type(bounded(itertools.count(), 10)).__name__
        ([1, 2], 'FirstBatches')
    """
    try:
        len(batches)  # type: ignore[arg-type]
    except (TypeError, NotImplementedError):
        return FirstBatches(batches, most)
    return batches


def _rows_of(batch: Any) -> int:
    """How many trajectories a batch has, as far as that shows; what is no batch is told of by who reads it."""
    parts = (
        batch.values()
        if isinstance(batch, Mapping)
        else batch
        if isinstance(batch, tuple | list)
        else [batch]
    )
    counts = [len(part) for part in parts if isinstance(part, Tensor | np.ndarray) and part.ndim]
    return max(counts, default=1)


class DrawnBatches:
    """Batches whose rows are drawn by weights, with replacement and anew in each pass; form and sizes are those given.

    The seed repeats all passes of an object: two objects with one seed give the same batches.

    Example:
        >>> x, y = torch.zeros(4, 5, 1), torch.tensor([0.0, 0.0, 0.0, 1.0])
        >>> drawn = DrawnBatches([(x[:2], y[:2]), (x[2:], y[2:])], BatchForm(), [0, 0, 0, 1], seed=0)
        >>> [y for _, y in drawn], len(drawn)
        ([tensor([1., 1.]), tensor([1., 1.])], 2)
    """

    def __init__(
        self,
        batches: Iterable[Any],
        form: BatchForm,
        weights: Iterable[float] | Tensor,
        *,
        seed: int,
        argument: str = "batches",
    ) -> None:
        whole = list(batches)
        self.form = form
        self.sizes = [len(form.parts(batch, argument)) for batch in whole]
        self.whole = form.stacked(whole, argument)
        self.shares = _shares(weights, sum(self.sizes))
        self.numbers = generator(seed, "strangers/drawn rows")

    def __iter__(self) -> Iterator[Any]:
        for size in self.sizes:
            rows = self.numbers.choice(len(self.shares), size, p=self.shares)
            yield self.form.rows(self.whole, torch.from_numpy(rows))

    def __len__(self) -> int:
        return len(self.sizes)


def _shares(weights: Iterable[float] | Tensor, count: int) -> npt.NDArray[np.float64]:
    """The weights, which add up to one."""
    found = as_tensor("weights", weights if isinstance(weights, Tensor | np.ndarray) else list(weights))
    values = np.asarray(found.cpu() if found is not None else [])
    if values.shape != (count,):
        raise ValueError(
            f"weights must have shape (N,) = ({count},), a weight for each trajectory, got {values.shape}"
        )
    values = values.astype(np.float64)
    require("weights", values, "be 0 or more")
    if not values.sum() > 0:
        raise ValueError("weights must have one that is positive, got none")
    shares: npt.NDArray[np.float64] = values / values.sum()
    return shares


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
            f"train_batches must hold {2 * HELD_OUT} trajectories or more, of which a fifth is held out if "
            f"validation is not given, got {total}"
        )
    kept, held = [], []
    for batch, (stays, out) in zip(whole, _held_out(sizes, seed), strict=True):
        held += [form.rows(batch, out)] if len(out) else []
        kept += [form.rows(batch, stays)] if len(stays) else []
    return kept, held


def split_numbers(sizes: Sequence[int], seed: int) -> tuple[Tensor, Tensor]:
    """Numbers of the trajectories that `split_batches` leaves to train on and holds out, of batches of these sizes.

    Example:
        >>> kept, held = split_numbers([10, 10], seed=0)
        >>> len(kept), len(held)
        (16, 4)
    """
    kept, held, first = [], [], 0
    for size, (stays, out) in zip(sizes, _held_out(sizes, seed), strict=True):
        kept.append(first + stays)
        held.append(first + out)
        first += size
    return torch.cat(kept), torch.cat(held)


def _held_out(sizes: Sequence[int], seed: int) -> list[tuple[Tensor, Tensor]]:
    """The rows of each batch that stay, and those that are held out."""
    numbers = generator(seed, "repair/held out")
    found, seen = [], 0
    for size in sizes:
        share = (seen + size) // HELD_OUT - seen // HELD_OUT
        seen += size
        order = torch.from_numpy(numbers.permutation(size))
        found.append((order[share:].sort().values, order[:share].sort().values))
    return found


def _require_finite_batch(batch: Batch, number: int) -> None:
    """Raise a ValueError if inputs, at valid steps, or targets are not finite, with the index that they have in their batch."""
    if batch.channels_first is None and batch.mask is not None:
        batch = replace(batch, channels_first=batch.mask.shape[1] != batch.inputs.shape[1])
    sized = replace(batch, sizes=(*(0 for _ in range(number)), len(batch), 0))
    flags = None if batch.mask is None else as_flags("mask", batch.mask, batch.signals)
    require_signals("inputs of train_batches", batch.signals, flags, place=sized.place)
    if batch.targets is not None:
        require_finite("targets of train_batches", batch.targets, place=sized.place)
