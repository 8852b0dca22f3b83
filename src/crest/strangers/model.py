"""The user's model, called in one way: on its device, in its precision, with a mask or lengths as it takes them."""

import contextlib
import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from crest._base.tensors import require_finite
from crest.probes.asking import quietly, require_predictions, require_repeatable
from crest.probes.axes import warn_of_axes
from crest.probes.batches import BATCH, batches_of, in_batches
from crest.probes.foreign import names_of
from crest.probes.outputs import ChosenOutput
from crest.probes.tables import table_note
from crest.strangers.batch import Batch
from crest.strangers.failures import CALL_ERRORS, why_it_failed
from crest.strangers.lengths import lengths_of
from crest.strangers.series import copy_of
from crest.strangers.signature import (
    length_argument,
    mask_keyword,
    needed_lengths,
    require_valid_steps,
    step_argument,
)


@dataclass(frozen=True)
class StrangerModel:
    """A model as a function of signals (B, T, C) and a mask (B, T), to predictions (B,), (B, 1) or (B, K).

    Example:
        >>> stranger = StrangerModel(nn.Conv1d(2, 1, 5).double(), channels_first=True, answer=lambda out: out.mean(2))
        >>> stranger(torch.zeros(4, 50, 2)).shape
        torch.Size([4, 1])
    """

    model: nn.Module | Callable[..., Any]
    """A module, or any function."""
    channels_first: bool = False
    """Whether it takes (B, C, T)."""
    answer: Callable[[Any], Any] | None = None
    """From what it returns to predictions, if it does not return those."""
    size: int = BATCH
    """How many trajectories it is asked about at once."""
    flat: bool = False
    """Whether it takes signals of one channel as (B, T)."""
    _crest_called: ClassVar[str] = "model"
    """What messages of the exchange test call it. It reads that off the class: a user's function may have any attribute."""

    @property
    def module(self) -> nn.Module | None:
        """The model, if it is a module that can be looked into."""
        return self.model if isinstance(self.model, nn.Module) else None

    def __call__(self, signals: Tensor, mask: Tensor | None = None) -> Tensor:
        """The predictions for signals (B, T, C)."""
        found = self.raw(signals.mT if self.channels_first else signals, mask)
        chosen = self.answer if isinstance(self.answer, ChosenOutput) else ChosenOutput(answer=self.answer)
        found = chosen(found)
        if not isinstance(found, Tensor):
            if isinstance(found, list) and len(found) == len(signals):
                raise ValueError(
                    "model must return a tensor or an array, got a list: return np.asarray(predictions)"
                )
            own = "" if chosen is self.answer else ", or answer=, such as answer=lambda out: out[0]"
            raise ValueError(
                f"model must return a tensor, got {names_of(found)}: pass output=, such as {_such_as(found)}{own}"
            )
        require_predictions(
            found, len(signals), "model", ": pass answer=, or a model that returns it" * (self.answer is None)
        )
        return found

    def raw(self, inputs: Any, mask: Any = None) -> Any:
        """What the model returns for inputs as it takes them; a mask goes by the name `mask`, as lengths, else in the second place.

        A mask is True on valid steps. An argument that is named after padding would read it the other way round, and is refused.

        Example:
            >>> StrangerModel(lambda x, lengths: lengths).raw(torch.ones(1, 3), torch.tensor([[True, True, False]]))
            tensor([2])
        """
        device, precision = place_of(self.model)
        inputs = inputs[..., 0] if self.flat and isinstance(inputs, Tensor) and inputs.ndim == 3 else inputs
        # Copies: a model that works in place would change what it is asked about next, and what the user has.
        inputs, mask = (part.clone() if isinstance(part, Tensor) else part for part in (inputs, mask))
        if device is not None:
            inputs, mask = (part.to(device) if isinstance(part, Tensor) else part for part in (inputs, mask))
        if precision is not None and isinstance(inputs, Tensor) and inputs.is_floating_point():
            inputs = inputs.to(precision)
        if mask is None:
            return self.model(inputs)
        require_valid_steps(step_argument(self.model))
        by_length = length_argument(self.model)
        by_name = mask_keyword(self.model)
        try:
            beside = needed_lengths(self.model)
            named = {} if beside is None else {beside: lengths_of(mask)}
            if by_name is not None:
                return self.model(inputs, **{by_name: mask}, **named)
            return (
                self.model(inputs, mask, **named)
                if by_length is None
                else self.model(inputs, **{by_length: lengths_of(mask)})
            )
        except RuntimeError as error:
            if "enforce_sorted" not in str(error):
                raise
            raise ValueError(
                "model must take trajectories in any order of their lengths: give enforce_sorted=False to its "
                "pack_padded_sequence"
            ) from error

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Evaluation mode without gradients inside the block; model and global states are afterwards as before."""
        with quietly(self.model, "model"):
            yield

    def beside(self, batch: Batch) -> Batch:
        """The batch where the model is, in its precision, if it is fit to be asked about; else a ValueError."""
        device, precision = place_of(self.model)
        if device is not None:
            batch = batch.to(device, precision or batch.inputs.dtype)
        batch = batch.with_axes(self.channels_first).checked()
        empty = (~batch.valid.any(1)).nonzero()
        if len(empty):
            raise ValueError(
                f"mask must leave a valid step in each trajectory, got none in trajectory {int(empty[0])}"
            )
        return batch

    def predictions(self, batch: Batch) -> Tensor:
        """Its predictions (N,), (N, 1) or (N, K) for a batch from `beside`; finite, and the same for the same inputs."""
        parts = (batch.signals,) if batch.mask is None else (batch.signals, batch.mask)
        batches = batches_of(*parts, size=self.size)
        try:
            found = in_batches(self, batches)
        except CALL_ERRORS as error:
            shape = tuple(batch.inputs[: self.size].shape)[: 2 if self.flat else 3]
            masked = batch.mask is not None
            letters = None if self.flat else self.channels_first
            raise ValueError(why_it_failed(error, shape, masked=masked, channels_first=letters)) from error
        require_finite("the model's predictions", found)
        classes = found.shape[1] if found.ndim == 2 else 1
        targets = batch.targets
        if targets is not None and targets.ndim == 2 and classes != targets.shape[1]:
            raise ValueError(
                f"targets must have a column for each of the {classes} outputs of the model, got {targets.shape[1]} columns"
            )
        if (
            targets is not None
            and targets.ndim == 1
            and classes > 1
            and (targets.min() < 0 or targets.max() >= classes)
        ):
            raise ValueError(
                f"targets must be classes from 0 to {classes - 1}, as many as the predictions have, got "
                f"{targets.min():g} to {targets.max():g}"
            )
        require_repeatable(self, parts, self.size, "model")
        return found


def _such_as(found: object) -> str:
    """An output that a model may have meant."""
    return f"output={next(iter(found))!r}" if isinstance(found, Mapping) and found else "output=0"


def place_of(model: object) -> tuple[torch.device | None, torch.dtype | None]:
    """The device and the precision of a module's weights or buffers; None if it has none.

    Example:
        >>> place_of(nn.Linear(2, 1)), place_of(nn.ReLU())
        ((device(type='cpu'), torch.float32), (None, None))
    """
    tensors = [*model.parameters(), *model.buffers()] if isinstance(model, nn.Module) else []
    precision = next((tensor.dtype for tensor in tensors if tensor.is_floating_point()), None)
    return (tensors[0].device if tensors else None), precision


class LayerCall(NamedTuple):
    """One call of a layer. Its tensors are copies, made when the call ends: a layer that works in place has changed its inputs by then."""

    inputs: tuple[Any, ...]
    """Arguments by place."""
    named: dict[str, Any]
    """Arguments by name."""
    output: Any
    """What came back."""


@contextlib.contextmanager
def calls_of(layer: nn.Module) -> Iterator[list[LayerCall]]:
    """The calls of a layer inside the block.

    Example:
        >>> layer = nn.Flatten()
        >>> with calls_of(layer) as seen:
        ...     _ = layer(torch.zeros(2, 3, 4))
        >>> seen[0].output.shape
        torch.Size([2, 12])
    """
    seen: list[LayerCall] = []

    def keep(_: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
        # Copies: a layer that works in place would change what is compared later.
        by_name = {name: copy_of(part) for name, part in named.items()}
        seen.append(LayerCall(copy_of(inputs), by_name, copy_of(output)))

    handle = layer.register_forward_hook(keep, with_kwargs=True)
    try:
        yield seen
    finally:
        handle.remove()


def part_at(model: nn.Module, argument: str, path: str) -> nn.Module:
    """The module at this path; if there is none, a ValueError with the names that are nearest to it.

    Args:
        model: any module.
        argument: name of the argument that holds the path, for the message.
        path: dotted name, as `model.named_modules()` lists it.

    Example:
        >>> part_at(nn.Sequential(nn.Linear(2, 1)), "head", "0")
        Linear(in_features=2, out_features=1, bias=True)
    """
    if isinstance(model, torch.jit.ScriptModule):
        raise ValueError(
            f"{argument} needs a model that can be looked into, got a scripted one: give the module from before torch.jit.script"
        )
    names = [name for name, _ in model.named_modules(remove_duplicate=False) if name]
    if path not in names:
        near = difflib.get_close_matches(str(path), names, n=5, cutoff=0.4) or names[:20]
        listed = ", ".join(near) or "it has none"
        raise ValueError(f"{argument} must name a module inside the model, such as {listed}; got {path!r}")
    return model.get_submodule(path)


def find_channels_first(model: nn.Module, batch: Batch) -> bool | None:
    """Whether the model takes (B, C, T), by how many channels its first layer takes; None if that does not tell.

    Example:
        >>> find_channels_first(nn.Conv1d(2, 8, 5), Batch(torch.randn(4, 2, 50)))
        True
        >>> find_channels_first(nn.LSTM(2, 8), Batch(torch.randn(4, 50, 2)))
        False
    """
    first: list[int] = []
    stranger = StrangerModel(model)
    with stranger.quiet(), contextlib.ExitStack() as hooks:
        for part in model.modules():
            channels = _channels_of(part)
            if channels is not None:
                handle = part.register_forward_pre_hook(lambda *_, channels=channels: first.append(channels))
                hooks.callback(handle.remove)
        try:
            stranger.raw(batch.inputs, batch.mask)
        except (*CALL_ERRORS, ValueError):
            # A mask whose steps are a guess may fail behind the first layer, which has told by then.
            if batch.lengths is None or not first:
                raise
    fits = [axis for axis in (1, 2) if first and batch.inputs.shape[axis] == first[0]]
    return fits == [1] if len(fits) == 1 else None


def settled_axes(
    model: nn.Module | Callable[..., Any],
    batch: Batch,
    said: bool | None,
    *,
    notes: list[str],
) -> bool:
    """Whether the model takes (B, C, T): as the user says, else by its first layer; time is the longer axis if that does not tell.

    Args:
        model: in any mode.
        batch: some trajectories.
        said: what the user says; a warning tells if that looks wrong.
        notes: what was assumed is added to these.
    """
    if batch.flat:
        notes.append(table_note(tuple(batch.inputs.shape[:2])))
        return False
    found = None
    if isinstance(model, nn.Module):
        # A model that fails on a plain call is told of later, with its own words.
        with contextlib.suppress(Exception):
            found = find_channels_first(model, batch.first(2))
    first, second = batch.inputs.shape[1:]
    if said is not None:
        warn_of_axes(said, tuple(batch.inputs.shape), found)
        return said
    if found is not None:
        channels = first if found else second
        why, settled = f"the first layer expects {channels} channel{'s' * (channels > 1)}", found
    else:
        why, settled = "time is taken as the longer axis", first < second
    notes.append(f"inputs read as {'(B, C, T)' if settled else '(B, T, C)'}, because {why}")
    return settled


def _channels_of(part: nn.Module) -> int | None:
    """How many channels a layer takes, if its class tells."""
    if isinstance(part, nn.Conv1d):
        return part.in_channels
    if isinstance(part, nn.BatchNorm1d | nn.InstanceNorm1d):
        return part.num_features
    if isinstance(part, nn.Linear):
        return part.in_features
    return part.input_size if isinstance(part, nn.RNNBase) else None
