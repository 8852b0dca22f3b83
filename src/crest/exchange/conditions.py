"""Errors condition by condition: of a model as it is, and of models trained without each condition in turn.

A condition is what a field changes: a load, a speed, a machine. The labels are those of the data at hand.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence

import torch
from torch import Tensor

from crest._base.doors import door_leaving
from crest._base.tensors import as_mask, as_targets, require_finite, require_series, require_signals
from crest.exchange.ties import condition_names
from crest.probes.asking import quietly
from crest.probes.batches import BATCH, batches_of, in_batches
from crest.probes.errors import ErrorOf, rmse_or_error_rate, settled_error
from crest.probes.outputs import read_targets


def errors_by_condition(
    function: Callable[..., Tensor],
    inputs: Tensor,
    targets: Tensor,
    conditions: Iterable[Hashable] | Tensor,
    mask: Tensor | None = None,
    *,
    error: ErrorOf = rmse_or_error_rate,
    batch_size: int = BATCH,
) -> dict[Hashable, float]:
    """The function's error on the trajectories of each condition, in the order in which conditions first appear.

    Args:
        function: from (B, T, C) to (B,), (B, 1) or logits (B, K); called with the mask too if one is given.
        inputs: (N, T, C).
        targets: (N,), or one-hot classes or several labels (N, K).
        conditions: (N,), anything that names the condition of each trajectory.
        mask: (N, T), True where a step is valid.
        error: from predictions and targets to one number.
        batch_size: how many predictions are made at once.

    Example:
        >>> inputs, targets = torch.arange(4.0).reshape(4, 1, 1), torch.tensor([0.0, 1.0, 2.0, 5.0])
        >>> errors_by_condition(lambda x: x.mean((1, 2)), inputs, targets, ["low", "low", "high", "high"])
        {'low': 0.0, 'high': 1.4142135381698608}
    """
    (x, wanted, *valid), names = _checked(inputs, targets, conditions, mask)
    found = predictions_of(function, x, *valid, batch_size=batch_size)
    return errors_by_name(found, read_targets(wanted)[0], names, error)


def predictions_of(
    function: Callable[..., Tensor], inputs: Tensor, mask: Tensor | None = None, *, batch_size: int = BATCH
) -> Tensor:
    """What the function predicts, finite, on the CPU."""
    asked = [inputs] if mask is None else [inputs, mask]
    with quietly(function):
        found = in_batches(function, batches_of(*asked, size=batch_size))
    require_finite("the function's predictions", found)
    return found.cpu()


def errors_by_name(
    predictions: Tensor, targets: Tensor, names: Sequence[Hashable], error: ErrorOf
) -> dict[Hashable, float]:
    """The error of the predictions under each name, in the order in which names first appear.

    Args:
        predictions: of all trajectories, which together tell from where on a label is there.
        targets: as `read_targets` reads them.
        names: of each trajectory.
        error: from predictions and targets to one number.

    Example:
        >>> errors_by_name(torch.tensor([1.0, 2.0]), torch.zeros(2), ["a", "b"], rmse_or_error_rate)
        {'a': 1.0, 'b': 2.0}
    """
    wanted = targets.cpu()
    error = settled_error(error, predictions, wanted)
    return {name: float(error(predictions[of], wanted[of])) for name, of in _rows_by_name(names).items()}


@door_leaving("conditions")
def leave_one_condition_out(
    fit: Callable[..., Callable[..., Tensor]],
    inputs: Tensor,
    targets: Tensor,
    conditions: Iterable[Hashable] | Tensor,
    mask: Tensor | None = None,
    *,
    error: ErrorOf = rmse_or_error_rate,
) -> dict[Hashable, float]:
    """For each condition, the error on it of what was trained on all the others.

    Trains once for each condition. What comes out foretells a field only as far as the field differs from the data at
    hand as one condition differs from the others.

    Args:
        fit: from inputs and targets (and the mask, if one is given) to a function from inputs (and mask) to
            predictions (B,), (B, 1) or logits (B, K). Whatever trains will do.
        inputs: (N, T, C).
        targets: (N,), or one-hot classes or several labels (N, K); `fit` gets them as they are.
        conditions: (N,), anything that names the condition of each trajectory; two conditions or more.
        mask: (N, T), True where a step is valid.
        error: from predictions and targets to one number. By default the root mean square error, and for logits the
            share of wrong classes.

    Example:
        >>> def fit(inputs, targets):
        ...     mean = targets.mean()
        ...     return lambda x: mean.expand(len(x))
        >>> leave_one_condition_out(fit, torch.zeros(4, 8, 1), torch.tensor([0.0, 0.0, 3.0, 3.0]), [1, 1, 2, 2])
        {1: 3.0, 2: 3.0}
    """
    tensors, names = _checked(inputs, targets, conditions, mask)
    # On all of them: the rows of one condition may look one-hot where others do not.
    wanted = read_targets(tensors[1])[0]
    rows = _rows_by_name(names)
    if len(rows) < 2:
        raise ValueError(f"conditions must be two or more to leave one out, got {next(iter(rows))!r} alone")
    errors: dict[Hashable, float] = {}
    for name, left_out in rows.items():
        others = torch.ones(len(inputs), dtype=torch.bool)
        others[left_out] = False
        kept = others.nonzero().flatten()
        function = fit(*(tensor[kept] for tensor in tensors))
        if not callable(function):
            raise ValueError(f"fit must return a function that predicts, got {type(function).__name__}")
        x, _, *valid = (tensor[left_out] for tensor in tensors)
        found = predictions_of(function, x, *valid)
        errors |= errors_by_name(found, wanted[left_out], [name] * len(x), error)
    return errors


def _checked(
    inputs: Tensor, targets: Tensor, conditions: Iterable[Hashable] | Tensor, mask: Tensor | None
) -> tuple[list[Tensor], list[Hashable]]:
    """Inputs, targets and mask, if there is one; and the condition of each trajectory."""
    require_series("inputs", inputs, "(N, T, C)")
    valid = as_mask(mask, inputs)
    require_signals("inputs", inputs, valid)
    wanted = as_targets("targets must be", targets, len(inputs))
    require_finite("targets", wanted)
    names = condition_names(conditions, len(inputs))
    return [inputs, wanted] if valid is None else [inputs, wanted, valid], names


def _rows_by_name(names: Sequence[Hashable]) -> dict[Hashable, Tensor]:
    """The numbers of the trajectories of each name, in the order in which names first appear."""
    rows: dict[Hashable, list[int]] = {}
    for number, name in enumerate(names):
        rows.setdefault(name, []).append(number)
    return {name: torch.tensor(of) for name, of in rows.items()}
