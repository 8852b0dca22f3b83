"""What a layer inside a model is given and gives back, and how a model is called with a batch."""

import contextlib
import difflib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from crest.strangers.lengths import lengths_of

_LENGTHS = re.compile(r"(?!max|min|total)(.*_)?(seq)?(len|lens|length|lengths)")
"""Names under which models take how many steps of each trajectory are valid."""


class LayerCall(NamedTuple):
    """One call of a layer; its tensors are copies."""

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
        copied = tuple(part.clone() if isinstance(part, Tensor) else part for part in inputs)
        seen.append(LayerCall(copied, named, output.clone() if isinstance(output, Tensor) else output))

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
    names = [name for name, _ in model.named_modules(remove_duplicate=False) if name]
    if path not in names:
        near = difflib.get_close_matches(str(path), names, n=5, cutoff=0.4) or names[:20]
        listed = ", ".join(near) or "it has none"
        raise ValueError(f"{argument} must name a module inside the model, such as {listed}; got {path!r}")
    return model.get_submodule(path)


def device_of(model: nn.Module) -> torch.device | None:
    """The device of a model's weights or buffers; None where it has neither.

    Example:
        >>> device_of(nn.Linear(2, 1)), device_of(nn.ReLU())
        (device(type='cpu'), None)
    """
    return next((tensor.device for tensor in [*model.parameters(), *model.buffers()]), None)


def argument_names(model: Callable[..., Any]) -> list[str]:
    """The names of what a model takes, in their order; none where Python cannot tell.

    Example:
        >>> argument_names(lambda x, mask=None: x)
        ['x', 'mask']
    """
    return list(_arguments(model))


def takes_mask_by_name(model: Callable[..., Any]) -> bool:
    """Whether the model has an argument `mask`; else a mask is its second argument.

    Example:
        >>> takes_mask_by_name(nn.Linear(2, 1))
        False
    """
    return "mask" in _arguments(model)


def needs_mask(model: Callable[..., Any]) -> bool:
    """Whether the model has an argument `mask` that must be given.

    Example:
        >>> needs_mask(lambda x, mask: x), needs_mask(lambda x, mask=None: x), needs_mask(nn.Linear(2, 1))
        (True, False, False)
    """
    return _arguments(model).get("mask", False)


def length_argument(model: Callable[..., Any]) -> str | None:
    """The name of the argument by which a model takes lengths (B,) in the place of a mask; None where it takes none.

    Example:
        >>> length_argument(lambda x, lengths: x), length_argument(lambda x, mask, lengths: x), length_argument(nn.ReLU())
        ('lengths', None, None)
    """
    names = list(_arguments(model))
    return None if "mask" in names else next((name for name in names[1:] if _LENGTHS.fullmatch(name)), None)


def names_mask(argument: str | None) -> bool:
    """Whether an argument of this name is a mask, of valid or of padded steps.

    Example:
        >>> names_mask("attention_mask"), names_mask("valid"), names_mask("labels"), names_mask(None)
        (True, True, False, False)
    """
    return argument is not None and any(part in argument for part in ("mask", "valid", "pad"))


def step_argument(model: Callable[..., Any]) -> str | None:
    """The name of the argument by which a model takes a mask, or lengths; None where Python cannot tell.

    Example:
        >>> step_argument(lambda x, valid: x), step_argument(lambda x, scale, mask: x), step_argument(nn.ReLU())
        ('valid', 'mask', None)
    """
    names = list(_arguments(model))
    if "mask" in names:
        return "mask"
    return length_argument(model) or (names[1] if len(names) > 1 else None)


def require_valid_steps(argument: str | None) -> None:
    """Raise a ValueError if the argument that takes the mask is named after padding: it would be read the other way round.

    Example:
        >>> require_valid_steps("valid")
    """
    if argument is not None and _LENGTHS.fullmatch(argument) is None and "pad" in argument:
        raise ValueError(
            f"mask is True where a step is valid, and the model's second argument is {argument!r}: wrap the model, such as "
            f"lambda x, mask: model(x, ~mask)"
        )


def called_with(model: Callable[..., Any], inputs: Any, mask: Any = None) -> Any:
    """What a module or function returns for inputs and, where there is one, their mask: by its name, else as the second.

    A mask is True on valid steps. A model that takes lengths is given those. A second argument that is named after padding
    would read the mask the other way round, and is refused.

    Example:
        >>> called_with(lambda x, valid: (x * valid).sum(1), torch.ones(1, 3), torch.tensor([[True, True, False]]))
        tensor([2.])
        >>> called_with(lambda x, lengths: lengths, torch.ones(1, 3), torch.tensor([[True, True, False]]))
        tensor([2])
    """
    if mask is None:
        return model(inputs)
    require_valid_steps(step_argument(model))
    by_length = length_argument(model)
    try:
        if takes_mask_by_name(model):
            return model(inputs, mask=mask)
        return model(inputs, mask) if by_length is None else model(inputs, **{by_length: lengths_of(mask)})
    except RuntimeError as error:
        if "enforce_sorted" not in str(error):
            raise
        raise ValueError(
            "model must take trajectories in any order of their lengths: give enforce_sorted=False to its "
            "pack_padded_sequence"
        ) from error


def answer_to(model: nn.Module, inputs: Any, mask: Any = None) -> Any:
    """What the model answers to inputs and, where there is one, their mask (B, T), on its device and in its precision.

    Example:
        >>> answer_to(nn.Linear(4, 1), torch.zeros(2, 3, 4, dtype=torch.float64)).dtype
        torch.float32
    """
    device = device_of(model)
    if device is not None:
        inputs, mask = (part.to(device) if isinstance(part, Tensor) else part for part in (inputs, mask))
    weights = [*model.parameters(), *model.buffers()]
    precision = next((one.dtype for one in weights if one.is_floating_point()), None)
    if precision is not None and isinstance(inputs, Tensor) and inputs.is_floating_point():
        inputs = inputs.to(precision)
    return called_with(model, inputs, mask)


def _arguments(model: Callable[..., Any]) -> dict[str, bool]:
    """The names of what it takes, and whether it needs them; none where Python cannot tell."""
    try:
        found = inspect.signature(model.forward if isinstance(model, nn.Module) else model).parameters
    except (TypeError, ValueError):
        return {}
    any_number = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: one.default is one.empty for name, one in found.items() if one.kind not in any_number}
