"""Which layers pool, and how each is called: known from its class, or seen on a sample."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from crest.probes.batches import evaluating
from crest.readouts.base import Readout
from crest.strangers.calls import LayerCall, answer_to, calls_of
from crest.strangers.lengths import as_step_mask
from crest.strangers.slot import Convention, Layout, PoolingSlot

_ADAPTIVE = (nn.AdaptiveAvgPool1d, nn.AdaptiveMaxPool1d)
_ALL = (
    Convention("channels_last", False),
    Convention("channels_first", False),
    Convention("channels_last", True),
    Convention("channels_first", True),
)
_MAKE_A_LAYER = (
    "if a line of `forward` pools what it gives, make that line a layer, such as self.pool = crest.MeanReadout() or "
    "crest.LastReadout(), and name that"
)


def is_known_pooling(layer: nn.Module) -> bool:
    """Whether this is a layer that is known to pool all steps: torch's adaptive pooling to one step, or a readout.

    Example:
        >>> is_known_pooling(nn.AdaptiveAvgPool1d(1)), is_known_pooling(nn.AdaptiveAvgPool1d(2))
        (True, False)
    """
    adaptive = isinstance(layer, _ADAPTIVE) and layer.output_size in (1, (1,))
    return adaptive or isinstance(layer, PoolingSlot | Readout)


def known_convention(layer: nn.Module, path: str, argument: str = "path") -> Convention | None:
    """How this layer is called, if its class tells; None for a module of the user's own.

    A layer of torch that does not pool all steps to one vector is refused, such as `nn.MaxPool1d(2)` or an LSTM.

    Args:
        layer: what stands in the place of the pooling.
        path: its name, for messages.
        argument: the name of the argument that holds the path, for messages.

    Example:
        >>> known_convention(nn.AdaptiveAvgPool1d(1), "pool")
        Convention(layout='channels_first', keepdim=True)
        >>> known_convention(nn.MaxPool1d(2), "pool")
        Traceback (most recent call last):
        ValueError: path must name a layer that pools to one vector, got 'pool': MaxPool1d, which leaves many steps
    """
    if isinstance(layer, PoolingSlot):
        return Convention(layer.layout, layer.keepdim)
    if is_known_pooling(layer):
        readout = isinstance(layer, Readout)
        return Convention("channels_last", False) if readout else Convention("channels_first", True)
    # Whoever wrote `forward` says what the layer does; what a container does, its parts say.
    written = getattr(type(layer).forward, "__module__", "") or ""
    if not written.startswith("torch.nn.modules.") or isinstance(layer, nn.Sequential):
        return None
    name = type(layer).__name__
    if isinstance(layer, _ADAPTIVE):
        what = f"{layer}, which leaves several steps"
    elif written.endswith(".pooling"):
        what = f"{name}, which leaves many steps"
    else:
        what = f"{name}, which does not pool; {_MAKE_A_LAYER}"
    raise ValueError(f"{argument} must name a layer that pools to one vector, got {path!r}: {what}")


def seen_convention(
    model: nn.Module,
    path: str,
    sample: Tensor | Sequence[Any],
    *,
    layout: Layout | None = None,
    keepdim: bool | None = None,
    argument: str = "path",
) -> Convention:
    """How the layer at `path` is called, from what it makes of a sample. The model is not changed.

    The model runs once, in evaluation mode and without gradients.

    Args:
        model: any module.
        path: dotted name of the layer.
        sample: inputs, or a batch (inputs, targets) or (inputs, targets, mask).
        layout: where it is known; it must then fit.
        keepdim: where it is known; it must then fit.
        argument: the name of the argument that holds the path, for messages.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Conv1d(3, 8, 5), nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Flatten()), nn.Linear(8, 1))
        >>> seen_convention(model, "1", torch.zeros(2, 3, 50))
        Convention(layout='channels_first', keepdim=False)
    """
    inputs, mask = _inputs_and_mask(sample)
    with evaluating(model), calls_of(model.get_submodule(path)) as calls:
        answer_to(model, inputs, mask)
    if len(calls) != 1:
        raise ValueError(
            f"{argument} must name a layer that the model calls once, got {path!r}: {len(calls)} calls"
        )
    given, made = _shapes(calls[0], path, argument)
    fits = [one for one in _ALL if _pooled_shape(given, one) == made and given[_time_axis(one)] > 1]
    if not fits:
        raise ValueError(
            f"{argument} must name a layer that pools all steps to one vector for each trajectory, got {path!r}, which "
            f"made {made} of {given}"
        )
    asked = [one for one in fits if layout in (None, one.layout) and keepdim in (None, one.keepdim)]
    if not asked:
        raise ValueError(
            f"layout and keepdim must fit the layer {path!r}, which made {made} of {given}, as "
            f"layout={fits[0].layout!r} and keepdim={fits[0].keepdim} do; got layout={layout!r} and keepdim={keepdim}"
        )
    if len(asked) > 1:
        raise ValueError(
            f"layout must be given, 'channels_last' or 'channels_first': the layer {path!r} made {made} of {given}, "
            "which fits both"
        )
    return asked[0]


def _inputs_and_mask(sample: Tensor | Sequence[Any]) -> tuple[Any, Any]:
    if isinstance(sample, Tensor):
        return sample, None
    if not isinstance(sample, tuple | list) or len(sample) not in (2, 3):
        got = f"{len(sample)} parts" if isinstance(sample, tuple | list) else type(sample).__name__
        raise ValueError(
            f"sample must be inputs, (inputs, targets) or (inputs, targets, mask or lengths), got {got}"
        )
    return sample[0], as_step_mask(sample[2], sample[0]) if len(sample) == 3 else None


def _shapes(call: LayerCall, path: str, argument: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What the layer was given and what it made, if both are tensors, the first with three axes."""
    features = call.inputs[0] if call.inputs else call.named.get("features")
    if not isinstance(features, Tensor) or features.ndim != 3:
        got = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ValueError(
            f"{argument} must name a layer that takes 3-D features, got {path!r}, called with {got}"
        )
    if not isinstance(call.output, Tensor):
        raise ValueError(
            f"{argument} must name a layer that pools to one vector, got {path!r}, which gives a "
            f"{type(call.output).__name__}"
        )
    return tuple(features.shape), tuple(call.output.shape)


def _time_axis(convention: Convention) -> int:
    return 1 if convention.layout == "channels_last" else 2


def _pooled_shape(given: tuple[int, ...], convention: Convention) -> tuple[int, ...]:
    """What a layer that is called so makes of features of this shape."""
    axis = _time_axis(convention)
    without = tuple(size for place, size in enumerate(given) if place != axis)
    return (*without[:axis], 1, *without[axis:]) if convention.keepdim else without
