"""Would another number than the audit's do better? Each with the one threshold that is best on the seeds looked at."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crest.lab.evidence.remedy_runs import ModelOutcome
from crest.lab.evidence.shown import Table

_Measure = Callable[[ModelOutcome], float | None]
_NUMBERS: Mapping[str, _Measure] = {
    "how far the predictions move": lambda one: one.shares.moved,
    "share that does not follow the transient": lambda one: 1 - one.shares.transient,
    "share that follows the background": lambda one: one.shares.background,
    "error on others' backgrounds": lambda one: one.shares.exchanged_error,
}
"""What an exchange measures, each larger for a model that reads the background."""


class ClearCase(NamedTuple):
    """A model whose answer is clear: what it left, whether it breaks in the field, and whether its seed was looked at."""

    outcome: ModelOutcome
    breaks: bool
    seen: bool


def threshold_table(cases: Sequence[ClearCase]) -> Table:
    """How often each number is right about the models of the other seeds, if it must speak about every one."""
    rows = []
    for name, measure in _NUMBERS.items():
        known = [(value, one) for one in cases if (value := measure(one.outcome)) is not None]
        seen = [(value, one.breaks) for value, one in known if one.seen]
        other = [(value, one.breaks) for value, one in known if not one.seen]
        if seen and other:
            threshold = best_threshold(seen)
            right = sum((value > threshold) == breaks for value, breaks in other)
            rows.append((name, f"{threshold:.2f}", f"{right} of {len(other)}", f"{right / len(other):.0%}"))
    return Table(
        name="thresholds",
        caption="Each number of an exchange with the one threshold that is best on seed 0, made to speak about every model with a "
        "clear answer: right on the other seeds.",
        header=("number", "threshold", "right", "share"),
        rows=tuple(rows),
    )


def best_threshold(cases: Sequence[tuple[float, bool]]) -> float:
    """The threshold above which most of those that break lie and most others do not; the lowest of several.

    Example:
        >>> best_threshold([(0.1, False), (0.4, False), (0.8, True), (0.9, True)])
        0.4
    """
    values = np.array([value for value, _ in cases])
    breaks = np.array([breaking for _, breaking in cases])
    candidates = np.unique(values)
    right = [(np.equal(values > candidate, breaks)).mean() for candidate in candidates]
    return float(candidates[int(np.argmax(right))])
