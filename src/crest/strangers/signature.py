"""By which argument a model takes the valid steps of its trajectories, read from its signature."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

_LENGTHS = re.compile(r"(?!max|min|total)(.*_)?(seq)?(len|lens|length|lengths)")
"""Names under which models take how many steps of each trajectory are valid."""
_MASK = re.compile(r"(.*_)?(mask|masks|valid|valid_steps)")
"""Names under which models take a mask beside lengths, or behind other arguments."""


def argument_names(model: Callable[..., Any]) -> list[str]:
    """The names of what a model takes, in their order; none if Python cannot tell.

    Example:
        >>> argument_names(lambda x, mask=None: x)
        ['x', 'mask']
    """
    return list(_arguments(model))


def takes_mask_by_name(model: Callable[..., Any]) -> bool:
    """Whether the model has an argument `mask`.

    Example:
        >>> takes_mask_by_name(nn.Linear(2, 1))
        False
    """
    return "mask" in _arguments(model)


def mask_keyword(model: Callable[..., Any]) -> str | None:
    """The name under which a model must be given its mask; None if the second place will do, or lengths are what it takes.

    Example:
        >>> mask_keyword(lambda x, scale=1, mask=None: x), mask_keyword(lambda x, **options: x), mask_keyword(lambda x, valid: x)
        ('mask', 'mask', None)
        >>> mask_keyword(lambda x, seq_lens=None, valid=None: x)
        'valid'
    """
    found = _parameters(model)
    names = list(_arguments(model))
    own = _mask_argument(model)
    if own == "mask" or (own is not None and own != names[1]):
        return own
    kinds = {one.kind for one in found.values()}
    some = inspect.Parameter.VAR_KEYWORD in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds
    return "mask" if some and len(names) == 1 else None


def needs_mask(model: Callable[..., Any]) -> bool:
    """Whether the model has an argument `mask` that must be given.

    Example:
        >>> needs_mask(lambda x, mask: x), needs_mask(lambda x, mask=None: x), needs_mask(nn.Linear(2, 1))
        (True, False, False)
    """
    return _arguments(model).get("mask", False)


def length_argument(model: Callable[..., Any]) -> str | None:
    """The name of the argument by which a model takes lengths (B,) in the place of a mask; None if it takes none.

    Example:
        >>> length_argument(lambda x, lengths: x), length_argument(lambda x, mask, lengths: x), length_argument(nn.ReLU())
        ('lengths', None, None)
    """
    return None if _mask_argument(model) is not None else _named_lengths(list(_arguments(model)))


def length_beside_mask(model: Callable[..., Any]) -> str | None:
    """The name of the argument by which a model takes lengths beside a mask; None if it does not take both.

    Example:
        >>> length_beside_mask(lambda x, mask, lengths: x), length_beside_mask(lambda x, lengths: x)
        ('lengths', None)
    """
    return None if _mask_argument(model) is None else _named_lengths(list(_arguments(model)))


def needed_lengths(model: Callable[..., Any]) -> str | None:
    """The name of the argument by which a model must be given lengths beside a mask.

    Example:
        >>> needed_lengths(lambda x, mask, lengths: x), needed_lengths(lambda x, mask, lengths=None: x)
        ('lengths', None)
    """
    name = length_beside_mask(model)
    return name if name is not None and _arguments(model)[name] else None


def names_mask(argument: str | None) -> bool:
    """Whether an argument of this name is a mask, of valid or of padded steps.

    Example:
        >>> names_mask("attention_mask"), names_mask("valid"), names_mask("labels"), names_mask(None)
        (True, True, False, False)
    """
    return argument is not None and any(part in argument for part in ("mask", "valid", "pad"))


def is_mask(value: object, argument: str | None, shape: tuple[int, int]) -> bool:
    """Whether what a model is given under this name is a mask of its steps: the name says so, or there is a flag for each step.

    Args:
        value: of the argument; numbers (B, T) under another name may be anything, such as times.
        argument: its name, if that is known.
        shape: (B, T) of the signals. The value may have other axes.

    Example:
        >>> flags = torch.ones(2, 5, dtype=torch.bool)
        >>> is_mask(flags, "m", (2, 5)), is_mask(flags.float(), "time", (2, 5)), is_mask(flags.float(), "mask", (2, 5))
        (True, False, True)
    """
    if not isinstance(value, Tensor):
        return False
    return names_mask(argument) or (value.dtype == torch.bool and value.numel() == shape[0] * shape[1])


def step_argument(model: Callable[..., Any]) -> str | None:
    """The name of the argument by which a model takes a mask, or lengths; None if Python cannot tell.

    Example:
        >>> step_argument(lambda x, valid: x), step_argument(lambda x, scale, mask: x), step_argument(nn.ReLU())
        ('valid', 'mask', None)
    """
    names = list(_arguments(model))
    return _mask_argument(model) or length_argument(model) or (names[1] if len(names) > 1 else None)


def require_valid_steps(argument: str | None) -> None:
    """Raise a ValueError if the argument that takes the mask is named after padding: it would be read the other way round.

    Example:
        >>> require_valid_steps("valid")
    """
    if argument is not None and _LENGTHS.fullmatch(argument) is None and "pad" in argument:
        raise ValueError(
            f"mask is True where a step is valid, and the model takes it as {argument!r}: wrap the model, such as "
            f"lambda x, mask: model(x, ~mask)"
        )


def _named_lengths(names: list[str]) -> str | None:
    return next((name for name in names[1:] if _LENGTHS.fullmatch(name)), None)


def _mask_argument(model: Callable[..., Any]) -> str | None:
    """The argument that is a mask by its name. One with a number or a flag by default, such as `return_mask=False`, is an option."""
    found = _parameters(model)
    if "mask" in _arguments(model):
        return "mask"
    return next(
        (
            name
            for name in list(_arguments(model))[1:]
            if _MASK.fullmatch(name)
            and (found[name].default is None or found[name].default is inspect.Parameter.empty)
        ),
        None,
    )


def _arguments(model: Callable[..., Any]) -> dict[str, bool]:
    """The names of what it takes, and whether it needs them; none if Python cannot tell."""
    any_number = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        name: one.default is one.empty
        for name, one in _parameters(model).items()
        if one.kind not in any_number
    }


def _parameters(model: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(model.forward if isinstance(model, nn.Module) else model).parameters
    except (TypeError, ValueError):
        return {}
