"""Somebody's model as a function of inputs and a mask."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from crest.strangers.calls import called_with


def asker(model: Callable[..., Any], answer: Callable[[Any], Tensor] | None) -> Callable[..., Tensor]:
    """The model as a function of inputs, and of a mask where there is one, to a tensor.

    Args:
        model: a module, which gets the mask by the name `mask` if its `forward` has that, as lengths if it takes those, else
            as the second argument; or any function.
        answer: from what the model returns to predictions (B,), (B, 1) or (B, K), where it does not return those.
    """

    def ask(inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        found = called_with(model, inputs, mask)
        found = found if answer is None else answer(found)
        if isinstance(found, np.ndarray):
            found = torch.from_numpy(found)
        if not isinstance(found, Tensor):
            raise ValueError(
                f"model must return a tensor, got {type(found).__name__}: pass answer=, such as answer=lambda out: out[0], or "
                "a model that returns it"
            )
        return found

    return ask
