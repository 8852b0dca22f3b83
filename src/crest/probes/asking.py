"""How a function or a model is asked: nothing that it writes is left, and its prediction must depend on the trajectory alone."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from crest._base.rng import undisturbed
from crest._base.untouched import untouched
from crest.probes.batches import batches_of, evaluating, in_batches, is_dense, shape_words
from crest.probes.foreign import MEMORY_ERRORS, error_words

# our choice: docs/evidence/choices.md#repeatable
_ROWS = 32
_ALONE = 8
_SAME = 1e-4
_ROUNDINGS = 16
_FEW = 0.1
_SMALL = 0.05


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


@contextlib.contextmanager
def asked_about(what: str, why: str, argument: str = "function") -> Iterator[None]:
    """Inside the block a model is asked about signals that were changed: if it fails on them, the error says which they were.

    It has predicted on the signals as they are by then, so what is changed is what it fails on.

    Args:
        what: it is asked about.
        why: it is asked.
        argument: what messages call it.

    Example:
        >>> with asked_about("a background alone", "to see what it predicts without a transient"):
        ...     raise ZeroDivisionError("division by zero")
        Traceback (most recent call last):
        crest.probes.asking.ChangedSignalsError: function must take a background alone, which crest asks it about to see what it predicts without a \
transient; it failed with ZeroDivisionError: division by zero. Such a signal may be constant, so that a kurtosis or a ratio is NaN: \
give a number for it, such as numpy.nan_to_num(features)
    """
    try:
        yield
    except (*MEMORY_ERRORS, ChangedSignalsError):
        raise
    except Exception as error:
        raise ChangedSignalsError(
            f"{argument} must take {what}, which crest asks it about {why}; it failed with {error_words(error)}. "
            "Such a signal may be constant, so that a kurtosis or a ratio is NaN: give a number for it, such as "
            "numpy.nan_to_num(features)"
        ) from error


class ChangedSignalsError(ValueError):
    """A model failed on signals that crest made of those that it was given; the cause is its own error."""


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
    """Raise a ValueError unless each trajectory gets the same prediction again, whatever else is in its batch and how many they are.

    What is exchanged between trajectories is else mixed with what the batch does. A warning if few predictions change, or all by
    little. A batch of another size that the function fails on is left out: it may take one size only, or need an axis of two.

    Args:
        function: from the parts to predictions.
        parts: what it takes, a row for each trajectory; the first 32 are asked about.
        size: how many trajectories it is asked about at most at once; with 1 it is asked about two here.
        argument: what messages call it.

    Example:
        >>> require_repeatable(lambda x: x - x.mean(0), [torch.arange(8.0)], 8, "model")
        Traceback (most recent call last):
        ValueError: model must give a trajectory the same prediction whatever else is in its batch, got others for 8 of 8 \
trajectories in another order and batch size: does it subtract a mean over the batch, or keep a normalisation in training mode?
    """
    rows = [part[:_ROWS] for part in parts]
    first = in_batches(function, batches_of(*rows, size=size))
    count = len(first)
    require_predictions(first, count, argument)
    if bool(_moved(first, in_batches(function, batches_of(*rows, size=size))).any()):
        raise ValueError(
            f"{argument} must give the same prediction for the same inputs, got another one: is there dropout that does not listen "
            "to eval(), a state that is kept between calls, or a module inside a function that is still in training mode (call its "
            ".eval() first)?"
        )
    again = _furthest(function, rows, first, size)
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


def _furthest(function: Callable[..., Tensor], rows: Sequence[Tensor], first: Tensor, size: int) -> Tensor:
    """Of all predictions for each row in batches of other rows and sizes, the one furthest from its first."""
    own, found = first.double(), first.clone()
    furthest = torch.zeros(len(first), dtype=torch.float64)
    for batches in _compositions(len(first), size):
        for chosen in batches:
            try:
                asked = in_batches(function, [tuple(part[chosen] for part in rows)])
            except MEMORY_ERRORS:
                raise
            except Exception:
                # It takes none of this size. What it fails on in the sizes that it is asked about is told there.
                break
            if asked.shape[1:] != first.shape[1:]:
                break
            change = (asked.double() - own[chosen]).abs().reshape(len(chosen), -1).amax(1).tolist()
            for row, one, moved in zip(chosen.tolist(), asked, change, strict=True):
                if moved > furthest[row]:
                    furthest[row], found[row] = moved, one
    return found


def _compositions(count: int, size: int) -> Iterator[list[Tensor]]:
    """Batches that hold each of the rows beside others than in batches of `size` in their order: small, odd, as large, and alone.

    Rows are repeated to fill a batch, so that there are two different batches even of two rows.
    """
    # All rows were in one batch before: two of the same size are other ones. With a size of 1 they were in none.
    least = 2 if size >= count else 1
    # Small batches differ most from one another.
    for length in sorted({min(one, max(2, size)) for one in (3, 4, count)}):
        # Turned and shifted: pairs of neighbours have other partners then.
        pieces = torch.arange(count).flip(0).roll(1).tensor_split(min(count, max(least, -(-count // length))))
        yield [piece.repeat(length)[:length] for piece in pieces]
    yield [torch.tensor([row]) for row in range(min(count, _ALONE))]


def _moved(first: Tensor, again: Tensor) -> Tensor:
    """(B,): whose predictions changed by more than rounding, which sums of another size may do differently."""
    rounding = torch.finfo(first.dtype).eps if first.is_floating_point() else 0.0
    found = first.reshape(len(first), -1).double()
    scale = found.abs().max().clamp(min=torch.finfo(torch.float32).tiny)
    change = (again.reshape(len(again), -1).double() - found).abs().amax(1)
    return change > max(_SAME, _ROUNDINGS * rounding) * scale
