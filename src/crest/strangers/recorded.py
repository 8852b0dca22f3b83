"""Loaded trajectories as inputs that a model takes: they are (N, T, C), and the model may take (B, C, T)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor, nn

from crest._base.recorded import Recorded
from crest.strangers.model import StrangerModel


def inputs_of(
    data: Recorded, model: nn.Module | Callable[..., Any], channels_first: bool | None
) -> tuple[Tensor, bool]:
    """The signals as the model takes them, and whether that is (N, C, T): as the user says, else as the model accepts them.

    The model is asked about two trajectories, as they are and turned. One that takes both gets them as they are.

    Args:
        data: the trajectories.
        model: from `crest.probes.foreign.as_function`.
        channels_first: what the user says.
    """
    if channels_first is None:
        channels_first = not _takes(model, data.x[:2]) and _takes(model, data.x[:2].mT.contiguous())
    return (data.x.mT.contiguous() if channels_first else data.x), channels_first


def rows_of(events: Any, rows: Tensor, count: int) -> Any:
    """The user's events at these trajectories of N; what has other rows is refused by who reads it."""
    if not hasattr(events, "__len__") or len(events) != count:
        return events
    return events[rows] if isinstance(events, Tensor) else np.asarray(events)[rows.numpy()]


def _takes(model: nn.Module | Callable[..., Any], inputs: Tensor) -> bool:
    stranger = StrangerModel(model)
    try:
        with stranger.quiet():
            stranger.raw(inputs)
    except (
        Exception
    ):  # the user's code may raise anything; what it raises is told when the model is really called
        return False
    return True
