"""The exchange test: give every transient the background of others, and see which of the two the prediction follows."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from crest._base.doors import door_leaving
from crest._base.rng import generator
from crest._base.tensors import as_mask, as_per_trajectory, require_finite, require_series
from crest.exchange.crossing import CrossedSignals
from crest.exchange.result import Exchange
from crest.exchange.sensitivity import TOGETHER, Interval, resampled_counts, root_of_ratio, sensitivities
from crest.exchange.settings import ExchangeSettings, settings_of
from crest.exchange.two_way import Array, component_shares, resampled_intervals, sums_of_squares
from crest.probes.asking import quietly, require_callable, require_predictions, require_repeatable
from crest.probes.batches import batches_of, in_batches
from crest.probes.errors import ErrorOf, constant_prediction, rmse_or_error_rate


@door_leaving("function")
def exchange_test(
    function: Callable[..., Tensor],
    inputs: Tensor,
    *,
    mask: Tensor | None = None,
    targets: Tensor | None = None,
    error: ErrorOf = rmse_or_error_rate,
    exchange: ExchangeSettings | None = None,
) -> Exchange:
    """Whether a model's prediction follows what is transient in its inputs, or their background.

    Each signal is separated into background and transient. Within blocks of trajectories the function predicts on every
    transient of one with every background of another, and the variance of these predictions is shared out. Asks for no
    labels, events, gradients or insides. With targets, of data as in training, it also says what the error would be if
    the background came from another trajectory.

    Args:
        function: Any callable from (B, T, C) to (B,), (B, 1), or logits (B, K), of which each row's mean is taken off;
            called without gradients, and with the inputs and the mask if a mask is given. A `torch.nn.Module` is put
            in evaluation mode for it; around a plain function that calls one, use `crest.probes.evaluating`.
        inputs: (N, T, C), two trajectories or more.
        mask: (N, T), True where a step is valid. A cell has the valid steps of the transient's trajectory; where the
            background's trajectory is padded, the background of its nearest valid step is held.
        targets: (N,), for `Exchange.exchanged_error`: what the transient of each trajectory should be read as.
        error: from predictions and targets to one number. By default the root mean square error, and for logits
            (B, K) the share of wrong classes.
        exchange: what is exchanged, between how many trajectories, and so on.

    Example:
        >>> inputs = 0.01 * torch.randn(64, 100, 1, generator=torch.Generator().manual_seed(0))
        >>> inputs += torch.linspace(-10, 10, 64).sin()[:, None, None]
        >>> inputs[:, 50] += torch.linspace(0, 5, 64)[:, None]
        >>> exchange_test(lambda x: x.amax(1) - x.median(1).values, inputs).transient > 0.9
        True
        >>> exchange_test(lambda x: x[:, :20].mean(1), inputs).background > 0.9
        True
    """
    require_series("inputs", inputs, "(N, T, C)")
    settings = settings_of(exchange)
    require_callable(function)
    if len(inputs) < 2:
        raise ValueError("inputs must hold two trajectories or more: one has nothing to exchange")
    valid = as_mask(mask, inputs)
    if valid is not None and not bool(valid.any(1).all()):
        empty = int((~valid.any(1)).nonzero()[0])
        raise ValueError(f"mask must leave a valid step in each trajectory, got none in trajectory {empty}")
    require_finite("inputs", inputs, valid)
    if targets is not None:
        targets = as_per_trajectory("targets must be", targets, len(inputs))
        require_finite("targets", targets)

    with quietly(function):
        return _tested(function, inputs, valid=valid, targets=targets, error=error, settings=settings)


def _tested(
    function: Callable[..., Tensor],
    inputs: Tensor,
    *,
    valid: Tensor | None,
    targets: Tensor | None,
    error: ErrorOf,
    settings: ExchangeSettings,
) -> Exchange:
    """The test of a function that leaves nothing behind."""
    numbers = generator(settings.seed, "exchange")
    drawn = numbers.permutation(len(inputs))[: settings.trajectories]
    chosen = torch.from_numpy(drawn).to(inputs.device)
    signals = inputs.detach()[chosen]
    valid = None if valid is None else valid[chosen]
    require_repeatable(function, [signals] if valid is None else [signals, valid], settings.batch_size)
    parts = CrossedSignals(signals, valid, settings)
    # No block of one: it has nothing to exchange.
    blocks = np.array_split(
        np.arange(len(drawn)), min(math.ceil(len(drawn) / settings.block), len(drawn) // 2)
    )
    pairs = torch.cat([torch.cartesian_prod(rows, rows) for rows in map(torch.from_numpy, blocks)])
    predictions = _predictions(
        function, (parts.cells(some) for (some,) in batches_of(pairs, size=settings.batch_size))
    )
    answers = _answers(predictions)
    ends = np.cumsum([len(rows) ** 2 for rows in blocks])
    grids = [
        cells.reshape(len(rows), len(rows), -1)
        for rows, cells in zip(blocks, np.split(answers, ends[:-1]), strict=True)
    ]
    own = batches_of(torch.arange(len(drawn)), size=settings.batch_size)
    alone = _answers(_predictions(function, (parts.backgrounds(rows) for (rows,) in own)))
    transients, backgrounds = pairs.unbind(1)
    wanted = None if targets is None else targets.cpu()[torch.from_numpy(drawn)]
    rows = sensitivities(
        lambda asked: _predictions(function, asked),
        _answers,
        signals,
        mask=valid,
        own=predictions[transients == backgrounds],
        settings=settings,
        targets=wanted,
        error=error,
    )
    found = replace(
        _result(grids, alone, settings, numbers),
        together=rows.pop(TOGETHER),
        nuisances=rows,
        invariant=settings.invariant,
    )
    if wanted is None:
        return found
    others = transients != backgrounds
    return replace(
        found,
        exchanged_error=float(error(predictions[others], wanted[transients[others]])),
        constant_error=float(error(constant_prediction(wanted, predictions), wanted)),
    )


def _predictions(function: Callable[..., Tensor], asked: Iterator[tuple[Tensor, ...]]) -> Tensor:
    """What the function answers, on the CPU."""
    found = in_batches(function, asked)
    require_predictions(found, len(found))
    require_finite("the function's predictions", found)
    return found.cpu()


def _answers(found: Tensor) -> Array:
    """Predictions (B, K) in float64, logits less the mean over classes; rounding noise around a constant is 0."""
    answers: Array = found.reshape(len(found), -1).double().numpy()
    rounding = torch.finfo(found.dtype).eps if found.is_floating_point() else 0.0
    noise = rounding * np.abs(answers).max()
    if answers.shape[1] > 1:
        answers = answers - answers.mean(1, keepdims=True)
    return answers if np.abs(answers - answers.mean(0)).max() > noise else np.zeros_like(answers)


def _result(
    grids: list[Array], alone: Array, settings: ExchangeSettings, numbers: np.random.Generator
) -> Exchange:
    # A transient on its own background is the signal.
    whole = np.concatenate([grid[range(len(grid)), range(len(grid))] for grid in grids])
    sums = np.sum([sums_of_squares(grid) for grid in grids], 0)
    transient, background, interaction = component_shares(sums, [len(grid) for grid in grids])[0].tolist()
    ends = np.full((3, 2), np.nan)
    if sums.sum() > 0:
        ends = resampled_intervals(grids, settings.bootstrap, numbers)
    intervals = [(low, high) for low, high in ends.tolist()]
    moved, moved_interval = _moved(grids, whole, settings.bootstrap, numbers)
    return Exchange(
        transient=transient,
        background=background,
        interaction=interaction,
        transient_interval=intervals[0],
        background_interval=intervals[1],
        interaction_interval=intervals[2],
        background_alone=_squared_correlation(whole, alone),
        kind=settings.kind,
        what=settings.what,
        trajectories=sum(len(grid) for grid in grids),
        moved=moved,
        moved_interval=moved_interval,
    )


def _moved(
    grids: list[Array], own: Array, draws: int, numbers: np.random.Generator
) -> tuple[float, Interval]:
    """How far predictions move from the own background to those of others, and its interval by a bootstrap."""
    spread = ((own - own.mean(0)) ** 2).sum(1)
    if not spread.sum() > 0:
        return math.nan, (math.nan, math.nan)
    # The own background is among the columns and adds nothing; it does not count.
    changes = np.concatenate(
        [
            ((grid - grid[range(len(grid)), range(len(grid))][:, None]) ** 2).sum((1, 2)) / (len(grid) - 1)
            for grid in grids
        ]
    )
    return root_of_ratio(changes, spread, resampled_counts(len(own), draws, numbers))


def _squared_correlation(first: Array, second: Array) -> float:
    """Squared correlation over trajectories, all outputs together; 0 if one of them does not vary."""
    first, second = first - first.mean(0), second - second.mean(0)
    scale = float((first**2).sum() * (second**2).sum())
    return min(float((first * second).sum()) ** 2 / scale, 1.0) if scale > 0 else 0.0
