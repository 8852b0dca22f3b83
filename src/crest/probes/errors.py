"""One number for how far predictions are from targets."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from crest._base.arrays import at_least_float32
from crest._base.doors import door
from crest._base.tensors import as_per_trajectory

ErrorOf: TypeAlias = Callable[[Tensor, Tensor], Tensor | float]
"""From predictions (B,) or (B, K) and targets (B,) to one number."""


# our choice: docs/evidence/choices.md#few-classes
MOST_CLASSES = 20


@door
def rmse(prediction: Tensor, target: Tensor) -> Tensor:
    """Root mean square error.

    Example:
        >>> rmse(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
        tensor(1.4142)
    """
    if prediction.shape != target.shape or torch.bool in (prediction.dtype, target.dtype):
        raise ValueError(
            "prediction and target must be numbers of one shape, got "
            f"{tuple(prediction.shape)} of {prediction.dtype} and {tuple(target.shape)} of {target.dtype}"
        )
    difference = prediction - target
    # The square of a number of 1e30 is beyond float32, though the error itself is not.
    scale = difference.detach().abs().amax() if difference.numel() else difference.new_zeros(())
    found = difference.square().mean().sqrt()
    if torch.compiler.is_compiling() or bool(torch.isfinite(found)) or not bool(torch.isfinite(scale)):
        return found
    return scale * (difference / scale).square().mean().sqrt()


@door
def error_rate(predictions: Tensor, targets: Tensor) -> Tensor:
    """Share of wrong classes: the highest of logits (B, K) is the prediction, the targets (B,) are numbers of classes.

    Example:
        >>> error_rate(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0]))
        tensor(0.5000)
    """
    found, wanted = _classes(predictions, targets)
    return (found != wanted).to(at_least_float32(predictions)).mean()


@door
def macro_f1(predictions: Tensor, targets: Tensor) -> Tensor:
    """Mean over classes of the F1 of logits (B, K): each class counts the same, however rare it is. More is better.

    F1 is the harmonic mean of precision and recall. The mean is over the classes that occur, as targets or as predictions.

    Example:
        >>> always_first = torch.tensor([[2.0, 1.0]]).expand(4, 2)
        >>> targets = torch.tensor([0, 0, 0, 1])
        >>> error_rate(always_first, targets), macro_f1(always_first, targets)
        (tensor(0.2500), tensor(0.4286))
    """
    found, wanted = _classes(predictions, targets)
    classes = torch.arange(predictions.shape[1], device=wanted.device)[:, None]
    answered, true = found == classes, wanted == classes
    count = answered.sum(1) + true.sum(1)
    # Twice the hits over both counts is the harmonic mean of precision and recall.
    scores = (2 * (answered & true).sum(1)).to(at_least_float32(predictions)) / count.clamp(min=1)
    return scores[count > 0].mean()


def _classes(predictions: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Classes that were predicted and those that are true, both (B,)."""
    numbers = not predictions.is_complex() and predictions.dtype != torch.bool
    if predictions.ndim != 2 or predictions.shape[1] < 2 or not numbers:
        raise ValueError(
            "predictions must be logits of shape (B, K), K = 2 or more, got "
            f"{tuple(predictions.shape)} of {predictions.dtype}"
        )
    wanted = as_per_trajectory("targets must be", targets, len(predictions)).to(predictions.device)
    if not len(wanted) or not are_classes(wanted, predictions.shape[1]):
        kind = "none" if not len(wanted) else f"{wanted.dtype} from {wanted.min()} to {wanted.max()}"
        raise ValueError(
            f"targets must be numbers of classes from 0 to {predictions.shape[1] - 1}, one or more, got {kind}"
        )
    return predictions.argmax(1), wanted.to(torch.int64)


def are_classes(targets: Tensor, classes: int) -> bool:
    """Whether all targets are class numbers below `classes`: 0, 1, ..., as whole numbers or as floats.

    Example:
        >>> are_classes(torch.tensor([0.0, 2.0]), 3), are_classes(torch.tensor([0.5]), 3), are_classes(torch.tensor([3]), 3)
        (True, False, False)
    """
    if targets.is_complex() or targets.dtype == torch.bool:
        return False
    return bool(((targets == targets.floor()) & (targets >= 0) & (targets < classes)).all())


@door
def label_error_rate(predictions: Tensor, targets: Tensor, threshold: float | None = None) -> Tensor:
    """Share of wrong labels, of several that may each be there or not: predictions (B, L), targets (B, L) of 0 and 1.

    Args:
        predictions: logits, or probabilities.
        targets: 1 for a label that is there, else 0.
        threshold: a label is predicted above it. By default 0.5 if all predictions lie in [0, 1], as probabilities do, else 0.

    Example:
        >>> label_error_rate(torch.tensor([[2.0, -1.0], [3.0, 1.0]]), torch.tensor([[1, 0], [1, 0]]))
        tensor(0.2500)
    """
    if (
        predictions.shape != targets.shape
        or predictions.ndim != 2
        or not bool(((targets == 0) | (targets == 1)).all())
    ):
        raise ValueError(
            "predictions and targets must be of one shape (B, L), and targets 0 or 1, got "
            f"{tuple(predictions.shape)} and {tuple(targets.shape)}"
        )
    limit = label_threshold(predictions) if threshold is None else threshold
    wrong = (predictions > limit) != targets.to(predictions.device).bool()
    return wrong.to(at_least_float32(predictions)).mean()


def label_threshold(predictions: Tensor) -> float:
    """Above what a label is predicted: 0.5 for probabilities, 0 for logits. What lies in [0, 1] is taken for probabilities.

    Example:
        >>> label_threshold(torch.tensor([0.2, 0.9])), label_threshold(torch.tensor([0.2, 1.9]))
        (0.5, 0.0)
    """
    # our choice: docs/evidence/choices.md#labels
    return 0.5 if bool((predictions >= 0).all()) and bool((predictions <= 1).all()) else 0.0


def settled_error(error: ErrorOf, predictions: Tensor, targets: Tensor | None) -> ErrorOf:
    """The error, of several labels with the threshold that all predictions of a model tell, and not a few of them.

    Example:
        >>> several = torch.tensor([[1, 1]])
        >>> settled_error(rmse_or_error_rate, torch.tensor([[0.2, 7.0]]), several)(torch.tensor([[0.2, 0.3]]), several)
        tensor(0.)
    """
    if targets is None or targets.ndim < 2 or error is not rmse_or_error_rate:
        return error
    return functools.partial(label_error_rate, threshold=label_threshold(predictions))


@door
def rmse_or_error_rate(predictions: Tensor, targets: Tensor) -> Tensor:
    """Root mean square error of predictions (B,) or (B, 1); for logits (B, K), the share of wrong classes.

    Example:
        >>> logits = torch.tensor([[2.0, 1.0], [0.0, 3.0]])
        >>> rmse_or_error_rate(logits, torch.tensor([0, 0])), rmse_or_error_rate(torch.ones(2), torch.zeros(2))
        (tensor(0.5000), tensor(1.))
    """
    if targets.ndim not in (1, 2) or torch.bool in (predictions.dtype, targets.dtype):
        raise ValueError(
            f"predictions and targets must be numbers for each trajectory, got {predictions.dtype} and "
            f"{targets.dtype} of {targets.ndim} axes"
        )
    if targets.ndim == 2 and targets.shape[1] > 1:
        return label_error_rate(predictions, targets)
    if predictions.ndim == 2 and predictions.shape[1] > 1:
        return error_rate(predictions, targets)
    predictions = as_per_trajectory("predictions must be", predictions, len(targets))
    dtype = at_least_float32(predictions, targets)
    return rmse(predictions.to(dtype), targets.to(dtype))


@dataclass(frozen=True)
class ErrorOnCopies:
    """A user's error, which is given copies: it may work in place. Of this form it can be sent to other processes."""

    error: ErrorOf

    def __call__(self, predictions: Tensor, targets: Tensor) -> Tensor | float:
        """The error of copies of both."""
        return self.error(predictions.clone(), targets.clone())


def on_copies(error: ErrorOf) -> ErrorOf:
    """The error, as a function that leaves its arguments as they are.

    Example:
        >>> predictions, targets = torch.ones(2), torch.zeros(2)
        >>> on_copies(lambda p, t: p.sub_(t).abs_().mean())(predictions, targets + 3), predictions
        (tensor(2.), tensor([1., 1.]))
    """
    known = error is rmse_or_error_rate or isinstance(error, ErrorOnCopies)
    return error if known else ErrorOnCopies(error)


def constant_prediction(targets: Tensor, like: Tensor, weights: Tensor | None = None) -> Tensor:
    """The best prediction that is the same for all: the mean target (N,), or logits (N, K) of the most frequent class.

    Args:
        targets: (N,), or several labels (N, L), each of which gets what is most frequent.
        like: predictions of a model, which tell whether it gives logits, and of which dtype.
        weights: (N,), how much each trajectory counts.

    Example:
        >>> constant_prediction(torch.tensor([0, 0, 3]), torch.zeros(3))
        tensor([1., 1., 1.])
        >>> constant_prediction(torch.tensor([0, 0, 1]), torch.zeros(3, 2), torch.tensor([1.0, 1.0, 3.0]))[0]
        tensor([0., 1.])
    """
    if targets.ndim == 2 and targets.shape[1] > 1:
        shares = (
            targets.double() if weights is None else targets.double() * (weights / weights.mean())[:, None]
        )
        # 0 and 1 are below and above the threshold of logits, and that of probabilities.
        return (shares.mean(0) > 0.5).to(like.dtype).expand(len(targets), -1)
    if like.ndim == 2 and like.shape[1] > 1:
        if int(targets.min()) < 0 or int(targets.max()) >= like.shape[1]:
            raise ValueError(
                f"targets must be classes from 0 to {like.shape[1] - 1}, as many as the predictions have, got "
                f"{int(targets.min())} to {int(targets.max())}"
            )
        most = torch.bincount(targets.long(), weights, like.shape[1]).argmax()
        return torch.nn.functional.one_hot(most, like.shape[1]).to(like.dtype).expand(len(targets), -1)
    numbers = targets.to(torch.float64)
    mean = numbers.mean() if weights is None else (numbers * weights).sum() / weights.sum()
    return mean.to(like.dtype).expand(len(targets))


def as_numbers_note(error: ErrorOf, predictions: Tensor, targets: Tensor | None) -> list[str]:
    """What to tell if targets look like classes and the model gives one number for each trajectory; else nothing.

    Targets look like classes if there are two different ones or more, from 0, and all are below 20 in an integer type or
    below 2 as floats. A regression may have such targets too.

    Example:
        >>> as_numbers_note(rmse_or_error_rate, torch.zeros(2, 1), torch.tensor([0.5, 1.0]))
        []
    """
    several = predictions.ndim == 2 and predictions.shape[1] > 1
    if targets is None or several or error is not rmse_or_error_rate:
        return []
    most = 2 if targets.is_floating_point() else MOST_CLASSES
    flat = targets.flatten()
    if not are_classes(targets, most) or not (flat != flat[:1]).any():
        return []
    return [
        "targets are whole numbers and the model gives one number for each trajectory: the error is that of a regression. Classes "
        "need logits (B, K); a model that gives one logit z (B, 1) can give two, torch.cat([-z, z], 1)"
    ]
