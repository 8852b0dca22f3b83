"""What can be found out about a model by looking at one batch: its pooling, its head, its stride."""

import contextlib

from torch import Tensor, nn

from crest.probes.batches import evaluating
from crest.strangers.calls import answer_to, calls_of
from crest.strangers.conventions import is_known_pooling
from crest.strangers.slot import Layout, PoolingSlot


def find_pooling(model: nn.Module) -> str | None:
    """The path of the one layer that is known to pool; None where there is none, or more than one.

    Example:
        >>> find_pooling(nn.Sequential(nn.Conv1d(1, 8, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten()))
        '1'
    """
    inside = {
        f"{name}."
        for name, part in model.named_modules(remove_duplicate=False)
        if isinstance(part, PoolingSlot)
    }
    found = [
        name
        for name, part in model.named_modules(remove_duplicate=False)
        if name and is_known_pooling(part) and not name.startswith(tuple(inside))
    ]
    return found[0] if len(found) == 1 else None


def find_head(model: nn.Module, pooling: str, inputs: Tensor, mask: Tensor | None = None) -> str | None:
    """The path of the linear layer that reads the pooled vector; None where there is none, or more than one.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Conv1d(1, 8, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 1))
        >>> find_head(model, "1", torch.randn(4, 1, 50))
        '3'
    """
    linear = {name: part for name, part in model.named_modules() if isinstance(part, nn.Linear)}
    with evaluating(model), contextlib.ExitStack() as hooks:
        pooled = hooks.enter_context(calls_of(model.get_submodule(pooling)))
        read = {name: hooks.enter_context(calls_of(part)) for name, part in linear.items()}
        answer_to(model, inputs, mask)
    if len(pooled) != 1 or not isinstance(pooled[0].output, Tensor):
        return None
    vector = pooled[0].output.reshape(len(pooled[0].output), -1)

    def reads(given: object) -> bool:
        return isinstance(given, Tensor) and given.shape == vector.shape and bool((given == vector).all())

    found = [
        name
        for name, calls in read.items()
        if len(calls) == 1 and calls[0].inputs and reads(calls[0].inputs[0])
    ]
    return found[0] if len(found) == 1 else None


def find_stride(
    model: nn.Module, pooling: str, layout: Layout, inputs: Tensor, mask: Tensor | None = None, *, steps: int
) -> int:
    """Input steps for each step of the features that the pooling layer is given, to the nearest whole number; 1 at least.

    Args:
        model: any module.
        pooling: path of the pooling layer.
        layout: how it is called.
        inputs: some batch.
        mask: of the batch.
        steps: how many steps the inputs have.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Conv1d(1, 8, 5, stride=4), nn.AdaptiveAvgPool1d(1))
        >>> find_stride(model, "1", "channels_first", torch.randn(4, 1, 400), steps=400)
        4
    """
    with evaluating(model), calls_of(model.get_submodule(pooling)) as calls:
        answer_to(model, inputs, mask)
    call = calls[0]
    features: Tensor = call.inputs[0] if call.inputs else call.named["features"]
    return max(1, round(steps / features.shape[1 if layout == "channels_last" else 2]))
