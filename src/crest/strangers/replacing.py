"""Put a readout in the place of a model's pooling layer."""

import warnings
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from crest._base.doors import door_leaving
from crest.readouts.base import Readout
from crest.strangers.batch import read_batch
from crest.strangers.failures import CALL_ERRORS, why_it_failed
from crest.strangers.implant import implant_readout
from crest.strangers.interface import Interface
from crest.strangers.model import part_at
from crest.strangers.pooling import find_place, known_convention
from crest.strangers.slot import Convention, Layout, PoolingSlot

_A_LINE = "; if a line of `forward` pools what it gives, pass a batch as sample=, and the readout stands in front of the head"


@door_leaving("readout")
def replace_pooling(
    model: nn.Module,
    path: str,
    readout: Readout,
    *,
    layout: Layout | None = None,
    keepdim: bool | None = None,
    sample: Tensor | Sequence[Any] | None = None,
    warn: bool | None = None,
) -> nn.Module:
    """The same model, in place, with `readout` where the layer at `path` was.

    The layer must map (B, T, D) -> (B, D), or (B, D, T) -> (B, D) with `layout="channels_first"`. Layers of torch that
    do not pool, such as `nn.MaxPool1d(2)` or an LSTM, are refused. The readout moves to the model's device, its weights
    to the model's dtype, and it takes the model's training mode.
    Only this one path changes: a layer that the model registers under two names stays under the other. Load
    a checkpoint of the old model before the replacement, one of the new model after it.

    **Train the model afterwards**, or use `crest.reanchor` instead, which fits the head again: the head of a trained
    model was made for other vectors. A swap alone has turned an ID error of 0.20 into 2.86.

    Args:
        model: any module.
        path: dotted name of the pooling layer, as `model.named_modules()` lists it. If a line of `forward` pools, such as
            `f.mean(-1)` or `h[:, -1]`, that of the module whose output it pools, with a sample: the readout then stands in
            front of the head, and the model must be called as `model(x)`.
        readout: what to put there.
        layout: how the layer is called. Known for `nn.AdaptiveAvgPool1d(1)`, `nn.AdaptiveMaxPool1d(1)` and for a
            readout that was put there before; for others found out from the sample, and "channels_last" without one.
        keepdim: whether it returns (B, 1, D), or (B, D, 1) channels first, instead of (B, D). Known, found and
            assumed in the same way.
        sample: inputs, or a batch (inputs, targets), (inputs, targets, mask) or (inputs, targets, lengths). The model runs
            on it once, in evaluation mode, to see how the layer is called and whether it pools.
        warn: whether to warn that the model must be trained again. None warns if the model looks trained: it is in
            evaluation mode, has gradients, or its normalisation has counted batches.

    Example:
        >>> import torch
        >>> from crest.readouts import CrestReadout
        >>> model = nn.Sequential(nn.Conv1d(3, 8, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 1))
        >>> _ = replace_pooling(model, "1", CrestReadout()).eval()
        >>> model(torch.randn(2, 3, 100)).shape
        torch.Size([2, 1])
    """
    layer = part_at(model, "path", path)
    between: Interface | None = None
    if sample is None:
        known_convention(layer, path, hint=_A_LINE)
    else:
        batch = read_batch(sample, "sample")
        try:
            place = find_place(model, batch, path, layout=layout, keepdim=keepdim, argument="path")
        except CALL_ERRORS as error:
            why = why_it_failed(error, tuple(batch.inputs.shape), masked=batch.mask is not None)
            raise ValueError(f"sample must fit the model: {why}") from error
        if isinstance(place, Interface):
            between = place
        else:
            layout, keepdim = place.layout, place.keepdim
    slot = PoolingSlot(readout) if between else slot_for(layer, path, readout, layout=layout, keepdim=keepdim)
    if warn or (warn is None and _looks_trained(model)):
        before = (
            f"the pooling of this model has already been replaced, by {type(layer.readout).__name__}"
            if isinstance(layer, PoolingSlot)
            else f"the model was trained with {type(layer).__name__}"
        )
        warnings.warn(
            f"{before} at {path!r}: train it again before you use it, or call "
            "crest.reanchor instead, which fits the head again; as it is now, its predictions mean nothing",
            UserWarning,
            stacklevel=3,  # past the door
        )
    if between is not None:
        return implant_readout(model, readout, between)
    slot.train(model.training)
    tensors = [*model.parameters(), *model.buffers()]
    if tensors:
        slot.to(tensors[0].device)
        for weight in slot.parameters():
            weight.data = weight.data.to(tensors[0].dtype)
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, slot)
    return model


@door_leaving("readout")
def slot_for(
    layer: nn.Module,
    path: str,
    readout: Readout,
    *,
    layout: Layout | None = None,
    keepdim: bool | None = None,
    argument: str = "path",
) -> PoolingSlot:
    """The readout behind the calling convention of this layer; what `replace_pooling` puts in its place.

    Args:
        layer: the pooling layer.
        path: its name, for messages.
        readout: what to put there.
        layout: as in `replace_pooling`, with `keepdim`.
        keepdim: whether it keeps a time axis of length one.
        argument: the name of the argument that holds the path, for messages.

    Example:
        >>> from crest.readouts import MeanReadout
        >>> slot = slot_for(nn.AdaptiveAvgPool1d(1), "pool", MeanReadout())
        >>> slot.layout, slot.keepdim
        ('channels_first', True)
    """
    known = known_convention(layer, path, argument) or Convention("channels_last", False)
    layout = layout or known.layout
    adaptive = isinstance(layer, nn.AdaptiveAvgPool1d | nn.AdaptiveMaxPool1d)
    if adaptive and layout != "channels_first":
        raise ValueError(f"layout must be 'channels_first' in the place of {layer}, got {layout!r}")
    return PoolingSlot(readout, layout, known.keepdim if keepdim is None else keepdim)


def _looks_trained(model: nn.Module) -> bool:
    """Signs of a training; weights alone do not tell."""
    counted = (
        bool(buffer > 0)
        for name, buffer in model.named_buffers()
        if name.endswith("num_batches_tracked") and not buffer.is_meta
    )
    return not model.training or any(one.grad is not None for one in model.parameters()) or any(counted)
