"""What the probes' public doors ask of their arguments."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from crest.arrays import StepMask


def require_shape(name: str, value: Tensor, letters: str, expected: Sequence[int | None]) -> None:
    """Nothing, or a ValueError that names the argument; `None` in `expected` stands for any positive size.

    Example:
        >>> require_shape("pooled", torch.zeros(2, 3), "(B, D)", (2, 4))
        Traceback (most recent call last):
        ValueError: pooled must have shape (B, D) = (2, 4), got (2, 3)
    """
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} must be a torch tensor, got {type(value).__name__}")
    fits = value.ndim == len(expected) and all(
        size > 0 if wanted is None else size == wanted
        for size, wanted in zip(value.shape, expected, strict=True)
    )
    if not fits:
        known = ", none of them empty" if None in expected else f" = {tuple(expected)}"
        raise ValueError(f"{name} must have shape {letters}{known}, got {tuple(value.shape)}")


def require_floating(name: str, value: Tensor) -> None:
    """Nothing, or a ValueError when the tensor holds integers, booleans or complex numbers.

    Example:
        >>> require_floating("inputs", torch.zeros(2))
    """
    if not value.is_floating_point():
        raise ValueError(f"{name} must be a floating point tensor, got {value.dtype}")


def require_finite(name: str, value: Tensor, mask: StepMask | None = None) -> None:
    """Nothing, or a ValueError that counts the NaN and infinite entries, padded steps left out.

    Example:
        >>> require_finite("pooled", torch.tensor([0.0, float("nan")]))
        Traceback (most recent call last):
        ValueError: pooled must be finite, got 1 NaN or infinite entries out of 2
    """
    entries = value if mask is None else value[mask]
    broken = int((~entries.isfinite()).sum())
    if broken:
        where = "" if mask is None else " on its valid steps"
        raise ValueError(
            f"{name} must be finite{where}, got {broken} NaN or infinite entries out of {entries.numel()}"
        )


def as_flags(name: str, value: Tensor, like: Tensor, validate: bool = True) -> StepMask:
    """The (B, T) flags as booleans on the device of `like`, whose first two sizes they must share.

    Booleans pass; integers pass if they are all 0 or 1, as label files store them. Floating point flags
    are refused: a soft mask or a vector of scores in the wrong place would pass unseen.

    Example:
        >>> as_flags("events", torch.tensor([[0, 1]]), torch.zeros(1, 2, 3))
        tensor([[False,  True]])
    """
    require_shape(name, value, "(B, T)", like.shape[:2])
    if value.is_floating_point() or value.is_complex():
        raise ValueError(
            f"{name} must hold booleans or the integers 0 and 1 ({name}.bool() converts), got {value.dtype}"
        )
    if value.dtype == torch.bool:
        return value.to(like.device)
    others = value[(value != 0) & (value != 1)] if validate else value[:0]
    if others.numel():
        raise ValueError(f"{name} must hold booleans or the integers 0 and 1, got {others[0].item()}")
    return value.to(like.device) != 0


def as_mask(mask: Tensor | None, like: Tensor, validate: bool = True) -> StepMask:
    """The mask as `as_flags` gives it; no mask means that every step is valid.

    Example:
        >>> as_mask(None, torch.zeros(1, 2, 3))
        tensor([[True, True]])
    """
    if mask is None:
        return torch.ones(like.shape[:2], dtype=torch.bool, device=like.device)
    return as_flags("mask", mask, like, validate)


def predictions(function: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    """The function's answer as (B,), after checking that it is one number per trajectory.

    Example:
        >>> predictions(lambda x: x.sum(1), torch.ones(2, 3, 1))
        tensor([3., 3.])
    """
    output = function(inputs)
    if not isinstance(output, Tensor) or output.shape not in {(len(inputs),), (len(inputs), 1)}:
        got = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise ValueError(
            f"function must return a tensor of shape (B,) or (B, 1), B = {len(inputs)}, got {got}"
        )
    return output.reshape(-1)
