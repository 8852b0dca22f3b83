"""What people bring: arrays, or batches of tensors, pairs or dicts, in one form."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import BatchSampler, SequentialSampler

from crest.checks.arguments import require

_NAMES: dict[str, tuple[str, ...]] = {
    "inputs": ("inputs", "x", "signals", "signal"),
    "targets": ("targets", "y", "labels", "target", "label"),
    "mask": ("mask", "valid"),
}
"""Keys of a dict that are understood."""


class Given(NamedTuple):
    """Some trajectories, as the model takes them."""

    inputs: Tensor
    """(N, T, C), or (N, C, T) where the model is channels first."""
    targets: Tensor | None
    """(N,)."""
    mask: Tensor | None
    """(N, T), True where a step is valid."""


def gathered(batches: Any, most: int) -> Given:
    """The first trajectories of what was brought, at most `most`; batches after them are not read.

    Args:
        batches: a tensor or an array of all inputs; a tuple of inputs, targets and maybe a mask; or an iterable of
            such batches, or of dicts with the keys "x", "y" and "mask" or other usual names.
        most: how many trajectories are kept.

    Example:
        >>> given = gathered([(torch.zeros(4, 9, 1), torch.zeros(4)), (torch.zeros(4, 9, 1), torch.zeros(4))], 6)
        >>> given.inputs.shape, given.targets.shape, given.mask is None
        (torch.Size([6, 9, 1]), torch.Size([6]), True)
    """
    require("most", most, "be a whole number, 2 or more")
    found: list[Given] = []
    count = 0
    for batch in _batches(batches):
        part = _one(batch)
        if found and [piece is None for piece in part] != [piece is None for piece in found[0]]:
            raise ValueError(
                "batches must all hold the same parts: some have targets or a mask, some have none"
            )
        if found and part.inputs.shape[1:] != found[0].inputs.shape[1:]:
            raise ValueError(
                f"batches must have inputs of one shape beside the first axis, got {tuple(found[0].inputs.shape[1:])} and "
                f"{tuple(part.inputs.shape[1:])}: pad them and give a mask"
            )
        found.append(part)
        count += len(part.inputs)
        if count >= most:
            break
    if not count:
        raise ValueError("batches must hold at least one trajectory, got none")
    parts = zip(*found, strict=True)
    return Given(*(None if some[0] is None else torch.cat(some)[:most] for some in parts))  # type: ignore[arg-type]


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


def _batches(batches: Any) -> Iterator[Any]:
    # A tuple is one set of trajectories: a loader gives lists, or tuples one after the other.
    if isinstance(batches, Tensor | np.ndarray | tuple | Mapping):
        return iter([batches])
    if not isinstance(batches, Iterable) or isinstance(batches, str):
        raise ValueError(
            f"batches must be arrays, a tuple of them, or an iterable of batches, got {type(batches).__name__}"
        )
    return iter(batches)


def _one(batch: Any) -> Given:
    if isinstance(batch, Mapping):
        parts = {part: _under(batch, part, names) for part, names in _NAMES.items()}
    elif isinstance(batch, tuple | list):
        if not 1 <= len(batch) <= len(_NAMES):
            raise ValueError(
                f"batches must hold (inputs, targets) or (inputs, targets, mask), got {len(batch)} parts"
            )
        parts = dict(zip(_NAMES, batch, strict=False))
    else:
        parts = {"inputs": batch}
    inputs = _tensor("inputs", parts.get("inputs"))
    if inputs is None or inputs.ndim != 3 or 0 in inputs.shape[1:]:
        got = "none" if inputs is None else tuple(inputs.shape)
        raise ValueError(
            f"batches must hold inputs of shape (B, T, C) or (B, C, T), got {got}; a whole set of arrays is a tuple "
            "(inputs, targets)"
        )
    if not inputs.is_floating_point():
        raise ValueError(f"inputs must be floating-point numbers, got {inputs.dtype}")
    others = {part: _tensor(part, parts.get(part)) for part in ("targets", "mask")}
    for part, tensor in others.items():
        if tensor is not None and (tensor.ndim == 0 or len(tensor) != len(inputs)):
            raise ValueError(
                f"{part} must have a row for each of {len(inputs)} trajectories, got {tuple(tensor.shape)}"
            )
    return Given(inputs, others["targets"], others["mask"])


def _under(batch: Mapping[str, Any], part: str, names: tuple[str, ...]) -> Any:
    there = [name for name in names if name in batch]
    if len(there) > 1:
        raise ValueError(f"batches must name their {part} once, got the keys {', '.join(there)}")
    if not there and part == "inputs":
        raise ValueError(
            f"batches must name their inputs by one of {', '.join(names)}, got {', '.join(map(str, batch))}"
        )
    return batch[there[0]] if there else None


def _tensor(name: str, value: Any) -> Tensor | None:
    if value is None or isinstance(value, Tensor):
        return None if value is None else value.detach()
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            raise ValueError(f"{name} must be numbers, got an array of objects")
        if value.dtype.kind not in "biufc":
            raise ValueError(f"{name} must be numbers, got an array of {value.dtype}")
        return torch.from_numpy(np.ascontiguousarray(value))
    raise ValueError(f"{name} must be a tensor or an array, got {type(value).__name__}")
