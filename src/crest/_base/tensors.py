"""What a door asks of tensors: shape, dtype, finite values, and flags of steps.

A `require_` function raises a ValueError or returns nothing; an `as_` function returns the value in the form that
the code behind the door works with. The messages have the form of `crest._base.arguments`.

While a graph is traced (compiled, exported) values do not exist yet, and a comparison of shapes would fix a dynamic
axis. A door that can be traced asks `torch.compiler.is_compiling()` and then checks by `require_traced`; `as_flags` does so by itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from crest._base.arguments import require_shape
from crest._base.arrays import StepMask, at_least_float32


def require_tensor(name: str, value: object, letters: str, expected: Sequence[int | None]) -> None:
    """Raise a ValueError if the value is no tensor, or one of another shape; see `require_shape`.

    Example:
        >>> require_tensor("mask", [[True]], "(B, T)", (1, 1))
        Traceback (most recent call last):
        ValueError: mask must be a torch tensor, got list
    """
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} must be a torch tensor, got {type(value).__name__}")
    require_plain(name, value)
    require_shape(name, value, letters, expected)


_FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
_WHOLE = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
# A complex tensor passes here: the rule behind says that numbers are real.
_NUMBERS = _FLOATS | _WHOLE | {torch.complex64, torch.complex128}


def require_plain(name: str, value: Tensor) -> None:
    """Raise a ValueError for a tensor that few operations take: nested, sparse, quantised, on the meta device, or of 8 bits and fewer.

    `crest._base.doors` asks this of every tensor among the arguments of a public function.

    Example:
        >>> require_plain("features", torch.zeros(2, 3).to_sparse())
        Traceback (most recent call last):
        ValueError: features must be a dense tensor (to_dense() makes one), got the layout torch.sparse_coo
    """
    if value.is_nested:
        raise ValueError(
            f"{name} must be a padded tensor with a mask (torch.nested.to_padded_tensor makes one), got a nested tensor"
        )
    if value.layout is not torch.strided:
        raise ValueError(
            f"{name} must be a dense tensor (to_dense() makes one), got the layout {value.layout}"
        )
    if value.is_meta and not torch.compiler.is_compiling():
        raise ValueError(f"{name} must hold numbers, got a tensor on the meta device, which has none")
    if value.dtype not in _NUMBERS:
        raise ValueError(
            f"{name} must hold floating point numbers of 16 bits or more, integers or booleans, got {value.dtype}"
        )


def require_traced(name: str, value: Tensor, letters: str, rank: int, like: Tensor | None = None) -> None:
    """Raise a ValueError for what a traced graph would take in silence: another rank, or a size of 1 that spreads.

    It fixes no dynamic axis: a size of 1 is told apart from all others in any trace.

    Args:
        name: of the argument, for the message.
        value: what is traced.
        letters: its axes.
        rank: how many.
        like: a tensor with whose first axes it must agree.

    Example:
        >>> require_traced("mask", torch.ones(2, 1), "(B, T)", 2, torch.zeros(2, 5, 3))
        Traceback (most recent call last):
        ValueError: mask must have shape (B, T), got one of size 1 that would spread over all steps
    """
    if value.ndim != rank:
        raise ValueError(f"{name} must have shape {letters}, got {value.ndim} axes")
    for axis, what in () if like is None else ((0, "trajectories"), (1, "steps")):
        if value.shape[axis] == 1 and like is not None and like.shape[axis] != 1:
            raise ValueError(
                f"{name} must have shape {letters}, got one of size 1 that would spread over all {what}"
            )


def require_floating(name: str, value: Tensor) -> None:
    """Raise a ValueError if the tensor holds integers, booleans or complex numbers.

    Example:
        >>> require_floating("inputs", torch.zeros(2, dtype=torch.int64))
        Traceback (most recent call last):
        ValueError: inputs must be a floating point tensor, got torch.int64
    """
    if value.dtype not in _FLOATS:
        raise ValueError(f"{name} must be a floating point tensor, got {value.dtype}")


def require_series(name: str, value: Tensor, letters: str) -> None:
    """Raise a ValueError unless this is a floating point tensor of trajectories, steps and channels, none of them 0.

    Example:
        >>> require_series("features", torch.zeros(4, 0, 3), "(B, T, D)")
        Traceback (most recent call last):
        ValueError: features must have shape (B, T, D), none of them 0, got (4, 0, 3)
    """
    require_tensor(name, value, letters, (None, None, None))
    require_floating(name, value)


def _in_words(index: list[int]) -> str:
    """Where a number stands, in signals and features (B, T, C) by the names of their axes."""
    return "row {}, step {}, channel {}".format(*index) if len(index) == 3 else f"index {index}"


def require_finite(
    name: str,
    value: Tensor,
    mask: StepMask | None = None,
    *,
    place: Callable[[list[int]], str] = _in_words,
) -> None:
    """Raise a ValueError if the tensor holds NaN or infinity; what stands on padded steps does not matter.

    Args:
        name: of the argument, for the message.
        value: the tensor.
        mask: its valid steps, if its first axes are (B, T).
        place: from an index to the words of the message, if the user has the tensor in another form.

    Example:
        >>> require_finite("pooled", torch.tensor([[0.0, float("nan")]]))
        Traceback (most recent call last):
        ValueError: pooled must be finite, got 1 NaN or infinite values, the first at index [0, 1]
    """
    # One sum is some twenty times faster than a test of each value; only a sum that is not finite needs that.
    if torch.isfinite(value.detach().sum()):
        return
    bad = ~value.isfinite()
    if mask is not None:
        bad = bad & mask.reshape(*mask.shape, *[1] * (bad.ndim - mask.ndim))
    places = bad.nonzero()
    if len(places):
        where = "" if mask is None else " at valid steps"
        raise ValueError(
            f"{name} must be finite{where}, got {len(places)} NaN or infinite values, "
            f"the first at {place(places[0].tolist())}"
        )


# Their squares, summed over ten million steps, and what is made of them (louder, exchanged, less their background) stay below the
# end of float32; our choice: docs/evidence/choices.md#size-of-signals
_LARGEST = 1e12


def largest_signal(dtype: torch.dtype) -> float:
    """How large signals of a dtype may be: 1e12, and a quarter of its range in half precision.

    Example:
        >>> largest_signal(torch.float32), largest_signal(torch.float16)
        (1000000000000.0, 16376.0)
    """
    return min(_LARGEST, torch.finfo(dtype).max / 4)


def require_signals(
    name: str,
    value: Tensor,
    mask: StepMask | None = None,
    *,
    place: Callable[[list[int]], str] = _in_words,
) -> None:
    """Raise a ValueError if signals hold NaN or infinity, or numbers so large that their spectrum would; see `require_finite`.

    Example:
        >>> require_signals("x", torch.tensor([[[0.0], [1e30]]]))
        Traceback (most recent call last):
        ValueError: x must hold numbers of at most 1e+12 in size (take larger units), got 1e+30 at row 0, step 1, channel 0
    """
    if not value.is_floating_point() or not value.numel():
        require_finite(name, value, mask, place=place)
        return
    limit = largest_signal(value.dtype)
    # The norm is the fastest pass. If it is small enough, so is each number.
    if torch.linalg.vector_norm(value.detach(), dtype=at_least_float32(value)) <= limit:
        return
    require_finite(name, value, mask, place=place)
    size = value.detach().abs()
    if mask is not None:
        size = size.masked_fill(~mask.reshape(*mask.shape, *[1] * (size.ndim - mask.ndim)), 0.0)
    places = (size > limit).nonzero()
    if len(places):
        first = places[0].tolist()
        raise ValueError(
            f"{name} must hold numbers of at most {limit:g} in size (take larger units), got {value[tuple(first)].item():g} "
            f"at {place(first)}"
        )


def as_flags(name: str, value: Tensor, like: Tensor, validate: bool = True) -> StepMask:
    """The flags (B, T) as booleans on the device of `like` (B, T, ...), with whose steps they must agree.

    Booleans pass. Integers pass if they are all 0 or 1, as label files and tokenizers store them. Floating point
    flags are refused: a soft mask, or a vector of scores in the wrong place, would pass unseen.

    Args:
        name: of the argument, for the message.
        value: the flags.
        like: a tensor whose first two axes are those of the flags.
        validate: False takes integers on trust: to read their values is to wait for a GPU.

    Example:
        >>> as_flags("events", torch.tensor([[0, 1]]), torch.zeros(1, 2, 3))
        tensor([[False,  True]])
    """
    # Beside a tensor on the meta device flags may be there too: such a call asks for shapes.
    tracing = torch.compiler.is_compiling() or (like.is_meta and not validate)
    if tracing:
        require_traced(name, value, "(B, T)", 2, like)
    else:
        require_tensor(name, value, "(B, T)", like.shape[:2])
    if value.is_floating_point() or value.is_complex():
        raise ValueError(
            f"{name} must hold booleans or the integers 0 and 1 ({name}.bool() converts), got {value.dtype}"
        )
    if value.dtype != torch.bool:
        if validate and not tracing:
            others = value[(value != 0) & (value != 1)]
            if others.numel():
                raise ValueError(f"{name} must hold booleans or the integers 0 and 1, got {others[0].item()}")
        value = value != 0
    return value if value.device == like.device else value.to(like.device)


def as_mask(mask: Tensor | None, like: Tensor, validate: bool = True) -> StepMask | None:
    """The mask as `as_flags` gives it, and None if there is none: `crest._base.arrays.valid_steps` fills that in.

    Example:
        >>> as_mask(torch.tensor([[1, 0]]), torch.zeros(1, 2, 3)), as_mask(None, torch.zeros(1, 2, 3))
        (tensor([[ True, False]]), None)
    """
    return None if mask is None else as_flags("mask", mask, like, validate)


def as_signals(
    name: str,
    value: Tensor,
    mask: Tensor | None,
    letters: str = "(B, T, C)",
    *,
    channels_first: bool = False,
    validate: bool = True,
) -> tuple[Tensor, StepMask | None]:
    """Signals (B, T, C) and their mask, or None: what every door for signals asks of them.

    NaN and infinity at valid steps are refused: a filter spreads them and a ranking loses them; and so is what is larger than
    `largest_signal`, which would become NaN or infinity on the way. What stands on padding
    does not matter. While a graph is traced, ranks and dtypes are checked and no more.

    Args:
        name: of the argument, for the message.
        value: (B, T, C), or (B, C, T) with `channels_first`.
        mask: valid steps (B, T), or None for all.
        letters: the axes, for the message.
        channels_first: whether channels come before time.
        validate: False takes values on trust: to read them is to wait for a GPU.

    Example:
        >>> as_signals("x", torch.tensor([[[1.0], [float("nan")]]]), None)
        Traceback (most recent call last):
        ValueError: x must be finite, got 1 NaN or infinite values, the first at row 0, step 1, channel 0
    """
    letters = "(B, C, T)" if channels_first else letters
    tracing = torch.compiler.is_compiling()
    if tracing:
        require_traced(name, value, letters, 3)
        require_floating(name, value)
    else:
        require_series(name, value, letters)
        # A negated view, such as `z.conj().imag`, has its sign beside its memory: operators of our own do not read it.
        value = value.resolve_neg()
    signals = value.transpose(1, 2) if channels_first else value
    valid = as_mask(mask, signals, validate)
    if validate and not tracing:
        require_signals(name, signals, valid)
    return signals, valid


def as_per_trajectory(subject: str, value: object, trajectories: int) -> Tensor:
    """The value as (B,), if it is one number per trajectory, (B,) or (B, 1).

    Args:
        subject: the beginning of the message, such as "targets must be".
        value: what should be such a tensor.
        trajectories: the number B.

    Example:
        >>> as_per_trajectory("targets must be", torch.zeros(2, 3), 2)
        Traceback (most recent call last):
        ValueError: targets must be a tensor of shape (B,) or (B, 1), B = 2, got (2, 3)
    """
    if isinstance(value, Tensor) and value.shape in {(trajectories,), (trajectories, 1)}:
        return value.reshape(-1)
    got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
    raise ValueError(f"{subject} a tensor of shape (B,) or (B, 1), B = {trajectories}, got {got}")


def as_targets(subject: str, value: object, trajectories: int) -> Tensor:
    """The value as (B,), if it is one number per trajectory; several labels (B, L) of 0 and 1 as they are.

    Args:
        subject: as in `as_per_trajectory`.
        value: what should be such a tensor.
        trajectories: the number B.

    Example:
        >>> as_targets("targets must be", torch.ones(2, 3), 2).shape
        torch.Size([2, 3])
    """
    several = (
        isinstance(value, Tensor) and value.ndim == 2 and len(value) == trajectories and value.shape[1] > 1
    )
    if several and isinstance(value, Tensor) and bool(((value == 0) | (value == 1)).all()):
        return value
    return as_per_trajectory(subject, value, trajectories)


def predictions(
    function: Callable[[Tensor], Tensor], inputs: Tensor, target: int | Tensor | None = None
) -> Tensor:
    """The function's predictions as (B,), if they are one number per trajectory; with a target, that output of (B, K).

    Args:
        function: any callable.
        inputs: what it is asked about.
        target: which of the K outputs, one for all trajectories or one for each, (B,).

    Example:
        >>> predictions(lambda x: x.sum(1), torch.ones(2, 3, 1))
        tensor([3., 3.])
        >>> predictions(lambda x: x[:, 0], torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]), torch.tensor([0, 1]))
        tensor([1., 4.])
    """
    answer: object = function(inputs)
    if isinstance(answer, Tensor):
        require_plain("what function returns", answer)
    if target is not None:
        return _chosen(answer, len(inputs), target)
    try:
        return as_per_trajectory("function must return", answer, len(inputs))
    except ValueError as error:
        if not is_several(answer, len(inputs)):
            raise
        raise ValueError(f"{error}: target= says which of its outputs is asked for") from error


def is_several(answer: object, trajectories: int) -> bool:
    """Whether predictions have several outputs for each trajectory, (B, K), such as logits.

    Example:
        >>> is_several(torch.zeros(2, 3), 2), is_several(torch.zeros(2, 1), 2)
        (True, False)
    """
    return (
        isinstance(answer, Tensor)
        and answer.ndim == 2
        and len(answer) == trajectories
        and answer.shape[1] > 1
    )


def _chosen(answer: object, trajectories: int, target: int | Tensor) -> Tensor:
    """The output (B,) that the target chooses among those of (B, K)."""
    if not isinstance(answer, Tensor) or answer.ndim != 2 or len(answer) != trajectories:
        got = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
        raise ValueError(
            f"function must return a tensor of shape (B, K), B = {trajectories}, if target is given, got {got}"
        )
    asked = torch.as_tensor(target, device=answer.device)
    if asked.dtype == torch.bool or asked.is_floating_point() or asked.is_complex():
        raise ValueError(f"target must be a whole number, or hold whole numbers, got {asked.dtype}")
    if asked.shape not in {(), (trajectories,)}:
        raise ValueError(
            f"target must be a whole number or a tensor of shape (B,) = ({trajectories},), got {tuple(asked.shape)}"
        )
    outside = asked[(asked < 0) | (asked >= answer.shape[1])]
    if outside.numel():
        raise ValueError(
            f"target must lie in [0, {answer.shape[1] - 1}], the outputs of function, got {outside[0].item()}"
        )
    return answer.gather(1, asked.to(torch.int64).expand(trajectories)[:, None])[:, 0]


def as_tensor(name: str, value: Any) -> Tensor | None:
    """A tensor, an array or a list of numbers as a tensor without a gradient; None stays None.

    Example:
        >>> as_tensor("targets", np.arange(2)), as_tensor("targets", [0.5, 1.0])
        (tensor([0, 1]), tensor([0.5000, 1.0000], dtype=torch.float64))
    """
    if value is None:
        return None
    if isinstance(value, Tensor):
        require_plain(name, value)
        return value.detach()
    packed = isinstance(value, PackedSequence)
    if isinstance(value, list | tuple) and not packed:
        try:
            # NumPy reads no tensor that has a gradient.
            value = np.asarray([one.detach().cpu() if isinstance(one, Tensor) else one for one in value])
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"{name} must be numbers, got a list of several lengths or kinds") from error
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufc":
            first = value.flat[0] if value.size else None
            got = f"an array of {value.dtype}"
            if isinstance(first, str):
                number = ": number the classes from 0 to K - 1, in the order of the model's outputs"
                got = f"text such as {str(first)!r}{number if name.startswith('targets') else ''}"
            raise ValueError(f"{name} must be numbers, got {got}")
        return torch.from_numpy(np.ascontiguousarray(value))
    way = ": pad_packed_sequence(packed, batch_first=True) gives tensor and lengths" if packed else ""
    raise ValueError(f"{name} must be a tensor or an array, got {type(value).__name__}{way}")
