"""A model, and trajectories that it is asked about: in one layout, on one device, with its answers."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from crest._base.arrays import StepMask, valid_steps
from crest._base.tensors import as_mask, as_per_trajectory, require_finite
from crest.probes.batches import batches_of, in_batches
from crest.strangers.asking import asker
from crest.strangers.axes import find_channels_first, warn_of_axes
from crest.strangers.batch_parts import place_in_batches
from crest.strangers.failures import CALL_ERRORS, require_same, why_it_failed
from crest.strangers.given import Given


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """The trajectories, and what the model answers to them."""

    inputs: Tensor
    """As the model takes them."""
    signals: Tensor
    """(N, T, C)."""
    mask: StepMask | None
    """(N, T), where one was given."""
    valid: StepMask
    """(N, T)."""
    targets: Tensor | None
    """(N,)."""
    ask: Callable[..., Tensor]
    """From inputs, and the mask where there is one, to answers."""
    function: Callable[..., Tensor]
    """The same from signals (B, T, C)."""
    answers: Tensor
    """(N,), (N, 1) or (N, K)."""
    batch_size: int
    """How many are asked about at once."""
    channels_first: bool
    """Whether the inputs are (N, C, T)."""


def asked_about(
    model: nn.Module | Callable[..., Any],
    given: Given,
    *,
    channels_first: bool,
    answer: Callable[[Any], Tensor] | None,
    batch_size: int,
) -> Asked:
    """Ask the model about all trajectories, after they were checked; it must answer the same to the same twice.

    Args:
        model: in evaluation mode.
        given: the trajectories.
        channels_first: whether the inputs are (B, C, T).
        answer: as in `crest.audit`.
        batch_size: how many at once.
    """
    given = _beside(model, given)
    signals = given.inputs.transpose(1, 2) if channels_first else given.inputs
    mask = as_mask(given.mask, signals)

    def place(index: list[int]) -> str:
        return place_in_batches(index, given.sizes, channels_first)

    require_finite("inputs", signals, mask, place=place)
    valid = valid_steps(mask, signals[..., 0])
    if not bool(valid.any(1).all()):
        empty = int((~valid.any(1)).nonzero()[0])
        raise ValueError(f"mask must leave a valid step in each trajectory, got none in trajectory {empty}")
    targets = None
    if given.targets is not None:
        targets = as_per_trajectory("targets must be", given.targets, len(signals))
        require_finite("targets", targets, place=place)
    ask = asker(model, answer)

    def function(x: Tensor, *some: Tensor) -> Tensor:
        return ask(x.transpose(1, 2) if channels_first else x, *some)

    parts = (signals,) if mask is None else (signals, mask)
    batches = batches_of(*parts, size=batch_size)
    try:
        answers = in_batches(function, batches)
    except CALL_ERRORS as error:
        shape = tuple(given.inputs[:batch_size].shape)
        raise ValueError(
            why_it_failed(error, shape, masked=mask is not None, channels_first=channels_first)
        ) from error
    if answers.ndim > 2 or len(answers) != len(signals):
        raise ValueError(
            f"model must return (B,), (B, 1) or (B, K), got {tuple(answers.shape)} for {len(signals)} trajectories: "
            "pass answer=, or a model that returns it"
        )
    require_finite("the model's predictions", answers)
    if targets is not None:
        _require_classes(targets, answers)
    require_same(answers, in_batches(function, batches[:1]))
    return Asked(
        inputs=given.inputs,
        signals=signals,
        mask=mask,
        valid=valid,
        targets=targets,
        ask=ask,
        function=function,
        answers=answers,
        batch_size=batch_size,
        channels_first=channels_first,
    )


def settled_axes(
    model: nn.Module | Callable[..., Any], given: Given, channels_first: bool | None, notes: list[str]
) -> bool:
    """Whether the inputs are (N, C, T): as somebody said, else the first layer tells if it can, else the longer axis is time.

    Args:
        model: in evaluation mode.
        given: the trajectories.
        channels_first: what was said; a warning tells where that looks wrong.
        notes: what was assumed is added to these.
    """
    found = None
    if isinstance(model, nn.Module):
        few = _beside(model, given)
        mask = None if few.mask is None else few.mask[:2]
        # A model that fails on a plain call is told of later, with its own words.
        with contextlib.suppress(Exception):
            found = find_channels_first(model, few.inputs[:2], mask)
    if channels_first is not None:
        warn_of_axes(channels_first, tuple(given.inputs.shape), found)
        return channels_first
    why = "time is the longer axis" if found is None else "so many channels the first layer takes"
    first = given.inputs.shape[1] < given.inputs.shape[2] if found is None else found
    notes.append(f"inputs are {'(B, C, T)' if first else '(B, T, C)'}: {why}")
    return first


def _beside(model: Any, given: Given) -> Given:
    """The trajectories where the model is, in its precision."""
    tensors = [*model.parameters(), *model.buffers()] if isinstance(model, nn.Module) else []
    if not tensors:
        return given
    place = tensors[0].device
    dtype = next((tensor.dtype for tensor in tensors if tensor.is_floating_point()), given.inputs.dtype)
    targets, mask = (None if part is None else part.to(place) for part in (given.targets, given.mask))
    return given._replace(inputs=given.inputs.to(place, dtype), targets=targets, mask=mask)


def _require_classes(targets: Tensor, answers: Tensor) -> None:
    """Where answers are logits (N, K), each target is one of the K classes."""
    classes = answers.shape[1] if answers.ndim == 2 else 1
    if classes > 1 and (targets.min() < 0 or targets.max() >= classes):
        raise ValueError(
            f"targets must be classes from 0 to {classes - 1}, as many as the predictions have, got "
            f"{targets.min():g} to {targets.max():g}"
        )
