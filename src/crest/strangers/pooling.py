"""A model's pooling layer: which it is, how it is called, and what reads it; or the line of `forward` that pools."""

import contextlib
from dataclasses import dataclass

from torch import Tensor, nn

from crest.readouts.base import Readout
from crest.strangers.batch import Batch
from crest.strangers.implant import Implant
from crest.strangers.interface import Interface, InterfaceError, find_interface, watched
from crest.strangers.model import LayerCall, StrangerModel, calls_of, find_channels_first
from crest.strangers.slot import Convention, Layout, PoolingSlot

_ADAPTIVE = (nn.AdaptiveAvgPool1d, nn.AdaptiveMaxPool1d)
_ALL = (
    Convention("channels_last", False),
    Convention("channels_first", False),
    Convention("channels_last", True),
    Convention("channels_first", True),
)


@dataclass(frozen=True, kw_only=True)
class PoolingLayer:
    """A layer that pools, as one call of the model shows it."""

    path: str
    """Its name, as `model.named_modules()` lists it."""
    layout: Layout
    """The order of the axes that it takes."""
    keepdim: bool
    """Whether it keeps a time axis of length one."""
    stride: int
    """Input steps for each step of the features that it is given, 1 at least."""
    linear: str | None
    """Name of the linear layer that reads the pooled vector as it is, if there is one."""


def find_place(
    model: nn.Module,
    batch: Batch,
    path: str | None = None,
    *,
    head: str | None = None,
    layout: Layout | None = None,
    keepdim: bool | None = None,
    argument: str = "pooling",
) -> PoolingLayer | Interface:
    """Where a readout can stand: in the place of a pooling layer; else, if a line of `forward` pools, between features and head.

    The model runs in evaluation mode and is not changed.

    Args:
        model: any module.
        batch: some trajectories, as it takes them; the first layer tells the order of the axes if the batch does not.
        path: of the pooling layer, or of the module whose output is pooled. Found by default: the one layer that is known
            to pool, else as `find_interface` does.
        head: path of the module that reads the pooled vector, if it is known.
        layout: how the layer is called, if it is known; it must then fit.
        keepdim: whether it keeps a time axis of length one, if it is known; it must then fit.
        argument: the name of the argument that holds the path, for messages.

    Raises:
        ValueError: There is no such place; an InterfaceError if no layer was named or found.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Conv1d(1, 8, 5, stride=4), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 1))
        >>> find_place(model, Batch(torch.randn(4, 1, 400)))
        PoolingLayer(path='1', layout='channels_first', keepdim=True, stride=4, linear='3')
    """
    if batch.channels_first is None:
        batch = batch.with_axes(find_channels_first(model, batch) or False)
    stranger = StrangerModel(model, bool(batch.channels_first))
    found = known_pooling(stranger, batch)
    refused: ValueError | None = None
    if path is not None or found is not None:
        try:
            return _pooling_layer(stranger, batch, path or found or "", (layout, keepdim), argument)
        except ValueError as error:
            refused = error
    try:
        if found is not None and not _implanted(model, found):
            raise InterfaceError(f"a layer stands between features and head that pools, {found!r}: name that")
        return find_interface(stranger, batch, features=path, head=head)
    except InterfaceError as unknown:
        if refused is None or path is None:
            raise refused or unknown from unknown
        raise ValueError(f"{refused}; nor does a readout fit between it and a head: {unknown}") from unknown


def known_pooling(stranger: StrangerModel, batch: Batch) -> str | None:
    """The path of the one layer that is known to pool; None if there is none, or more than one.

    A layer does not count if the model goes on with steps behind it: that of a gate, as in squeeze-and-excite blocks.

    Example:
        >>> import torch
        >>> model = nn.Sequential(nn.Conv1d(1, 8, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten())
        >>> known_pooling(StrangerModel(model), Batch(torch.randn(2, 1, 50)))
        '1'
    """
    model, few = stranger.model, batch.first(2)
    assert isinstance(model, nn.Module)
    parts = dict(model.named_modules(remove_duplicate=False))
    inside = tuple(f"{name}." for name, part in parts.items() if isinstance(part, PoolingSlot))
    found = [
        name
        for name, part in parts.items()
        if name and is_known_pooling(part) and not name.startswith(inside)
    ]
    if found:
        with stranger.quiet(), watched(model) as calls:
            stranger.raw(few.inputs, few.mask)
        # A pooled vector may keep an axis of length one; steps have two that are longer.
        steps = [call.output is not None and min(call.output.shape[1:]) > 1 for call in calls]
        gates = {call.name for place, call in enumerate(calls) if any(steps[place + 1 :])}
        found = [name for name in found if name not in gates]
    return found[0] if len(found) == 1 else None


def _implanted(model: nn.Module, path: str) -> bool:
    return isinstance(model.get_submodule(path.rpartition(".")[0]), Implant)


def is_known_pooling(layer: nn.Module) -> bool:
    """Whether this is a layer that is known to pool all steps: torch's adaptive pooling to one step, or a readout.

    Example:
        >>> is_known_pooling(nn.AdaptiveAvgPool1d(1)), is_known_pooling(nn.AdaptiveAvgPool1d(2))
        (True, False)
    """
    adaptive = isinstance(layer, _ADAPTIVE) and layer.output_size in (1, (1,))
    return adaptive or isinstance(layer, PoolingSlot | Readout)


def known_convention(
    layer: nn.Module, path: str, argument: str = "path", hint: str = ""
) -> Convention | None:
    """How this layer is called, if its class tells; None for a module of the user's own.

    A layer of torch that does not pool all steps to one vector is refused, such as `nn.MaxPool1d(2)` or an LSTM.

    Args:
        layer: what stands in the place of the pooling.
        path: its name, for messages.
        argument: the name of the argument that holds the path, for messages.
        hint: what to add of a layer that does not pool.

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
    # The author of `forward` decides what the layer does; what a container does, its parts decide.
    written = getattr(type(layer).forward, "__module__", "") or ""
    if not written.startswith("torch.nn.modules.") or isinstance(layer, nn.Sequential):
        return None
    name = type(layer).__name__
    if isinstance(layer, _ADAPTIVE):
        what = f"{layer}, which leaves several steps"
    elif written.endswith(".pooling"):
        what = f"{name}, which leaves many steps"
    else:
        what = f"{name}, which does not pool{hint}"
    raise ValueError(f"{argument} must name a layer that pools to one vector, got {path!r}: {what}")


def _pooling_layer(
    stranger: StrangerModel,
    batch: Batch,
    path: str,
    asked: tuple[Layout | None, bool | None],
    argument: str,
) -> PoolingLayer:
    """The layer at this path, from one call of the model; a ValueError if it does not pool."""
    model = stranger.model
    assert isinstance(model, nn.Module)
    known = known_convention(model.get_submodule(path), path, argument)
    layout, keepdim = asked
    if known is not None:
        layout, keepdim = layout or known.layout, known.keepdim if keepdim is None else keepdim
    linear = {name: part for name, part in model.named_modules() if isinstance(part, nn.Linear)}
    with stranger.quiet(), contextlib.ExitStack() as hooks:
        calls = hooks.enter_context(calls_of(model.get_submodule(path)))
        read = {name: hooks.enter_context(calls_of(part)) for name, part in linear.items()}
        stranger.raw(batch.inputs, batch.mask)
    if len(calls) != 1:
        raise ValueError(
            f"{argument} must name a layer that the model calls once, got {path!r}: {len(calls)} calls"
        )
    given, made = layer_shapes(calls[0], path, argument)
    layout, keepdim = fitting_convention(given, made, path, (layout, keepdim), argument)
    vector = calls[0].output.reshape(len(calls[0].output), -1)

    def reads(one: object) -> bool:
        return isinstance(one, Tensor) and one.shape == vector.shape and bool((one == vector).all())

    heads = [
        name for name, some in read.items() if len(some) == 1 and some[0].inputs and reads(some[0].inputs[0])
    ]
    steps = given[1 if layout == "channels_last" else 2]
    return PoolingLayer(
        path=path,
        layout=layout,
        keepdim=keepdim,
        stride=max(1, round(batch.signals.shape[1] / steps)),
        linear=heads[0] if len(heads) == 1 else None,
    )


def fitting_convention(
    given: tuple[int, ...],
    made: tuple[int, ...],
    path: str,
    asked: tuple[Layout | None, bool | None],
    argument: str,
) -> Convention:
    """The one way of calling in which the layer makes this shape of that one.

    Args:
        given: shape of the features.
        made: shape of what it gave.
        path: its name, for messages.
        asked: layout and keepdim, if they are known; they must then fit.
        argument: the name of the argument that holds the path, for messages.

    Example:
        >>> fitting_convention((4, 30, 7), (4, 7), "pool", (None, None), "path")
        Convention(layout='channels_last', keepdim=False)
    """
    fits = [one for one in _ALL if _pooled_shape(given, one) == made and given[_time_axis(one)] > 1]
    if not fits:
        raise ValueError(
            f"{argument} must name a layer that pools all steps to one vector for each trajectory, got {path!r}, which "
            f"made {made} of {given}"
        )
    layout, keepdim = asked
    fitting = [one for one in fits if layout in (None, one.layout) and keepdim in (None, one.keepdim)]
    if not fitting:
        raise ValueError(
            f"layout and keepdim must fit the layer {path!r}, which made {made} of {given}, as "
            f"layout={fits[0].layout!r} and keepdim={fits[0].keepdim} do; got layout={layout!r} and keepdim={keepdim}"
        )
    if len(fitting) > 1:
        raise ValueError(
            f"layout must be given, 'channels_last' or 'channels_first': the layer {path!r} made {made} of {given}, "
            "which fits both"
        )
    return fitting[0]


def layer_shapes(call: LayerCall, path: str, argument: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
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
