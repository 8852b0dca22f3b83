"""Put a readout in the place of a model's pooling layer."""

from typing import Literal

from torch import Tensor, nn

from crest.readouts.base import Readout


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
        layout: Literal["channels_last", "channels_first"] = "channels_last",
        keepdim: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(readout, Readout):
            raise ValueError(f"readout must be a label-free crest readout, got {type(readout).__name__}")
        if layout not in ("channels_last", "channels_first"):
            raise ValueError(f"layout must be 'channels_last' or 'channels_first', got {layout!r}")
        self.readout = readout
        self.time_axis = 1 if layout == "channels_last" else 2
        self.keepdim = keepdim

    def forward(self, features: Tensor, mask: Tensor | None = None) -> Tensor:
        """Pooled vector (B, D), or with a time axis of length one where `keepdim` asks for it."""
        if features.ndim != 3:
            raise ValueError(f"the replaced layer must take 3-D features, got {tuple(features.shape)}")
        pooled: Tensor = self.readout(features if self.time_axis == 1 else features.transpose(1, 2), mask)
        return pooled.unsqueeze(self.time_axis) if self.keepdim else pooled


def replace_pooling(
    model: nn.Module,
    path: str,
    readout: Readout,
    *,
    layout: Literal["channels_last", "channels_first"] = "channels_last",
    keepdim: bool = False,
) -> nn.Module:
    """The same model, in place, with `readout` where the layer at `path` was.

    The layer must map (B, T, D) -> (B, D), or (B, D, T) -> (B, D) with `layout="channels_first"`. The readout
    moves to the model's device and takes its training mode. Only this one path changes: a layer that the
    model registers under two names stays under the other.

    Args:
        model: any module.
        path: dotted name of the pooling layer, as `model.named_modules()` lists it.
        readout: what to put there.
        layout: how the layer is called.
        keepdim: whether it returns (B, 1, D), or (B, D, 1) channels first, instead of (B, D).

    Example:
        >>> import torch
        >>> from crest.readouts import CrestReadout
        >>> model = nn.Sequential(nn.Conv1d(3, 8, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 1))
        >>> _ = replace_pooling(model, "1", CrestReadout(), layout="channels_first", keepdim=True)
        >>> model(torch.randn(2, 3, 100)).shape
        torch.Size([2, 1])
    """
    names = [name for name, _ in model.named_modules() if name]
    if path not in names:
        raise ValueError(
            f"path must name a module inside the model: {', '.join(names) or 'none'}; got {path!r}"
        )
    slot = PoolingSlot(readout, layout, keepdim).train(model.training)
    tensors = [*model.parameters(), *model.buffers()]
    if tensors:
        slot.to(tensors[0].device)
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, slot)
    return model
