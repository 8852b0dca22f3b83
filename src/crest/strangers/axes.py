"""In which order a model takes channels and time."""

import contextlib
import warnings

from torch import Tensor, nn

from crest.background import SIGMA
from crest.probes.batches import evaluating
from crest.strangers.calls import answer_to


def find_channels_first(model: nn.Module, inputs: Tensor, mask: Tensor | None = None) -> bool | None:
    """Whether the model takes (B, C, T), by how many channels its first layer takes; None where that does not tell.

    Example:
        >>> import torch
        >>> find_channels_first(nn.Conv1d(2, 8, 5), torch.randn(4, 2, 50)), find_channels_first(nn.LSTM(2, 8), torch.randn(4, 50, 2))
        (True, False)
    """
    first: list[int] = []
    with evaluating(model), contextlib.ExitStack() as hooks:
        for part in model.modules():
            channels = _channels_of(part)
            if channels is not None:
                handle = part.register_forward_pre_hook(lambda *_, channels=channels: first.append(channels))
                hooks.callback(handle.remove)
        answer_to(model, inputs, mask)
    fits = [axis for axis in (1, 2) if first and inputs.shape[axis] == first[0]]
    return fits == [1] if len(fits) == 1 else None


def warn_of_axes(channels_first: bool, shape: tuple[int, ...], found: bool | None) -> None:
    """Warn of an order that somebody gave, if it makes fewer steps than channels and nothing speaks for it.

    That is where the first layer takes the other one, or where it does not tell and not even a background fits into the steps.

    Args:
        channels_first: as it was given.
        shape: of the inputs.
        found: what the first layer says.
    """
    steps, channels = (shape[2], shape[1]) if channels_first else (shape[1], shape[2])
    if steps >= channels or found is channels_first or (found is None and steps >= SIGMA):
        return
    why = (
        "there are fewer steps than channels" if found is None else f"the first layer takes {steps} channels"
    )
    warnings.warn(
        f"channels_first={channels_first} makes {steps} steps of {channels} channels of the inputs {shape}, and {why}: is "
        f"channels_first={not channels_first} right?",
        UserWarning,
        stacklevel=5,  # past who settles it, who is asked, and the door
    )


def _channels_of(part: nn.Module) -> int | None:
    """How many channels a layer takes, if its class tells."""
    if isinstance(part, nn.Conv1d):
        return part.in_channels
    if isinstance(part, nn.BatchNorm1d | nn.InstanceNorm1d):
        return part.num_features
    if isinstance(part, nn.Linear):
        return part.in_features
    return part.input_size if isinstance(part, nn.RNNBase) else None
