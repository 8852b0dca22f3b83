"""Models that fail on a batch, or predict something else each time: what to say of them."""

import torch
from torch import Tensor

CALL_ERRORS = (RuntimeError, AttributeError, TypeError, IndexError)
"""What a model raises that is called in another way than it was written for."""
# our choice: docs/choices.md#audit
_SAME = 1e-4


def why_it_failed(
    error: Exception, shape: tuple[int, ...], *, masked: bool, channels_first: bool | None = None
) -> str:
    """The sentence of a ValueError about a model that failed on inputs of this shape.

    Args:
        error: what it raised.
        shape: of the inputs.
        masked: whether a mask, or lengths, came with them.
        channels_first: whether they were taken for (B, C, T); None where nobody has said.

    Example:
        >>> why_it_failed(TypeError("forward() missing 1 required positional argument: 'm'"), (8, 50, 1), masked=False)
        "model must take inputs (8, 50, 1); it failed with TypeError: forward() missing 1 required positional argument: 'm'. \
A mask or lengths that it needs must come with the batches: (inputs, targets, mask) or (inputs, targets, lengths)"
    """
    letters = {None: "", True: "(B, C, T) = ", False: "(B, T, C) = "}[channels_first]
    beside = " and a mask or lengths" if masked else ""
    if isinstance(error, TypeError) and "argument" in str(error):
        hint = (
            "Does it take the mask, or the lengths, that the batches hold?"
            if masked
            else "A mask or lengths that it needs must come with the batches: (inputs, targets, mask) or (inputs, targets, "
            "lengths)"
        )
    else:
        other = "" if channels_first is None else f", or channels_first={not channels_first}"
        hint = f"Are the axes in another order (x.mT{other}), or does it need a mask or lengths?"
    return f"model must take inputs {letters}{shape}{beside}; it failed with {type(error).__name__}: {error}. {hint}"


def require_same(predictions: Tensor, again: Tensor) -> None:
    """Raise a ValueError unless the first predictions came again: a model that changes them cannot be compared with itself.

    Example:
        >>> require_same(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0]))
    """
    first = predictions[: len(again)].double()
    scale = predictions.double().abs().max().clamp(min=torch.finfo(torch.float32).tiny)
    if (again.double() - first).abs().max() > _SAME * scale:
        raise ValueError(
            "model must give the same prediction for the same inputs, got another one: is there dropout that does not listen to "
            "eval(), a state that is kept between calls, or a module inside a function that is still in training mode (call its "
            ".eval() first)?"
        )
