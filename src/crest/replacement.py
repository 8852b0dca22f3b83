"""Put a readout in the place of a model's pooling layer."""

from typing import Literal, TypeAlias, get_args

from torch import Tensor, nn

from crest.checks.arguments import require_choice
from crest.checks.doors import door_leaving
from crest.readouts.base import Readout

Layout: TypeAlias = Literal["channels_last", "channels_first"]


class PoolingSlot(nn.Module):
    """A readout behind the calling convention of the layer that it replaces.

    Args:
        readout: pools (B, T, D) -> (B, D).
        layout: "channels_last" for input (B, T, D), "channels_first" for (B, D, T), as convolutions give it.
        keepdim: keep a time axis of length one in the output, as `nn.AdaptiveAvgPool1d(1)` does.
    """

    def __init__(
        self,
        readout: Readout,
        layout: Layout = "channels_last",
        keepdim: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(readout, Readout):
            got = f"the class {readout.__name__}" if isinstance(readout, type) else type(readout).__name__
            raise ValueError(f"readout must be an instance of a label-free crest readout, got {got}")
        require_choice("layout", layout, get_args(Layout))
        self.readout = readout
        self.time_axis = 1 if layout == "channels_last" else 2
        self.keepdim = keepdim

    @property
    def layout(self) -> Layout:
        """The order of the axes that it takes."""
        return "channels_last" if self.time_axis == 1 else "channels_first"

    def extra_repr(self) -> str:
        """How it is called, for `print(model)`."""
        return f"layout={self.layout!r}, keepdim={self.keepdim}"

    def forward(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        """Pooled vector (B, D), or with a time axis of length one where `keepdim` asks for it."""
        if features.ndim != 3:
            raise ValueError(f"the replaced layer must take 3-D features, got {tuple(features.shape)}")
        pooled: Tensor = self.readout(features if self.time_axis == 1 else features.transpose(1, 2), mask)
        return pooled.unsqueeze(self.time_axis) if self.keepdim else pooled


_ADAPTIVE = (nn.AdaptiveAvgPool1d, nn.AdaptiveMaxPool1d)


@door_leaving("readout")
def replace_pooling(
    model: nn.Module,
    path: str,
    readout: Readout,
    *,
    layout: Layout | None = None,
    keepdim: bool | None = None,
) -> nn.Module:
    """The same model, in place, with `readout` where the layer at `path` was.

    The layer must map (B, T, D) -> (B, D), or (B, D, T) -> (B, D) with `layout="channels_first"`. The readout
    moves to the model's device, its weights to the model's dtype, and it takes the model's training mode.
    Only this one path changes: a layer that the model registers under two names stays under the other. Load
    a checkpoint of the old model before the replacement, one of the new model after it.

    Args:
        model: any module.
        path: dotted name of the pooling layer, as `model.named_modules()` lists it.
        readout: what to put there.
        layout: how the layer is called. Known for `nn.AdaptiveAvgPool1d(1)`, `nn.AdaptiveMaxPool1d(1)` and for a
            readout that was put there before; "channels_last" for others unless given.
        keepdim: whether it returns (B, 1, D), or (B, D, 1) channels first, instead of (B, D). Known and
            assumed in the same way.

    Example:
        >>> import torch
        >>> from crest.readouts import CrestReadout
        >>> model = nn.Sequential(nn.Conv1d(3, 8, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 1))
        >>> _ = replace_pooling(model, "1", CrestReadout()).eval()
        >>> model(torch.randn(2, 3, 100)).shape
        torch.Size([2, 1])
    """
    names = [name for name, _ in model.named_modules(remove_duplicate=False) if name]
    if path not in names:
        raise ValueError(
            f"path must name a module inside the model: {', '.join(names) or 'none'}; got {path!r}"
        )
    slot = slot_for(model.get_submodule(path), path, readout, layout=layout, keepdim=keepdim)
    slot.train(model.training)
    tensors = [*model.parameters(), *model.buffers()]
    if tensors:
        slot.to(tensors[0].device)
        for weight in slot.parameters():
            weight.data = weight.data.to(tensors[0].dtype)
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, slot)
    return model


def slot_for(
    layer: nn.Module,
    path: str,
    readout: Readout,
    *,
    layout: Layout | None = None,
    keepdim: bool | None = None,
) -> PoolingSlot:
    """The readout behind the calling convention of this layer; what `replace_pooling` puts in its place.

    Args:
        layer: the pooling layer.
        path: its name, for messages.
        readout: what to put there.
        layout: as in `replace_pooling`, with `keepdim`.
        keepdim: whether it keeps a time axis of length one.

    Example:
        >>> from crest.readouts import MeanReadout
        >>> slot = slot_for(nn.AdaptiveAvgPool1d(1), "pool", MeanReadout())
        >>> slot.layout, slot.keepdim
        ('channels_first', True)
    """
    adaptive = isinstance(layer, _ADAPTIVE)
    if adaptive and layer.output_size not in (1, (1,)):
        raise ValueError(f"path must name a layer that pools to one vector, got {path!r}: {layer}")
    if isinstance(layer, PoolingSlot):
        known_layout, known_keepdim = layer.layout, layer.keepdim
    else:
        known_layout, known_keepdim = ("channels_first", True) if adaptive else ("channels_last", False)
    layout = layout or known_layout
    if adaptive and layout != "channels_first":
        raise ValueError(f"layout must be 'channels_first' in the place of {layer}, got {layout!r}")
    return PoolingSlot(readout, layout, known_keepdim if keepdim is None else keepdim)
