"""The exchange test: give every transient the background of others, and see which of the two the prediction follows."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from crest._base.doors import door_leaving
from crest._base.recorded import recorded
from crest._base.rng import generator
from crest._base.tensors import (
    as_mask,
    as_targets,
    as_tensor,
    require_finite,
    require_series,
    require_signals,
)
from crest.exchange.crossing import CrossedSignals
from crest.exchange.groups import groups_of
from crest.exchange.result import Exchange, PredictionPairs
from crest.exchange.sensitivity import TOGETHER, Interval, root_of_ratio, sensitivities
from crest.exchange.settings import ExchangeSettings, settings_of
from crest.exchange.two_way import (
    Array,
    Groups,
    component_shares,
    resampled_counts,
    resampled_intervals,
    sums_of_squares,
)
from crest.probes.asking import asked_about, quietly, require_predictions, require_repeatable
from crest.probes.axes import warn_of_axes
from crest.probes.batches import batches_of, in_batches
from crest.probes.errors import (
    ErrorOf,
    constant_prediction,
    label_threshold,
    on_copies,
    rmse_or_error_rate,
    settled_error,
)
from crest.probes.foreign import as_function, require_numbered_classes
from crest.probes.outputs import ChosenOutput, Output, column_of, read_targets
from crest.probes.tables import signals_of_table


@door_leaving("function", "inputs", "mask", "targets")
def exchange_test(
    function: Any,
    inputs: Any,
    *,
    mask: Tensor | npt.NDArray[Any] | None = None,
    targets: Tensor | npt.NDArray[Any] | None = None,
    channels_first: bool = False,
    output: Output | None = None,
    error: ErrorOf = rmse_or_error_rate,
    exchange: ExchangeSettings | None = None,
    groups: Any = None,
) -> Exchange:
    """Whether a model's prediction follows what is transient in its inputs, or their background.

    Each signal is separated into background and transient. Within blocks of trajectories the function predicts on every
    transient of one with every background of another, and the variance of these predictions is shared out. Asks for no
    labels, events, gradients or insides. With targets, of data as in training, it also says what the error would be if
    the background came from another trajectory.

    Args:
        function: Any callable from (B, T, C) to (B,), (B, 1), or logits (B, K), of which each row's mean is taken off;
            called without gradients, and with the inputs and the mask if a mask is given. A `torch.nn.Module` is put
            in evaluation mode for it; around a plain function that calls one, use `crest.probes.evaluating`. A function may
            take and return NumPy arrays. A scikit-learn estimator, an object with `predict`, an exported program and an ONNX
            session are taken as they are.
        inputs: (N, T, C), two trajectories or more; or (N, T), of one channel, for a function of two axes. What
            `crest.recordings.load_recordings` and its splits return is taken as it is, with its targets and groups.
        mask: (N, T), True where a step is valid. A cell has the valid steps of the transient's trajectory; if the
            background's trajectory is padded there, the background of its nearest valid step is held.
        targets: (N,), for `Exchange.exchanged_error`: what the transient of each trajectory should be read as. One-hot classes
            (N, K) are read as class numbers; other rows (N, L) of 0 and 1 are several labels.
        channels_first: whether the inputs are (N, C, T), as the function takes them. A warning tells if the order looks wrong.
        output: which output is asked about, if there are several: the name of a dict's entry, the place in a tuple, or the column
            of (B, K).
        error: from predictions and targets to one number. By default the root mean square error, and for logits
            (B, K) the share of wrong classes.
        exchange: what is exchanged, between how many trajectories, and so on.
        groups: (N,), what each trajectory is a part of, such as its recording. Windows of one recording are alike, so intervals
            are then by a bootstrap over groups. By default it is over trajectories.

    Example:
        >>> inputs = 0.01 * torch.randn(64, 100, 1, generator=torch.Generator().manual_seed(0))
        >>> inputs += torch.linspace(-10, 10, 64).sin()[:, None, None]
        >>> inputs[:, 50] += torch.linspace(0, 5, 64)[:, None]
        >>> exchange_test(lambda x: x.amax(1) - x.median(1).values, inputs).transient > 0.9
        True
        >>> exchange_test(lambda x: x[:, :20].mean(1), inputs).background > 0.9
        True
    """
    settings = settings_of(exchange)
    if (data := recorded(inputs)) is not None:
        inputs = data.x.mT.contiguous() if channels_first else data.x
        targets = data.y if targets is None else targets
        groups = data.groups if groups is None else groups
    # Another door has its own model as the function. Read off the class: a user's function may have any attribute.
    called: str = getattr(type(function), "_crest_called", "function")
    own = asked = as_function(function)
    signals, valid, wanted = (
        as_tensor(name, one) for name, one in (("inputs", inputs), ("mask", mask), ("targets", targets))
    )
    if signals is not None and signals.ndim == 2:
        signals, asked = signals_of_table(signals, asked, "inputs")
    elif signals is not None and signals.ndim == 3:
        # A model from another door comes with signals (N, T, C), whose order that door has settled.
        if called == "function":
            warn_of_axes(channels_first, tuple(signals.shape), None)
        if channels_first:
            signals, asked = signals.mT, _turned(asked)
    if signals is None:
        raise ValueError("inputs must be a tensor or an array, got None")
    require_series("inputs", signals, "(N, T, C)")
    if len(signals) < 2:
        raise ValueError("inputs must hold two trajectories or more: one has nothing to exchange")
    valid = as_mask(valid, signals)
    if valid is not None and not bool(valid.any(1).all()):
        empty = int((~valid.any(1)).nonzero()[0])
        raise ValueError(f"mask must leave a valid step in each trajectory, got none in trajectory {empty}")
    require_signals("inputs", signals, valid)
    if wanted is not None:
        require_numbered_classes(own, wanted)
    numbered = None if groups is None else groups_of(groups, len(signals)).numpy()
    with quietly(own):
        if output is not None:
            some = [part[:_LOOKED_AT] for part in (signals, valid) if part is not None]
            asked, wanted = _chosen(asked, output, wanted, some)
        elif wanted is not None:
            wanted = read_targets(wanted)[0]
        if wanted is not None:
            wanted = as_targets("targets must be", wanted, len(signals))
            require_finite("targets", wanted)
        return _tested(
            asked,
            signals,
            valid=valid,
            targets=wanted,
            error=on_copies(error),
            settings=settings,
            called=called,
            groups=numbered,
        )


# our choice: docs/evidence/choices.md#labels
_LOOKED_AT = 64


def _turned(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of (B, C, T) as one of (B, T, C)."""
    return lambda signals, *mask: function(signals.mT.contiguous(), *mask)


def _chosen(
    function: Callable[..., Any], output: Output, targets: Tensor | None, some: list[Tensor]
) -> tuple[Callable[..., Any], Tensor | None]:
    """The function with one of its outputs, one label among several as two logits; and the targets of that output."""
    choice = ChosenOutput(output=output, argument="function")
    if targets is not None and targets.ndim == 2 and targets.shape[1] > 1:
        # Which gives copies: the function may work in place.
        found = in_batches(lambda *given: choice(function(*given)), batches_of(*some, size=_LOOKED_AT))
        targets, _, label = read_targets(targets, column_of(output, found))
        choice = replace(choice, threshold=label_threshold(found) if label else None)
    elif targets is not None:
        targets = read_targets(targets)[0]
    return lambda *given: choice(function(*given)), targets


def _tested(
    function: Callable[..., Any],
    inputs: Tensor,
    *,
    valid: Tensor | None,
    targets: Tensor | None,
    error: ErrorOf,
    settings: ExchangeSettings,
    called: str,
    groups: Groups | None,
) -> Exchange:
    """The test of a function that leaves nothing behind."""
    numbers = generator(settings.seed, "exchange")
    drawn = numbers.permutation(len(inputs))[: settings.trajectories]
    chosen = torch.from_numpy(drawn).to(inputs.device)
    signals = inputs.detach()[chosen]
    valid = None if valid is None else valid[chosen]
    # Padding may hold NaN, which is 0 in what is exchanged.
    given = [signals] if valid is None else [signals.masked_fill(~valid.unsqueeze(-1), 0.0), valid]
    if called == "function":
        # Of all of them, as audit and Watch have asked their model: what it fails on later is then due to what is exchanged.
        as_they_are = in_batches(function, batches_of(*given, size=settings.batch_size))
        require_predictions(as_they_are, len(drawn))
        require_finite(
            "the function's predictions", as_they_are, place=lambda index: f"trajectory {drawn[index[0]]}"
        )
    require_repeatable(function, given, settings.batch_size)
    parts = CrossedSignals(signals, valid, settings)
    # No block of one: it has nothing to exchange.
    blocks = np.array_split(
        np.arange(len(drawn)), min(math.ceil(len(drawn) / settings.block), len(drawn) // 2)
    )
    pairs = torch.cat([torch.cartesian_prod(rows, rows) for rows in map(torch.from_numpy, blocks)])
    cells = (parts.cells(some) for (some,) in batches_of(pairs, size=settings.batch_size))
    with asked_about("transients of some trajectories on the background of others", _WHY_CELLS, called):
        predictions = _predictions(function, cells)
    several = targets is not None and targets.ndim > 1
    answers = _answers(predictions, several)
    ends = np.cumsum([len(rows) ** 2 for rows in blocks])
    grids = [
        cells.reshape(len(rows), len(rows), -1)
        for rows, cells in zip(blocks, np.split(answers, ends[:-1]), strict=True)
    ]
    own = batches_of(torch.arange(len(drawn)), size=settings.batch_size)
    with asked_about("backgrounds alone, signals without their most transient steps", _WHY_ALONE, called):
        alone = _answers(_predictions(function, (parts.backgrounds(rows) for (rows,) in own)), several)
    transients, backgrounds = pairs.unbind(1)
    wanted = None if targets is None else targets.cpu()[torch.from_numpy(drawn)]
    error = settled_error(error, predictions[transients == backgrounds], wanted)
    # Of those that were drawn, which may leave a group out.
    together = None if groups is None else np.unique(groups[drawn], return_inverse=True)[1]
    if together is not None and not together.any():
        raise ValueError(
            f"groups must name two groups or more among the {len(drawn)} of {len(inputs)} trajectories that were drawn, got one. "
            "Pass exchange=crest.ExchangeSettings(trajectories=...) to draw more"
        )
    own_answers = predictions[transients == backgrounds]
    rows, exchanged = sensitivities(
        lambda asked: _predictions(function, asked),
        lambda found: _answers(found, several),
        signals,
        mask=valid,
        own=own_answers,
        settings=settings,
        targets=wanted,
        error=error,
        called=called,
        groups=together,
    )
    found = replace(
        _result(grids, alone, settings, numbers, together),
        together=rows.pop(TOGETHER),
        nuisances=rows,
        invariant=settings.invariant,
        predictions=None
        if exchanged is None
        else PredictionPairs(
            rows=torch.from_numpy(drawn), own=own_answers, exchanged=exchanged, targets=wanted
        ),
    )
    if wanted is None:
        return found
    others = transients != backgrounds
    return replace(
        found,
        exchanged_error=float(error(predictions[others], wanted[transients[others]])),
        constant_error=float(error(constant_prediction(wanted, predictions), wanted)),
    )


_WHY_CELLS = "to see which of the two the prediction follows"
_WHY_ALONE = "to see how much of the prediction is there without any transient"


def _predictions(function: Callable[..., Any], asked: Iterator[tuple[Tensor, ...]]) -> Tensor:
    """The function's predictions, on the CPU."""
    found = in_batches(function, asked)
    require_predictions(found, len(found))
    require_finite("the function's predictions", found)
    return found.cpu()


def _answers(found: Tensor, several: bool) -> Array:
    """Predictions (B, K) in float64; rounding noise around a constant is 0.

    Args:
        found: predictions.
        several: whether their columns are several labels; else they are logits, whose mean over classes tells nothing.
    """
    answers: Array = found.reshape(len(found), -1).double().numpy()
    rounding = torch.finfo(found.dtype).eps if found.is_floating_point() else 0.0
    noise = rounding * np.abs(answers).max()
    if answers.shape[1] > 1 and not several:
        answers = answers - answers.mean(1, keepdims=True)
    return answers if np.abs(answers - answers.mean(0)).max() > noise else np.zeros_like(answers)


def _result(
    grids: list[Array],
    alone: Array,
    settings: ExchangeSettings,
    numbers: np.random.Generator,
    groups: Groups | None,
) -> Exchange:
    # A transient on its own background is the signal.
    whole = np.concatenate([grid[range(len(grid)), range(len(grid))] for grid in grids])
    sums = np.sum([sums_of_squares(grid) for grid in grids], 0)
    transient, background, interaction = component_shares(sums, [len(grid) for grid in grids])[0].tolist()
    ends = np.full((3, 2), np.nan)
    if sums.sum() > 0:
        ends = resampled_intervals(grids, settings.bootstrap, numbers, groups=groups)
    intervals = [(low, high) for low, high in ends.tolist()]
    moved, moved_interval = _moved(grids, whole, settings.bootstrap, numbers, groups)
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
    grids: list[Array], own: Array, draws: int, numbers: np.random.Generator, groups: Groups | None
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
    return root_of_ratio(changes, spread, resampled_counts(len(own), draws, numbers, groups))


def _squared_correlation(first: Array, second: Array) -> float:
    """Squared correlation over trajectories, all outputs together; 0 if one of them does not vary."""
    first, second = first - first.mean(0), second - second.mean(0)
    scale = float((first**2).sum() * (second**2).sum())
    return min(float((first * second).sum()) ** 2 / scale, 1.0) if scale > 0 else 0.0
