"""Deletion: interpolate out the steps that a readout rates highest, and see what the prediction loses."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.arrays import StepFlags, StepMask, StepScores, at_least_float32, valid_steps
from crest._base.doors import door
from crest._base.tensors import (
    as_flags,
    as_mask,
    as_per_trajectory,
    as_signals,
    is_several,
    predictions,
    require_finite,
    require_plain,
    require_tensor,
)
from crest.background.interpolation import interpolate_out
from crest.probes.errors import ErrorOf, are_classes, rmse_or_error_rate

FRACTIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)  # our choice: docs/evidence/choices.md#deletion-fractions


@dataclass(frozen=True)
class DeletionCurve:
    """Error of the predictions after each fraction of the valid steps was interpolated out.

    Example:
        >>> curve = DeletionCurve(fractions=(0.0, 0.1), errors=(0.5, 2.0))
        >>> curve.harm
        (0.0, 1.5)
        >>> curve
        DeletionCurve(0: 0.5, 0.1: 2)
    """

    fractions: tuple[float, ...]
    """Shares of the valid steps; the first is 0."""
    errors: tuple[float, ...]
    """The error after each."""

    @property
    def harm(self) -> tuple[float, ...]:
        """Error minus the error with nothing removed; what the removed steps were worth."""
        return tuple(error - self.errors[0] for error in self.errors)

    def __repr__(self) -> str:
        points = zip(self.fractions, self.errors, strict=True)
        return f"DeletionCurve({', '.join(f'{fraction:.3g}: {error:.4g}' for fraction, error in points)})"


def highest_rated(
    ratings: StepScores | StepFlags, fractions: Sequence[float], mask: StepMask
) -> Iterator[StepMask]:
    """For each fraction: True on that share of each trajectory's valid steps, the best-rated, in whole steps.

    Halves round up; among equal ratings the earlier step goes first. Whole numbers are compared as they are.

    Example:
        >>> next(highest_rated(torch.tensor([[1.0, 3.0, 2.0, 3.0]]), [0.25], torch.ones(1, 4, dtype=torch.bool)))
        tensor([[False,  True, False, False]])
    """
    order = ratings.sort(dim=1, descending=True, stable=True).indices
    if not mask.all():
        # Padding last, whatever stands there: no whole number is lower than all others.
        valid_first = mask.gather(1, order).byte().sort(dim=1, descending=True, stable=True).indices
        order = order.gather(1, valid_first)
    steps = torch.arange(ratings.shape[1], device=ratings.device).expand_as(order)
    ranks = torch.empty_like(order).scatter_(1, order, steps)
    for fraction in fractions:
        # On the CPU, because MPS has no float64 and float32 would put some products on the wrong side of .5.
        count = (mask.sum(1, keepdim=True).cpu().double() * fraction + 0.5).floor().long().to(mask.device)
        yield (ranks < count) & mask


@door
def deletion(
    function: Callable[[Tensor], Tensor],
    inputs: Tensor,
    targets: Tensor,
    ratings: Tensor,
    fractions: Sequence[float] = FRACTIONS,
    *,
    mask: Tensor | None = None,
    target: int | Tensor | None = None,
    error: ErrorOf = rmse_or_error_rate,
) -> DeletionCurve:
    """Error of the function as ever more of the highest-rated steps are interpolated out.

    Fraction 0 is the first point of the curve even if it was not asked for. To remove a given set of
    steps, such as the true events, use `error_without`.

    Args:
        function: Any callable from (B, T, C) to (B,), (B, 1) or logits (B, K); called without gradients. One that
            needs the mask closes over it. Put a model in evaluation mode first: in training mode, batch
            normalisation and CREST's pooled budget would learn from the deleted inputs.
        inputs: (B, T, C).
        targets: (B,) or (B, 1); one-hot classes (B, K) are read as class numbers.
        ratings: (B, T), higher goes first: credit scores, attention weights, saliency.
        fractions: Shares of each trajectory's valid steps, increasing, in [0, 1].
        mask: (B, T), True where a step is valid; padded steps are neither removed nor used.
        target: Which of K outputs is compared with the targets: a whole number, or one for each trajectory, (B,).
            Without it, (B, K) are logits and the targets are classes.
        error: From predictions and targets to one number. By default the root mean square error, and for logits
            (B, K) the share of wrong classes.

    Example:
        >>> inputs = torch.tensor([[[0.0], [8.0], [0.0], [0.0]]])
        >>> ratings = torch.tensor([[0.0, 1.0, 0.5, 0.0]])
        >>> deletion(lambda x: x[:, 1, 0], inputs, torch.tensor([8.0]), ratings, fractions=[0.25])
        DeletionCurve(0: 0, 0.25: 8)
    """
    asked = tuple(float(fraction) for fraction in fractions)
    rising = all(low < high for low, high in pairwise(asked))
    if not rising or not all(0 <= fraction <= 1 for fraction in asked):
        raise ValueError(f"fractions must be increasing and lie in [0, 1], got {asked}")
    as_signals("inputs", inputs, mask)
    require_tensor("ratings", ratings, "(B, T)", inputs.shape[:2])
    if ratings.is_complex() or ratings.dtype == torch.bool:
        raise ValueError(f"ratings must hold real numbers, got {ratings.dtype}")
    # Whole numbers too, such as the votes of CREST. They stay whole: float32 cannot tell large ones apart.
    ratings = ratings.detach().to(inputs.device)
    valid = valid_steps(as_mask(mask, inputs), ratings)
    require_finite("ratings", ratings, valid)
    points = asked if asked[:1] == (0.0,) else (0.0, *asked)
    errors = tuple(
        error_without(function, inputs, targets, removed, valid, target=target, error=error)
        for removed in highest_rated(ratings, points, valid)
    )
    return DeletionCurve(fractions=points, errors=errors)


@door
def deletion_by(
    function: Callable[[Tensor], Tensor],
    inputs: Tensor,
    targets: Tensor,
    ratings: Mapping[str, Tensor],
    fractions: Sequence[float] = FRACTIONS,
    *,
    events: Tensor | None = None,
    mask: Tensor | None = None,
    target: int | Tensor | None = None,
    error: ErrorOf = rmse_or_error_rate,
) -> dict[str, DeletionCurve]:
    """Curves of `deletion` by what chose the steps: each of the ratings, and the true events if they are known.

    The curve under "events" has two points: nothing removed, and all event steps.

    Args:
        function: as in `deletion`.
        inputs: (B, T, C).
        targets: (B,) or (B, 1).
        ratings: (B, T) each, by name: credit, the readout's own weights, random numbers to compare with.
        fractions: Shares of each trajectory's valid steps, increasing, in [0, 1].
        events: (B, T), booleans or 0/1 integers; no curve without them.
        mask: (B, T), True where a step is valid.
        target: as in `deletion`.
        error: as in `deletion`.

    Example:
        >>> inputs, random = torch.tensor([[[0.0], [8.0], [0.0], [0.0]]]), torch.tensor([[0.1, 0.2, 0.9, 0.5]])
        >>> events = torch.tensor([[False, True, False, False]])
        >>> deletion_by(lambda x: x.amax(1), inputs, torch.tensor([8.0]), {"random": random}, [0.5], events=events)
        {'random': DeletionCurve(0: 0, 0.5: 0), 'events': DeletionCurve(0: 0, 0.25: 8)}
    """
    if "events" in ratings:
        raise ValueError("ratings must not have the name 'events': it stands for the true events")
    if not ratings and events is None:
        raise ValueError("ratings must hold at least one rating if no events are given, got none")
    curves = {
        name: deletion(function, inputs, targets, rating, fractions, mask=mask, target=target, error=error)
        for name, rating in ratings.items()
    }
    if events is None:
        return curves
    require_tensor("inputs", inputs, "(B, T, C)", (None, None, None))
    valid = valid_steps(as_mask(mask, inputs), inputs[..., 0])
    removed = as_flags("events", events, inputs) & valid
    errors = tuple(
        error_without(function, inputs, targets, steps, valid, target=target, error=error)
        for steps in (torch.zeros_like(removed), removed)
    )
    share = float(removed.sum() / valid.sum().clamp(min=1))
    return {**curves, "events": DeletionCurve(fractions=(0.0, share), errors=errors)}


def _wanted(targets: Tensor, rows: int, target: int | Tensor | None) -> Tensor:
    """Targets (B,); one-hot rows (B, K) as the numbers of their classes, as in an audit."""
    if not is_several(targets, rows):
        return as_per_trajectory("targets must be", targets, rows)
    if target is None and bool(((targets == 0) | (targets == 1)).all() & (targets.sum(1) == 1).all()):
        return targets.argmax(1)
    raise ValueError(
        f"targets must be (B,), (B, 1) or one-hot classes (B, K), got {tuple(targets.shape)}: of several columns pass one, such as "
        "targets[:, 0] with target=0"
    )


def _answer(
    function: Callable[[Tensor], Tensor], inputs: Tensor, targets: Tensor, target: int | Tensor | None
) -> Tensor:
    """Predictions (B,), or logits (B, K) as they are if the targets are classes and no output was chosen."""
    if target is None:
        answer = function(inputs)
        if isinstance(answer, Tensor):
            require_plain("what function returns", answer)
        if is_several(answer, len(inputs)) and are_classes(targets, answer.shape[1]):
            return answer
        return predictions(lambda _: answer, inputs)
    if (
        isinstance(target, Tensor)
        and target.shape == targets.shape
        and bool((target.cpu() == targets.cpu()).all())
    ):
        raise ValueError(
            "targets must be what the output that target chooses should be, got the numbers of the classes themselves: "
            "leave target out for the share of wrong classes"
        )
    return predictions(function, inputs, target)


@door
def error_without(
    function: Callable[[Tensor], Tensor],
    inputs: Tensor,
    targets: Tensor,
    remove_mask: Tensor,
    mask: Tensor | None = None,
    *,
    target: int | Tensor | None = None,
    error: ErrorOf = rmse_or_error_rate,
) -> float:
    """Error of the function after the given steps were interpolated out.

    Raises:
        ValueError: Inputs at valid steps, targets, predictions or the error are not finite.

    Example:
        >>> inputs, events = torch.tensor([[[0.0], [8.0], [0.0]]]), torch.tensor([[False, True, False]])
        >>> error_without(lambda x: x.amax(1), inputs, torch.tensor([8.0]), events)
        8.0
    """
    with torch.no_grad():
        as_signals("inputs", inputs, mask)
        changed = interpolate_out(inputs.detach(), remove_mask, mask)
        wanted = _wanted(targets, len(inputs), target)
        require_finite("targets", wanted)
        answer = _answer(function, changed, wanted, target)
        require_finite("predictions of function", answer)
        dtype = at_least_float32(answer, wanted)
        found: Any = error(answer.to(dtype), wanted.to(answer.device, dtype))
        if isinstance(found, Tensor) and found.numel() == 1:
            found = found.item()
        require("error of the predictions", found, "be finite")
        return float(found)
