"""Bars of errors with their deviations over seeds."""

from collections.abc import Mapping, Sequence

from crest.lab.evidence.shown import Series
from crest.lab.evidence.stats import Spread
from crest.lab.runs.record import Record


def bars(
    name: str, values: Mapping[str, Sequence[float]], colour: str, hover: Sequence[str] | None = None
) -> Series:
    """A bar for each group of values: their mean, and their deviation as its whisker.

    Example:
        >>> bars("OOD", {"mean": [1.0, 3.0], "CREST": [1.0]}, "ood").y
        [2.0, 1.0]
    """
    spreads = [Spread.of(list(group)) for group in values.values()]
    return Series(
        name=name,
        x=list(values),
        y=[spread.mean for spread in spreads],
        spread=[spread.deviation or 0.0 for spread in spreads],
        look="bars",
        colour=colour,
        hover=hover,
    )


def error_bars(groups: Mapping[str, Sequence[Record]], split: str) -> Series:
    """The error of a split, a bar per group of records."""
    values = {name: [getattr(record.score, split) for record in records] for name, records in groups.items()}
    return bars(f"{split.upper()} error", values, split)


def both_errors(groups: Mapping[str, Sequence[Record]]) -> tuple[Series, Series]:
    """ID and OOD errors side by side."""
    return error_bars(groups, "id"), error_bars(groups, "ood")
