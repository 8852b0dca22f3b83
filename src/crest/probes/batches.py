"""A function over batches of tensors: in evaluation mode, without gradients, the predictions joined."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np
import torch
from torch import Tensor, nn

from crest._base.arguments import require
from crest._base.doors import door_leaving

# Memory then does not grow with the number of trajectories. Another size changes no more than the last bits.
BATCH = 64


@door_leaving("module")
@contextlib.contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients inside the block; afterwards each part has its own mode again.

    Example:
        >>> network = nn.Sequential(nn.Linear(2, 1), nn.Dropout())
        >>> with evaluating(network):
        ...     network.training, torch.is_grad_enabled()
        (False, False)
        >>> network.training
        True
    """
    if not isinstance(module, nn.Module):
        raise ValueError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    # A frozen script has no mode.
    modes = [(part, getattr(part, "training", None)) for part in module.modules()]
    training = getattr(module, "training", None)
    # The module of an exported program has no modes, and says so when it is asked for one.
    no_modes = contextlib.suppress(NotImplementedError)
    with no_modes:
        if training is not None:
            module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        # Through the module's own `train`, which may do more than set a flag; then part by part, because a
        # frozen part of a network in training is in evaluation mode.
        with no_modes:
            if training is not None:
                module.train(training)
        for part, mode in modes:
            if mode is not None:
                part.training = mode
            else:
                vars(part).pop("training", None)


@door_leaving("tensors")
def batches_of(*tensors: Tensor | None, size: int = BATCH) -> list[tuple[Any, ...]]:
    """The rows of the tensors in batches of `size`, the last one maybe smaller; None stays None in each.

    The batches are views: they take no memory.

    Args:
        tensors: what the function of `in_batches` takes, in its order; they share their first axis. None
            stands for what is not known, such as events.
        size: rows of a batch.

    Example:
        >>> [(rows.tolist(), events) for rows, events in batches_of(torch.arange(5), None, size=3)]
        [([0, 1, 2], None), ([3, 4], None)]
    """
    require("size", size, "be a whole number, 1 or more")
    for tensor in tensors:
        if tensor is not None and not (isinstance(tensor, Tensor) and tensor.ndim):
            got = "a tensor without axes" if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ValueError(
                f"tensors must be torch tensors with a row for each trajectory, or None, got {got}"
            )
    rows = sorted({len(tensor) for tensor in tensors if tensor is not None})
    if len(rows) != 1 or rows == [0]:
        raise ValueError(f"tensors must have the same number of rows, at least 1, got {rows or 'no tensor'}")
    return [
        tuple(None if tensor is None else tensor[start : start + size] for tensor in tensors)
        for start in range(0, rows[0], size)
    ]


@door_leaving("batches")
def in_batches(
    function: Callable[..., Tensor], batches: Iterable[Tensor | Sequence[Tensor | None]]
) -> Tensor:
    """What the function returns for all batches, joined along their first axis, without a graph.

    Args:
        function: any callable that gives a tensor, or an array, with one row for each row of a batch. A `torch.nn.Module`
            is put in evaluation mode for it; around a plain function that calls one, use `evaluating`.
        batches: a tensor each, or a tuple or list of the function's arguments: what `batches_of` or a
            `DataLoader` gives.

    Example:
        >>> in_batches(lambda x, y: x.sum(1) - y, batches_of(torch.ones(3, 4), torch.arange(3.0), size=2))
        tensor([4., 3., 2.])
    """
    if isinstance(batches, Tensor):
        raise ValueError("batches must be an iterable of batches, got one tensor: pass batches_of(tensor)")
    if not isinstance(batches, Iterable) or getattr(batches, "ndim", 1) == 0:
        raise ValueError(f"batches must be an iterable of batches, got {type(batches).__name__}")
    mode = evaluating(function) if isinstance(function, nn.Module) else contextlib.nullcontext()
    with mode, torch.no_grad():
        answers = [_answer(function, batch) for batch in batches]
    if not answers:
        raise ValueError("batches must hold at least one batch, got none")
    shapes = {tuple(answer.shape[1:]) for answer in answers}
    if len(shapes) > 1:
        raise ValueError(f"function must return rows of one shape for all batches, got {sorted(shapes)}")
    return torch.cat(answers)


def is_dense(value: object) -> TypeGuard[Tensor]:
    """Whether this is a tensor that can be joined and counted with: not sparse, quantised, nested, on the meta device or of one byte.

    Example:
        >>> is_dense(torch.ones(2)), is_dense(torch.ones(2).to_sparse()), is_dense([1.0, 1.0])
        (True, False, False)
    """
    if (
        not isinstance(value, Tensor)
        or value.layout != torch.strided
        or value.is_quantized
        or value.is_nested
        or value.is_meta
    ):
        return False
    return not value.is_floating_point() or value.dtype.itemsize > 1


def shape_words(value: object) -> str:
    """What came in the place of a plain tensor, for a message.

    Example:
        >>> shape_words(torch.ones(2, 1)), shape_words(None), shape_words(torch.ones(2).to_sparse())
        ('(2, 1)', 'NoneType', 'a tensor of torch.sparse_coo and torch.float32')
    """
    if isinstance(value, list):
        return "a list, which np.asarray(predictions) makes an array"
    if not isinstance(value, Tensor):
        return type(value).__name__
    if value.is_meta:
        return "a tensor on the meta device"
    kind = "a nested tensor" if value.is_nested else f"a tensor of {value.layout} and {value.dtype}"
    return str(tuple(value.shape)) if is_dense(value) else kind


def _as_tensor(found: Any) -> Any:
    """An array of numbers as a tensor; anything else as it is."""
    numbers = isinstance(found, np.ndarray) and found.dtype.kind in "biufc"
    return torch.from_numpy(np.ascontiguousarray(found)) if numbers else found


def _answer(function: Callable[..., Tensor], batch: Tensor | Sequence[Tensor | None]) -> Tensor:
    parts = [batch] if isinstance(batch, Tensor) else batch
    if not isinstance(parts, tuple | list):
        raise ValueError(f"batches must hold tensors, or tuples or lists of them, got {type(batch).__name__}")
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if not tensors or not all(tensor.ndim for tensor in tensors):
        raise ValueError(f"batches must hold at least one tensor with a row for each trajectory, got {parts}")
    # Copies: a function that works in place would change what it is asked about next, and what the user has.
    given = [part.clone() if isinstance(part, Tensor) else part for part in parts]
    answer, rows = _as_tensor(function(*given)), len(tensors[0])
    if not is_dense(answer) or answer.ndim == 0 or len(answer) != rows:
        got = shape_words(answer)
        raise ValueError(f"function must return a tensor with a row for each of the {rows} rows, got {got}")
    return answer
