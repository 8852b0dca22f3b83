"""Somebody's model as a function of inputs and a mask."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


def asker(model: Callable[..., Any], answer: Callable[[Any], Tensor] | None) -> Callable[..., Tensor]:
    """The model as a function of inputs, and of a mask where there is one, to a tensor.

    Args:
        model: a module, which gets the mask by the name `mask` if its `forward` has that, else as the second argument; or
            any function.
        answer: from what the model returns to predictions (B,), (B, 1) or (B, K), where it does not return those.
    """
    forward = model.forward if isinstance(model, nn.Module) else model
    try:
        names = list(inspect.signature(forward).parameters)
    except (TypeError, ValueError):
        names = []
    by_name = "mask" in names
    padding = not by_name and len(names) > 1 and "pad" in names[1]

    def ask(inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is not None and padding:
            raise ValueError(
                f"mask is True where a step is valid, and the model's second argument is {names[1]!r}: wrap the model, such as "
                f"lambda x, mask: model(x, ~mask)"
            )
        given = () if mask is None or by_name else (mask,)
        named = {"mask": mask} if mask is not None and by_name else {}
        found = model(inputs, *given, **named)
        found = found if answer is None else answer(found)
        if isinstance(found, np.ndarray):
            found = torch.from_numpy(found)
        if not isinstance(found, Tensor):
            raise ValueError(
                f"model must return a tensor, got {type(found).__name__}: pass answer=, such as answer=lambda out: out[0]"
            )
        return found

    return ask
