"""A readout behind the calling convention of the layer that it replaces."""

from typing import Literal, NamedTuple, TypeAlias, get_args

from torch import Tensor, nn

from crest._base.arguments import require_choice
from crest.readouts.base import Readout

Layout: TypeAlias = Literal["channels_last", "channels_first"]
"""The order of the axes of features: (B, T, D) or (B, D, T)."""


class Convention(NamedTuple):
    """How a pooling layer is called."""

    layout: Layout
    """The order of the axes that it takes."""
    keepdim: bool
    """Whether it keeps a time axis of length one."""


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
        """Pooled vector (B, D), or with a time axis of length one if `keepdim` asks for it."""
        if features.ndim != 3:
            raise ValueError(f"the replaced layer must take 3-D features, got {tuple(features.shape)}")
        pooled: Tensor = self.readout(features if self.time_axis == 1 else features.transpose(1, 2), mask)
        return pooled.unsqueeze(self.time_axis) if self.keepdim else pooled
