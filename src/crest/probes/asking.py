"""How a function or a model is asked: nothing that it writes is left, and its prediction must depend on the trajectory alone."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from crest._base.rng import undisturbed
from crest._base.untouched import untouched
from crest.probes.batches import evaluating, in_batches, is_dense, shape_words

# our choice: docs/choices.md#repeatable
_ROWS = 32
_SAME = 1e-4
_ROUNDINGS = 16
_FEW = 0.1
_SMALL = 0.05


def require_callable(function: object, argument: str = "function") -> None:
    """Raise a ValueError unless this is a module or a function that can be called as it is.

    Example:
        >>> require_callable(nn.Linear, "model")
        Traceback (most recent call last):
        ValueError: model must be an instance, got the class Linear: call it to make one
    """
    if isinstance(function, type):
        raise ValueError(
            f"{argument} must be an instance, got the class {function.__name__}: call it to make one"
        )
    # By name: to ask for the class would load the exporter.
    exported = type(function).__name__ == "ExportedProgram"
    if exported or not callable(function):
        got = f"{type(function).__name__}{', which is called as its .module()' * exported}"
        raise ValueError(f"{argument} must be a module or a function, got {got}")


@contextlib.contextmanager
def quietly(function: Callable[..., object], argument: str = "function") -> Iterator[None]:
    """Evaluation mode without gradients inside the block; module and global states are afterwards as before, also after an error.

    Args:
        function: any callable. Of one that is no module, only what is global is put back.
        argument: what messages call it.

    Example:
        >>> norm = nn.BatchNorm1d(2)
        >>> with quietly(norm):
        ...     _ = norm.train()(torch.ones(4, 2))
        >>> norm.training, norm.num_batches_tracked
        (True, tensor(0))
    """
    with contextlib.ExitStack() as inside:
        inside.enter_context(undisturbed())
        if isinstance(function, nn.Module):
            inside.enter_context(untouched(function, argument))
            inside.enter_context(evaluating(function))
        inside.enter_context(torch.no_grad())
        yield


def require_predictions(found: object, rows: int, argument: str = "function", hint: str = "") -> None:
    """Raise a ValueError unless these are predictions: real numbers (B,), (B, 1) or (B, K) in a plain tensor.

    Example:
        >>> require_predictions(torch.zeros(3, 0), 3)
        Traceback (most recent call last):
        ValueError: function must return real numbers of shape (B,), (B, 1) or (B, K), B = 3, got (3, 0)
    """
    got = shape_words(found)
    if is_dense(found):
        fits = found.ndim in (1, 2) and len(found) == rows and 0 not in found.shape
        if fits and not found.is_complex():
            return
        got += f" of {found.dtype}" * found.is_complex()
    raise ValueError(
        f"{argument} must return real numbers of shape (B,), (B, 1) or (B, K), B = {rows}, got {got}{hint}"
    )


def require_repeatable(
    function: Callable[..., Tensor], parts: Sequence[Tensor], size: int, argument: str = "function"
) -> None:
    """Raise a ValueError unless each trajectory gets the same prediction again, in another order and in batches of other sizes too.

    What is exchanged between trajectories is else mixed with what the batch does. A warning if few predictions change, or all by
    little.

    Args:
        function: from the parts to predictions.
        parts: what it takes, a row for each trajectory; the first rows are asked about.
        size: how many trajectories it is asked about at most at once.
        argument: what messages call it.

    Example:
        >>> require_repeatable(lambda x: x - x.mean(0), [torch.arange(8.0)], 8, "model")
        Traceback (most recent call last):
        ValueError: model must give a trajectory the same prediction whatever else is in its batch, got others for 8 of 8 \
trajectories in another order and batch size: does it subtract a mean over the batch, or keep a normalisation in training mode?
    """
    rows = [part[: min(_ROWS, size)] for part in parts]
    first = in_batches(function, [rows])
    require_predictions(first, len(first), argument)
    if bool(_moved(first, in_batches(function, [rows])).any()):
        raise ValueError(
            f"{argument} must give the same prediction for the same inputs, got another one: is there dropout that does not listen "
            "to eval(), a state that is kept between calls, or a module inside a function that is still in training mode (call its "
            ".eval() first)?"
        )
    count = len(first)
    # Small batches differ most from one another. No batch of one: `squeeze` would take its axis away.
    pieces = max(1, count // (4 if count >= 8 else 2))
    turned = [part.flip(0).tensor_split(pieces) for part in rows]
    again = in_batches(function, list(zip(*turned, strict=True))).flip(0)
    moved = int(_moved(first, again).sum())
    if not moved:
        return
    words = f"whatever else is in its batch, got others for {moved} of {count} trajectories in another order and batch size"
    # What is small beside the spread of the predictions changes no share, and may be autocast's rounding.
    own, other = (found.reshape(count, -1).double() for found in (first, again))
    large = (other - own).square().mean() > _SMALL**2 * (own - own.mean(0)).square().mean()
    if moved > _FEW * count and bool(large):
        raise ValueError(
            f"{argument} must give a trajectory the same prediction {words}: does it subtract a mean over the batch, or keep a "
            "normalisation in training mode?"
        )
    warnings.warn(f"{argument} should give a trajectory the same prediction {words}", stacklevel=3)


def _moved(first: Tensor, again: Tensor) -> Tensor:
    """(B,): whose predictions changed by more than rounding, which sums of another size may do differently."""
    rounding = torch.finfo(first.dtype).eps if first.is_floating_point() else 0.0
    found = first.reshape(len(first), -1).double()
    scale = found.abs().max().clamp(min=torch.finfo(torch.float32).tiny)
    change = (again.reshape(len(again), -1).double() - found).abs().amax(1)
    return change > max(_SAME, _ROUNDINGS * rounding) * scale
