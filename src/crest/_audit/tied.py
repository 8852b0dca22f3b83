"""What the trajectories that break the tie of target and condition tell: direct evidence, and the only one of its kind."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from crest._base.rng import generator
from crest.exchange.result import AuditVerdict
from crest.exchange.sensitivity import Interval, error_interval
from crest.exchange.ties import ENOUGH, Columns, Tie, even_constant, tie_of, unvarying
from crest.probes.errors import ErrorOf

# In errors of a constant prediction. our choice: docs/evidence/choices.md#ties
_HOLDS = 0.25
_BREAKS = 0.5


@dataclass(frozen=True, kw_only=True)
class TieReading:
    """Target x condition in the audited data, and the error where the two part."""

    strength: float
    """Cramér's V of target and condition: 0 for none, 1 if one tells the other."""
    tied: bool
    """Whether that is strong enough to call them tied."""
    targets: tuple[str, ...]
    """Values of the target, or ranges of it."""
    conditions: tuple[str, ...]
    """Names of the conditions."""
    counts: tuple[tuple[int, ...], ...]
    """Trajectories of each target (row) and condition (column)."""
    errors: tuple[tuple[float | None, ...], ...]
    """The error of each; None if there is no trajectory."""
    breaking: int
    """How many trajectories break the tie."""
    breaking_error: float | None = None
    """The error on these; None if there are none, or no tie."""
    breaking_interval: Interval | None = None
    """95 % of the bootstrap, over trajectories or groups; None if all that break the tie are of one group."""
    other_error: float | None = None
    """The error on the others."""
    even_constant: float | None = None
    """The error of a constant prediction, averaged evenly over target x condition: the measure of how far the two errors part."""

    def verdict(self, constant_error: float | None) -> AuditVerdict | None:
        """What the trajectories that break the tie say, in place of any exchange; None if they are too few, or all of one group.

        Args:
            constant_error: of a constant prediction over all trajectories, if `even_constant` is not known. If a target is rare
                it is small, and one error of many would count as far above the others.
        """
        if self.even_constant is not None:
            constant_error = self.even_constant
        if self.breaking < ENOUGH or self.breaking_error is None or self.breaking_interval is None:
            return None
        if self.other_error is None or not constant_error:
            return None
        low, high = self.breaking_interval
        holds, breaks = (self.other_error + part * constant_error for part in (_HOLDS, _BREAKS))
        if self.breaking_error >= breaks and low > holds:
            return "background"
        return "events" if self.breaking_error <= holds and high < breaks else "unclear"

    def lines(self) -> list[str]:
        """The table of counts, with errors in brackets."""
        cells = [
            [
                f"{count}" + ("" if error is None else f" ({error:.2g})")
                for count, error in zip(row, errors, strict=True)
            ]
            for row, errors in zip(self.counts, self.errors, strict=True)
        ]
        widths = [
            max(len(name), *(len(row[place]) for row in cells)) for place, name in enumerate(self.conditions)
        ]
        first = max(map(len, self.targets))
        head = " " * first + "".join(
            f"  {name:>{width}}" for name, width in zip(self.conditions, widths, strict=True)
        )
        return [
            head,
            *(
                f"{name:>{first}}"
                + "".join(f"  {cell:>{width}}" for cell, width in zip(row, widths, strict=True))
                for name, row in zip(self.targets, cells, strict=True)
            ),
        ]


def tie_reading(
    answers: Tensor,
    targets: Tensor,
    columns: Columns,
    error: ErrorOf,
    seed: int,
    *,
    groups: Tensor | None = None,
) -> tuple[TieReading | None, list[str]]:
    """The tie in these trajectories, with the errors on those that break it and on the others; and what conditions do not tell.

    There is no tie to read if conditions do not vary, or never repeat. An audit looks at some trajectories, and elsewhere they may: so
    that is told, and is no error.

    Args:
        answers: the model's predictions.
        targets: (N,).
        columns: the conditions of each trajectory, by name.
        error: from predictions and targets to one number.
        seed: of the bootstrap.
        groups: (N,), what the bootstrap draws as a whole; by default each trajectory.
    """
    untold = [f"A condition tells nothing here: {words}." for words in unvarying(columns)]
    tie = tie_of(targets, columns)
    if len(tie.conditions) < 2:
        return None, untold
    if not tie.repeats:
        alone = f"each of the {len(targets)} trajectories has a condition of its own"
        return None, [*untold, f"Nothing can be said about a tie of target and condition: {alone}."]
    return _reading(tie, answers, targets, error, numbers=generator(seed, "audit/tie"), groups=groups), untold


def _reading(
    tie: Tie,
    answers: Tensor,
    targets: Tensor,
    error: ErrorOf,
    *,
    numbers: np.random.Generator,
    groups: Tensor | None,
) -> TieReading:
    breaking = tie.breaking if tie.tied else torch.zeros(len(targets), dtype=torch.bool)
    reading = TieReading(
        strength=tie.strength,
        tied=tie.tied,
        targets=tie.targets,
        conditions=tie.conditions,
        counts=tuple(map(tuple, tie.counts.tolist())),
        errors=_errors(tie, answers, targets, error),
        breaking=int(breaking.sum()),
    )
    if not reading.breaking:
        return reading
    found = float(error(answers[breaking], targets[breaking]))
    rows = torch.arange(int(breaking.sum()))
    # Groups without a trajectory that breaks the tie are not drawn.
    drawn = None if groups is None else np.unique(groups[breaking].numpy(), return_inverse=True)[1]
    return replace(
        reading,
        breaking_error=found,
        # Every draw of a single group is the same: it has no interval.
        breaking_interval=None
        if drawn is not None and not drawn.any()
        else error_interval(
            answers[breaking],
            targets[breaking],
            rows,
            value=found,
            error=error,
            numbers=numbers,
            groups=drawn,
        ),
        other_error=float(error(answers[~breaking], targets[~breaking])),
        even_constant=even_constant(answers, targets, tie, error),
    )


def _errors(
    tie: Tie, answers: Tensor, targets: Tensor, error: ErrorOf
) -> tuple[tuple[float | None, ...], ...]:
    """The error of each pair of target and condition; None if there is no trajectory."""
    found = {cell: float(error(answers[rows], targets[rows])) for cell, rows in tie.cells.items()}
    return tuple(
        tuple(found.get((row, column)) for column in range(len(tie.conditions)))
        for row in range(len(tie.targets))
    )
