"""How far a prediction moves, and what its error is, when one named thing of each signal is another trajectory's."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from crest._base.arrays import Signals, StepMask
from crest._base.rng import generator
from crest.exchange.preparation import preparation_of
from crest.exchange.settings import ExchangeSettings
from crest.exchange.two_way import LEVEL, Array, Groups, resampled_counts
from crest.nuisances import SeparatedSignals
from crest.probes.asking import asked_about
from crest.probes.batches import batches_of
from crest.probes.errors import ErrorOf

Interval = tuple[float, float]
TOGETHER = "together"
"""The row of all declared nuisances at once."""
# Donors of each trajectory where all that is declared is exchanged, which decides; alone each thing gets one.
# our choice: docs/evidence/choices.md#sensitivity
DONORS = 6
_STRETCH = 2.0
DRAWS = 200


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """What the exchange of one nuisance, or of several at once, does to the predictions."""

    moved: float
    """Root mean square change of the predictions, in their standard deviations; NaN if they do not vary."""
    moved_interval: Interval
    """95 % of the bootstrap, over trajectories."""
    error: float | None = None
    """Error of the predictions on the changed signals; None without targets."""
    error_interval: Interval | None = None
    """The same interval for it."""


def sensitivities(
    ask: Callable[[Iterator[tuple[Tensor, ...]]], Tensor],
    answers: Callable[[Tensor], Array],
    signals: Signals,
    *,
    mask: StepMask | None,
    own: Tensor,
    settings: ExchangeSettings,
    targets: Tensor | None,
    error: ErrorOf,
    called: str = "function",
    groups: Groups | None = None,
) -> tuple[dict[str, Sensitivity], Tensor | None]:
    """A row for each nuisance that the signals have, and one for the declared ones together; and predictions on these signals.

    There is one for each trajectory, with what is declared taken from one other; None if nothing is declared that the signals have.

    Args:
        ask: from the arguments of calls to predictions (B,), (B, 1) or (B, K).
        answers: from predictions to numbers (B, K) in float64.
        signals: (N, T, C).
        mask: valid steps (N, T).
        own: predictions on the signals as they are.
        settings: which are declared, and how many predictions are made at once.
        targets: (N,), if they are known.
        error: from predictions and targets to one number.
        called: what messages call the function that is asked.
        groups: (N,), what the bootstrap draws as a whole; by default each trajectory.
    """
    parts = SeparatedSignals(signals, mask, sigma=settings.sigma)
    prepared = preparation_of(signals, mask)
    numbers = generator(settings.seed, "exchange/nuisances")
    count = len(signals)
    order = torch.from_numpy(numbers.permutation(count))
    most = min(DONORS, count - 1)
    donors_of = torch.cat([order.roll(shift + 1) for shift in range(most)])
    factors_of = torch.from_numpy(_STRETCH ** numbers.uniform(-1, 1, most * count))
    base = answers(own)
    spread = ((base - base.mean(0)) ** 2).sum(1)
    draws = resampled_counts(count, settings.bootstrap, numbers, groups)

    def asked(names: Sequence[str], rows: Tensor) -> Iterator[tuple[Tensor, ...]]:
        each = (rows, donors_of[: len(rows)], factors_of[: len(rows)])
        for some, given, factor in batches_of(*each, size=settings.batch_size):
            made = parts.exchanged(names, some, given, factor)
            if mask is None:
                yield (prepared.again(made),)
            else:
                valid = mask[some.to(mask.device)]
                yield prepared.again(made.masked_fill(~valid.unsqueeze(-1), 0.0), valid), valid

    def row(names: Sequence[str], donors: int) -> tuple[Sensitivity, Tensor]:
        rows = order.repeat(donors)
        with asked_about(
            f"signals whose {' and '.join(names)} come from other trajectories",
            "to see how far that moves the prediction",
            called,
        ):
            found = ask(asked(names, rows))
        changed = answers(found)
        change = np.zeros(count)
        np.add.at(change, rows.numpy(), ((changed - base[rows.numpy()]) ** 2).sum(1) / donors)
        moved, interval = root_of_ratio(change, spread, draws)
        # Of the first donor, in the order of the trajectories.
        once = found[:count][order.argsort()]
        if targets is None:
            return Sensitivity(moved=moved, moved_interval=interval), once
        wanted = targets[rows]
        value = float(error(found, wanted))
        measured = Sensitivity(
            moved=moved,
            moved_interval=interval,
            error=value,
            error_interval=error_interval(
                found,
                wanted,
                rows,
                value=value,
                error=error,
                numbers=numbers,
                draws=settings.bootstrap,
                groups=groups,
            ),
        )
        return measured, once

    declared = [name for name in settings.invariant if parts.has(name)]
    alone = [*ONE_BY_ONE, *(name for name in settings.invariant if name not in ONE_BY_ONE)]
    found = {name: row((name,), 1)[0] for name in alone if parts.has(name)}
    exchanged: Tensor | None = None
    if not declared:
        # Nothing was exchanged, so nothing is known: no movement would be a clean bill of health.
        still = (math.nan, math.nan)
        whole = None if targets is None else float(error(own, targets))
        found[TOGETHER] = Sensitivity(
            moved=math.nan,
            moved_interval=still,
            error=whole,
            error_interval=None if whole is None else (whole, whole),
        )
    else:
        found[TOGETHER], exchanged = row(declared, most)
    return found, exchanged


ONE_BY_ONE = ("offset", "drift", "tones", "gain", "colour", "rate")
"""Nuisances that get a row of their own; the surroundings have the two-way test, and a row if they are declared."""


def root_of_ratio(change: Array, spread: Array, draws: Array) -> tuple[float, Interval]:
    """The root of summed changes over summed spreads, and its interval over draws (R, N); NaN if nothing spreads.

    Example:
        >>> ones = np.ones(4)
        >>> root_of_ratio(4 * ones, ones, np.ones((10, 4)))
        (2.0, (2.0, 2.0))
    """
    if not spread.sum() > 0:
        return math.nan, (math.nan, math.nan)
    tail = (1 - LEVEL) / 2
    drawn = np.sqrt((draws @ change) / np.maximum(draws @ spread, np.finfo(np.float64).tiny))
    low, high = np.quantile(drawn, [tail, 1 - tail]).tolist()
    found = math.sqrt(change.sum() / spread.sum())
    return found, (min(low, found), max(high, found))


def error_interval(
    found: Tensor,
    wanted: Tensor,
    rows: Tensor,
    *,
    value: float,
    error: ErrorOf,
    numbers: np.random.Generator,
    draws: int = DRAWS,
    groups: Groups | None = None,
) -> Interval:
    """The interval of an error by a bootstrap over trajectories, or groups of them: all predictions of one are drawn together.

    Args:
        found: predictions.
        wanted: their targets.
        rows: the trajectory of each prediction; each has as many.
        value: the error of all.
        error: from predictions and targets to one number.
        numbers: where the draws come from.
        draws: how many samples; no more than 200, since the error is a function of the user's that takes its time.
        groups: (N,), the group of each trajectory; by default each is drawn alone.
    """
    drawn_as_one = rows.numpy() if groups is None else groups[rows.numpy()]
    count = int(drawn_as_one.max()) + 1
    places: list[list[int]] = [[] for _ in range(count)]
    for place, number in enumerate(drawn_as_one.tolist()):
        places[number].append(place)
    drawn = [
        float(error(found[some], wanted[some]))
        for some in (
            torch.tensor([place for one in numbers.integers(0, count, count) for place in places[one]])
            for _ in range(min(draws, DRAWS))
        )
    ]
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail]).tolist()
    return min(low, value), max(high, value)
