"""What a layer inside a model is given and gives back, and how a model is called with a batch."""

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


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


def device_of(model: nn.Module) -> torch.device | None:
    """The device of a model's weights or buffers; None where it has neither.

    Example:
        >>> device_of(nn.Linear(2, 1)), device_of(nn.ReLU())
        (device(type='cpu'), None)
    """
    return next((tensor.device for tensor in [*model.parameters(), *model.buffers()]), None)


def takes_mask_by_name(model: nn.Module) -> bool:
    """Whether the model's `forward` has an argument `mask`; else a mask is its second argument.

    Example:
        >>> takes_mask_by_name(nn.Linear(2, 1))
        False
    """
    return "mask" in inspect.signature(model.forward).parameters


def answer_to(model: nn.Module, inputs: Any, mask: Any = None) -> Any:
    """What the model answers to inputs and, where there is one, their mask (B, T), brought to its device.

    Example:
        >>> answer_to(nn.Flatten(), torch.zeros(2, 3, 4)).shape
        torch.Size([2, 12])
    """
    device = device_of(model)
    inputs, mask = (
        part.to(device) if isinstance(part, Tensor) and device is not None else part
        for part in (inputs, mask)
    )
    if mask is None:
        return model(inputs)
    return model(inputs, mask=mask) if takes_mask_by_name(model) else model(inputs, mask)
