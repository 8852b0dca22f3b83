"""What the rule of `crest.choose` is given, and what it says of each."""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from torch import Tensor

from crest._base.arguments import require
from crest._base.doors import door_leaving
from crest.exchange.result import Exchange

Criterion: TypeAlias = Literal["exchange", "conditions"]
"""By what candidates are judged."""


@door_leaving("exchange", "function")
@dataclass(frozen=True)
class Candidate:
    """A trained model that might be chosen: its predictions, or its exchange test, and its error on ID data.

    Example:
        >>> Candidate(lambda x: x.mean((1, 2)), 0.12).id_error
        0.12
    """

    function: Callable[..., Tensor] | None = None
    """What `crest.exchange_test` takes; not needed if the test is done."""
    id_error: float = math.nan
    """Error on held-out data as in training, the same measure for all candidates; 0 or more."""
    exchange: Exchange | None = field(default=None, kw_only=True)
    """The exchange test with targets, if it is done."""
    even_error: float | None = field(default=None, kw_only=True)
    """Error averaged evenly over the pairs of target and condition that there are, if that is known: then it decides."""
    even_constant: float | None = field(default=None, kw_only=True)
    """The same error of a constant prediction: the even error must be below it. Not compared if it is not known."""
    other_error: float | None = field(default=None, kw_only=True)
    """Error with backgrounds of another separation exchanged, for a candidate that was trained with the separation of its
    exchange test: it is judged by the larger of the two."""
    held_out: float | None = field(default=None, kw_only=True)
    """Error of leave-one-condition-out training, if you measured it: shown, and no part of the rule."""

    def __post_init__(self) -> None:
        require("id_error", self.id_error, "be 0 or more")
        for name in ("held_out", "even_error", "even_constant", "other_error"):
            if getattr(self, name) is not None:
                require(name, getattr(self, name), "be 0 or more")
        if self.exchange is not None and not isinstance(self.exchange, Exchange):
            raise ValueError(f"exchange must be a crest.Exchange, got {type(self.exchange).__name__}")
        if self.function is not None and not callable(self.function):
            raise ValueError(f"function must be callable, got {type(self.function).__name__}")
        if self.function is None and self.exchange is None:
            raise ValueError("function must be given if exchange is not, got neither")


@dataclass(frozen=True)
class JudgedCandidate:
    """What the rule says of one candidate."""

    id_error: float
    """Its error on ID data."""
    exchange: Exchange
    """Its exchange test."""
    better: bool
    """Whether it is clearly better than a constant prediction, by the error that decides."""
    reason: str
    """Why it was chosen, or was not."""
    even_error: float | None = None
    """Its error averaged evenly over target x condition, if enough trajectories break their tie."""
    held_out: float | None = None
    """As given with the candidate."""
    condition_errors: Mapping[Hashable, float] | None = None
    """Its error under each condition, if conditions and targets were given."""
    other_error: float | None = None
    """Its error with backgrounds of another separation exchanged, if it was given."""

    @property
    def expected_error(self) -> float | None:
        """The error by which it is judged without conditions: the larger one of its exchange test and of another separation."""
        return larger_error(self.exchange.expected_error, self.other_error)

    @property
    def worst_condition(self) -> Hashable | None:
        """The condition with the highest error; None without conditions."""
        errors = self.condition_errors
        return None if errors is None else max(errors, key=lambda name: errors[name])

    @property
    def worst(self) -> str:
        """Its highest error and the condition that has it, as the table shows them."""
        errors = self.condition_errors
        return "" if errors is None else f"{max(errors.values()):.3g} ({self.worst_condition})"


@dataclass(frozen=True, repr=False)
class Choice:
    """The candidate that the rule takes, why, and what it knew of each."""

    name: str | None
    """The chosen candidate; None if the rule cannot tell."""
    reason: str
    """Why this one, or why none."""
    by: Criterion
    """What decided: the error with the declared nuisances exchanged, or that averaged evenly over target x condition."""
    lowest_error: str
    """The candidate with the lowest ID error, whatever it follows."""
    candidates: Mapping[str, JudgedCandidate]
    """What was found for each."""

    def __repr__(self) -> str:
        head = [f"Choice: {'none' if self.name is None else self.name}. {self.reason}"]
        if self.name is None:
            head.append(f"The lowest ID error is that of {self.lowest_error}.")
        judged = list(self.candidates.values())
        table = {
            "candidate": list(self.candidates),
            "ID error": [f"{one.id_error:.3g}" for one in judged],
            "expected error": [f"{one.expected_error:.3g}" for one in judged],
            "transient share": [f"{one.exchange.transient:.2f}" for one in judged],
        }
        if any(one.even_error is not None for one in judged):
            table["even error"] = [
                "" if one.even_error is None else f"{one.even_error:.3g}" for one in judged
            ]
        if any(one.condition_errors for one in judged):
            table["worst condition"] = [one.worst for one in judged]
        if any(one.held_out is not None for one in judged):
            table["held out"] = ["" if one.held_out is None else f"{one.held_out:.3g}" for one in judged]
        table["reason"] = [one.reason for one in judged]
        return "\n".join([*head, *_lines(table)])


def larger_error(expected: float | None, other: float | None) -> float | None:
    """The expected error of a candidate that another separation may have tested too; None if it was tested without targets.

    Example:
        >>> larger_error(0.2, 0.5), larger_error(0.2, None), larger_error(None, None)
        (0.5, 0.2, None)
    """
    return expected if other is None or expected is None else max(expected, other)


def _lines(table: Mapping[str, list[str]]) -> list[str]:
    """The columns under their names, the first and the last to the left, numbers to the right."""
    columns = [[name, *cells] for name, cells in table.items()]
    widths = [max(map(len, cells)) for cells in columns]
    left = {0, len(columns) - 1}
    aligned = [
        [cell.ljust(width) if number in left else cell.rjust(width) for cell in cells]
        for number, (cells, width) in enumerate(zip(columns, widths, strict=True))
    ]
    return ["  " + "  ".join(row).rstrip() for row in zip(*aligned, strict=True)]
