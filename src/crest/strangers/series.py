"""Which of the tensors that pass through a model have a time axis, and where; which are one vector of each trajectory."""

from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

Axes: TypeAlias = tuple[int, int, int]
"""Where batch, time and channels are in a tensor."""


def series_of(output: Any) -> tuple[Tensor | None, Tensor | None]:
    """The tensor with three axes, or the first of several, as recurrent layers give them; and the lengths of a packed one.

    What has no axis of time is padded: a packed sequence, or the nested tensor that torch's Transformer makes of masked
    steps. It becomes (B, T', D) in the order of the batch, T' that of its longest trajectory, zeros behind the others.

    Example:
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2, 3), torch.ones(4, 3)], enforce_sorted=False)
        >>> series_of((packed, torch.zeros(2, 2, 3)))[0][:, :, 0]
        tensor([[1., 1., 0., 0.],
                [1., 1., 1., 1.]])
    """
    several = isinstance(output, tuple | list) and not isinstance(output, PackedSequence)
    for part in output if several else [output]:
        if isinstance(part, PackedSequence):
            return pad_packed_sequence(part, batch_first=True)
        if isinstance(part, Tensor) and part.ndim == 3:
            return (torch.nested.to_padded_tensor(part, 0.0) if part.is_nested else part), None
    return None, None


def copy_of(output: Any) -> Any:
    """What a module gave, with copies of its tensors: a later line of the model may write over them. Gradients still pass.

    Example:
        >>> steps = torch.ones(1, 2, 1)
        >>> kept = copy_of((steps, None))
        >>> steps.zero_().sum(), kept[0].sum()
        (tensor(0.), tensor(2.))
    """
    if isinstance(output, PackedSequence):
        return output._replace(data=output.data.clone())
    if isinstance(output, tuple | list):
        return tuple(map(copy_of, output))
    return output.clone() if isinstance(output, Tensor) else output


def one_vector(inputs: Tensor | None, rows: int) -> Tensor | None:
    """(B, D) of the pooled vector, also from (B, 1, D) or (B, D, 1)."""
    if inputs is None or inputs.is_nested or inputs.ndim < 2 or len(inputs) != rows:
        return None
    flat = inputs.reshape(rows, -1)
    return flat if flat.shape[1] == max(inputs.shape[1:]) else None


def axes_of(
    output: Tensor | None,
    rows: int,
    steps: int,
    width: int | None,
    kind: type[nn.Module] = nn.Module,
    *,
    channels_first: bool = False,
) -> Axes | None:
    """Where batch, time and channels are in an output; None if it has no time axis of 2 to T + 1 steps."""
    if output is None or output.ndim != 3:
        return None
    # One step more than the inputs: a class token.
    orders: list[Axes] = [(0, 1, 2), (0, 2, 1), (1, 0, 2)]
    last = (nn.Linear, nn.LayerNorm, nn.RNNBase, nn.TransformerEncoder, nn.TransformerEncoderLayer)
    if issubclass(kind, nn.Conv1d | nn.BatchNorm1d) or (channels_first and not issubclass(kind, last)):
        orders = [(0, 2, 1), (0, 1, 2), (1, 0, 2)]
    shape = output.shape
    for order in orders:
        batch, time, channels = (shape[axis] for axis in order)
        if batch == rows and 2 <= time <= steps + 1 and (width is None or channels == width):
            return order
    return None
