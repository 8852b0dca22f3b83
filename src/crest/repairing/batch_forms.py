"""Batches as people have them: read, changed and held out, in the form in which they came."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from crest.checks.tensors import as_flags, as_per_trajectory, require_finite, require_series
from crest.rng import generator

# our choice: docs/choices.md#repair
HELD_OUT = 5


class BatchParts(NamedTuple):
    """What a batch holds."""

    inputs: Tensor
    """(B, T, C), or (B, C, T)."""
    targets: Tensor
    """(B,) or (B, 1)."""
    mask: Tensor | None
    """(B, T), True on valid steps."""


class JoinedBatches(NamedTuple):
    """All trajectories of some batches, on the CPU."""

    inputs: Tensor
    """(N, T, C)."""
    targets: Tensor
    """(N,)."""
    mask: Tensor | None
    """(N, T)."""


def as_batches(given: Any) -> Any:
    """Batches as they are; a tuple that begins with a tensor is one batch, as `crest.audit` takes it.

    Example:
        >>> len(as_batches((torch.zeros(2, 5, 1), torch.ones(2))))
        1
    """
    return [given] if isinstance(given, tuple) and given and isinstance(given[0], Tensor) else given


@dataclass(frozen=True)
class BatchForm:
    """Where a batch has its inputs, targets and mask: first, second and third of a tuple or list, or keys of a dict.

    Example:
        >>> BatchForm().parts((torch.zeros(2, 5, 1), torch.ones(2)), "batches").targets
        tensor([1., 1.])
    """

    keys: tuple[str, str, str] = ("x", "y", "mask")
    """Of inputs, targets and mask, for dicts; the mask may be missing."""

    def parts(self, batch: Any, argument: str) -> BatchParts:
        """The parts of a batch; a ValueError that names the argument where there are none."""
        if isinstance(batch, Mapping):
            missing = [key for key in self.keys[:2] if key not in batch]
            if missing:
                raise ValueError(
                    f"keys must name inputs, targets and mask in the dicts of {argument}, which have "
                    f"{', '.join(map(str, batch))}; got {missing[0]!r}"
                )
            found = [batch[self.keys[0]], batch[self.keys[1]], batch.get(self.keys[2])]
        elif isinstance(batch, tuple | list) and len(batch) in (2, 3):
            found = [*batch, None][:3]
        else:
            got = f"{len(batch)} parts" if isinstance(batch, tuple | list) else type(batch).__name__
            raise ValueError(
                f"{argument} must hold (inputs, targets), (inputs, targets, mask) or dicts, got {got}"
            )
        for name, part in zip(("inputs", "targets"), found, strict=False):
            if not isinstance(part, Tensor) or part.ndim == 0:
                raise ValueError(f"{argument} must hold {name} as tensors, got {type(part).__name__}")
        if len(found[0]) != len(found[1]):
            raise ValueError(
                f"{argument} must hold a target for each trajectory, got {len(found[1])} for {len(found[0])}"
            )
        return BatchParts(*found)

    def with_inputs(self, batch: Any, inputs: Tensor) -> Any:
        """The same batch with other inputs."""
        if isinstance(batch, Mapping):
            return {**batch, self.keys[0]: inputs}
        return _like(batch, [inputs, *batch[1:]])

    def rows(self, batch: Any, rows: Tensor) -> Any:
        """Some rows of a batch: of every tensor in it that has as many rows as its inputs."""
        count = len(batch[self.keys[0]] if isinstance(batch, Mapping) else batch[0])

        def taken(part: Any) -> Any:
            fits = isinstance(part, Tensor) and part.ndim > 0 and len(part) == count
            return part[rows.to(part.device)] if fits else part

        if isinstance(batch, Mapping):
            return {key: taken(part) for key, part in batch.items()}
        return _like(batch, [taken(part) for part in batch])

    def joined(self, batches: Iterable[Any], argument: str, channels_first: bool) -> JoinedBatches:
        """All trajectories, channels last. Shorter batches are padded where they have masks.

        Example:
            >>> batches = [(torch.zeros(2, 1, 5), torch.zeros(2)), (torch.zeros(3, 1, 5), torch.ones(3))]
            >>> BatchForm().joined(batches, "validation", channels_first=True).inputs.shape
            torch.Size([5, 5, 1])
        """
        all_parts = [self.parts(batch, argument) for batch in batches]
        if sum(len(parts.inputs) for parts in all_parts) < 2:
            got = sum(len(parts.inputs) for parts in all_parts)
            raise ValueError(f"{argument} must hold two trajectories or more, got {got}")
        masked = {parts.mask is not None for parts in all_parts}
        if len(masked) > 1:
            raise ValueError(f"{argument} must hold a mask in every batch or in none")
        inputs, targets, masks = [], [], []
        for parts in all_parts:
            require_series(
                f"inputs of {argument}", parts.inputs, "(B, C, T)" if channels_first else "(B, T, C)"
            )
            signals = parts.inputs.detach().cpu()
            signals = signals.transpose(1, 2) if channels_first else signals
            inputs.append(signals)
            targets.append(
                as_per_trajectory(
                    f"targets of {argument} must be", parts.targets.detach().cpu(), len(signals)
                )
            )
            if parts.mask is not None:
                masks.append(as_flags("mask", parts.mask.detach().cpu(), signals))
        steps = sorted({signals.shape[1] for signals in inputs})
        if len(steps) > 1 and not masks:
            raise ValueError(
                f"{argument} must hold windows of one length, or masks, got {steps[0]} to {steps[-1]} steps"
            )
        padded = [torch.nn.functional.pad(one, (0, 0, 0, steps[-1] - one.shape[1])) for one in inputs]
        masks = [torch.nn.functional.pad(one, (0, steps[-1] - one.shape[1])) for one in masks]
        joined = JoinedBatches(torch.cat(padded), torch.cat(targets), torch.cat(masks) if masks else None)
        require_finite(f"inputs of {argument}", joined.inputs, joined.mask)
        require_finite(f"targets of {argument}", joined.targets)
        return joined


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
    elif iter(batches) is batches:
        got = "an iterator"
    else:
        return
    raise ValueError(f"{argument} must be a list or a DataLoader, which can be read many times, got {got}")


def held_out(batches: Iterable[Any], form: BatchForm, seed: int) -> tuple[list[Any], list[Any]]:
    """Two lists of batches: to train on, and a fifth of the trajectories, drawn by the seed, to measure on.

    Every batch gives its share, so that the batches to train on are of nearly the same size as before.

    Example:
        >>> x, y = torch.zeros(20, 5, 1), torch.arange(20.0)
        >>> kept, held = held_out([(x[:10], y[:10]), (x[10:], y[10:])], BatchForm(), seed=0)
        >>> [len(y) for _, y in kept], [len(y) for _, y in held]
        ([8, 8], [2, 2])
    """
    numbers = generator(seed, "repair/held out")
    whole = list(batches)
    sizes = [len(form.parts(batch, "train_batches").inputs) for batch in whole]
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
