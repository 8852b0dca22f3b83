"""What goes into a model's pooling layer and what comes out of its head, batch by batch."""

from collections.abc import Generator, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from crest._base.arrays import Features, StepFlags
from crest.strangers.batch import BatchKeys
from crest.strangers.batch_forms import BatchForm
from crest.strangers.implant import Implant
from crest.strangers.model import LayerCall, StrangerModel, calls_of, find_channels_first, part_at
from crest.strangers.pooling import fitting_convention, layer_shapes
from crest.strangers.slot import PoolingSlot


class InnerBatch(NamedTuple):
    """One batch, seen from inside of the model."""

    features: Features
    """(B, T, D): what the pooling layer was given, channels last."""
    mask: StepFlags | None
    """(B, T): the mask that it was given."""
    targets: Tensor
    """As they came."""
    answers: Tensor
    """(B, K): what the head gave."""
    direct: bool
    """Whether the model's prediction is what the head gave, up to its shape."""


def captured(
    model: nn.Module,
    batches: Iterable[Any],
    *,
    pooling: str,
    head: str,
    slot: PoolingSlot | Implant,
    keys: BatchKeys | None = None,
) -> Generator[InnerBatch, None, None]:
    """Each batch seen from inside, in evaluation mode and without gradients. The model is not changed.

    Inputs and masks move to the model's device.

    Args:
        model: called with the inputs, and with the mask if a batch has one, as `StrangerModel` does.
        batches: (inputs, targets), (inputs, targets, mask), (inputs, targets, lengths) or a dict each.
        pooling: path of the layer that pools; `forward` calls it once, with features and maybe a mask.
        head: path of the layer that reads the pooled vector, and nothing else.
        slot: the readout to come, in the pooling layer's calling convention; or an implant, and then `pooling` gives the features.
        keys: of inputs, targets and mask in dicts; the usual names by default.
    """
    stranger, form = StrangerModel(model), BatchForm(keys)
    axes = slot.interface.channels_first if isinstance(slot, Implant) else None
    pools, heads = part_at(model, "pooling", pooling), part_at(model, "head", head)
    with stranger.quiet(), calls_of(pools) as pooled, calls_of(heads) as read:
        for batch in batches:
            found = form.parts(batch, "batches")
            if axes is None and found.lengths is not None:
                axes = find_channels_first(model, found)
            found = found if axes is None else found.with_axes(axes)
            assert found.targets is not None
            mask = found.mask
            pooled.clear()
            read.clear()
            answer = stranger.raw(found.inputs, mask)
            for argument, path, calls in (("pooling", pooling, pooled), ("head", head, read)):
                if len(calls) != 1:
                    raise ValueError(
                        f"{argument} must name a layer that the model calls once, got {path!r}: {len(calls)} calls"
                    )
            if isinstance(slot, Implant):
                if mask is not None and not slot.reads(mask):
                    raise ValueError(
                        "mask of batches must be of torch.bool, or the model must name the argument that takes it `mask`, got "
                        f"{mask.dtype}: CREST would pool the padding"
                    )
                features, own_mask = slot.steps_of(pooled[0].output, mask)
                answers = read[0].output.reshape(len(features), -1)
            else:
                features, own_mask = _features(pooled[0], slot, pooling)
                if mask is not None and own_mask is None:
                    raise ValueError(
                        f"batches have a mask, but the model does not hand one to {pooling!r}: "
                        "CREST would pool the padding"
                    )
                answers = _answers(pooled[0], read[0], len(features))
            direct = not isinstance(answer, Tensor) or _same(answer, answers)
            yield InnerBatch(features, own_mask, found.targets, answers, direct)


def _features(call: LayerCall, slot: PoolingSlot, pooling: str) -> tuple[Tensor, Tensor | None]:
    """The features (B, T, D) and the mask that the layer was called with, if CREST can be called so too."""
    others = set(call.named) - {"features", "mask"}
    if len(call.inputs) > 2 or others:
        raise ValueError(
            f"pooling must name a layer that takes features and maybe a mask, got {pooling!r}, called with "
            f"{len(call.inputs)} arguments{''.join(f' and {name}' for name in sorted(others))}"
        )
    given = dict(zip(("features", "mask"), call.inputs, strict=False)) | call.named
    shapes = layer_shapes(call, pooling, "pooling")
    fitting_convention(*shapes, pooling, (slot.layout, slot.keepdim), "pooling")
    features = given["features"]
    return features if slot.time_axis == 1 else features.mT, given.get("mask")


def _answers(pooled: LayerCall, read: LayerCall, rows: int) -> Tensor:
    """What the head gave (B, K), if it was fed with the pooled vector as it is."""
    fed = read.inputs[0] if read.inputs else None
    if not isinstance(fed, Tensor) or not _same(fed, pooled.output):
        raise ValueError(
            "head must read the pooled vector as it is: here a layer between pooling and head changes it, and a head "
            "that is fitted again would not fit that layer"
        )
    answers: Tensor = read.output.reshape(rows, -1)
    return answers


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors hold the same numbers, whatever their shape."""
    if one.numel() != other.numel():
        return False
    return bool(torch.isclose(one.reshape(-1), other.reshape(-1), rtol=0, atol=0, equal_nan=True).all())
