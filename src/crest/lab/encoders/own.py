"""An encoder from the user's own code: whatever its function makes, from (B, T, C) to (B, S, D)."""

import contextlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from crest._base.arguments import require
from crest._base.arrays import Signals, StridedFeatures
from crest.lab.encoders.base import Encoder
from crest.lab.own_code import OwnCode, in_one_sentence, own_function

OWN = "own"
"""The name under which runs know such encoders."""


class OwnEncoder(Encoder):
    """The module that a function of your own makes for a number of channels.

    Its width and its stride are found by a trial: zeros of the length of the windows go through it.

    Args:
        channels: number of input channels C; the function is called with it.
        factory: file.py:function or package.module:function.
        place: the Python file that it is in. Its place is no part of a run's name.
        content: what the file holds, as `OwnCode.content` names it. Another content is refused.
        steps: T of the windows.
    """

    def __init__(
        self, channels: int, *, factory: str = "", place: str = "", content: str = "", steps: int = 0
    ) -> None:
        require_own({"factory": factory, "place": place, "content": content, "steps": steps})
        module, _, function = factory.rpartition(":")
        code = OwnCode(Path(place), module, function)
        if not code.place.is_file():
            raise ValueError(f"encoder {factory} must be in a file that exists here, got {place!r}")
        if code.content() != content:
            raise ValueError(
                f"encoder {factory} must be as it was when the run was named: {place!r} was edited since. Start the run again"
            )
        make = own_function("encoder", code)
        _require_channels(factory, make)
        made = in_one_sentence(f"encoder {factory} must be made without an error", lambda: make(channels))
        if not isinstance(made, nn.Module):
            raise ValueError(f"encoder {factory} must return a torch.nn.Module, got {type(made).__name__}")
        found, stride = _trial(factory, made, steps, channels)
        super().__init__(channels, found.shape[2])
        self.module = made
        self.stride = stride

    def forward(self, x: Signals) -> StridedFeatures:
        """Step features (B, S, D)."""
        features: Tensor = self.module(x)
        return features


def require_own(options: Mapping[str, Any]) -> None:
    """Raise a ValueError unless these can be the options of an `OwnEncoder`; no code is run for that.

    Example:
        >>> require_own({"factory": "cnn.py:make", "place": "cnn.py", "content": "0a", "steps": 100})
    """
    for name in ("factory", "place", "content"):
        if not isinstance(options.get(name), str) or not options[name]:
            raise ValueError(f"{name} must be given for an encoder of your own, got {options.get(name)!r}")
    require("steps", options.get("steps"), "be a whole number, 1 or more")


def _require_channels(factory: str, make: Callable[..., Any]) -> None:
    """Raise a ValueError unless the function can be called with one argument."""
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):  # some functions built in C have no known signature
        return
    try:
        signature.bind(1)
    except TypeError as error:
        name = factory.rpartition(":")[2]
        raise ValueError(
            f"encoder {factory} must take the number of channels, as in def {name}(channels), got {name}{signature}"
        ) from error


def _trial(factory: str, made: nn.Module, steps: int, channels: int) -> tuple[Tensor, int]:
    """What the encoder makes of two silent windows, if that is features of steps; and its stride."""
    made.eval()
    with torch.no_grad():
        given = (2, steps, channels)
        try:
            rule = f"encoder {factory} must take (B, T, C) = {given}"
            found = in_one_sentence(rule, lambda: made(torch.zeros(given)))
        except ValueError as error:
            first = _takes(made, (2, channels, steps)) is not None
            hint = "; it takes (B, C, T): x.mT inside forward turns the axes" if first else ""
            raise ValueError(f"{error}{hint}") from error
        rule = f"encoder {factory} must give features (B, S, D) with B = 2 and S at most {steps}"
        if not isinstance(found, Tensor):
            raise ValueError(f"{rule}, got {type(found).__name__}")
        shape = tuple(found.shape)
        if len(shape) != 3 or shape[0] != 2 or not 1 <= shape[1] <= steps or not shape[2]:
            raise ValueError(f"{rule}, got shape {shape}")
        if not found.is_floating_point():
            raise ValueError(f"{rule}, as floating-point numbers, got {found.dtype}")
        half = max(steps // 2, 1)
        shorter = _takes(made, (2, half, channels))
        # The axis of time is the one that has fewer steps when the window has.
        shorter = None if shorter is None or shorter.ndim != 3 else shorter
        if shorter is not None and shorter.shape[1] == shape[1] and shorter.shape[2:] != shape[2:]:
            raise ValueError(f"{rule}, got (B, D, S) = {shape}: .mT turns the axes")
    made.train()
    # What a window of half the length loses is free of the steps that convolutions without padding lose at the ends.
    fewer = shape[1] - (shape[1] if shorter is None else shorter.shape[1])
    stride = (steps - half) / fewer if fewer > 0 else steps / shape[1]
    return found, max(round(stride), 1)


def _takes(made: nn.Module, shape: tuple[int, int, int]) -> Tensor | None:
    """What the encoder gives for signals of this shape; None if the encoder rejects this shape."""
    # The user's code may raise anything, and it may fail here without being wrong.
    with contextlib.suppress(Exception):
        found = made(torch.zeros(shape))
        return found if isinstance(found, Tensor) else None
    return None
