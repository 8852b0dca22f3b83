"""Would another number than the audit's do better? Each with the one threshold that is best on the development seed."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from crest.exchange.result import FOLLOWS, MOVES
from crest.lab.evidence.remedy_runs import ModelOutcome
from crest.lab.evidence.shown import Table
from crest.lab.runs.record import Shares


class _Number(NamedTuple):
    """What an exchange measures, larger for a model that reads the background, and the threshold above which it is said to."""

    lent: str
    name: str
    threshold: float
    of: Callable[[Shares], float | None]


# Each between the largest of the models that hold and the smallest of those that break on development seed 1000, or where fewest are
# on the wrong side; our choice: docs/evidence/choices.md#audit
_NUMBERS = (
    _Number(
        "spectra",
        "moved by offset, drift and tones",
        MOVES,
        lambda one: None if one.together is None else one.together.moved,
    ),
    _Number(
        "spectra", "share that does not follow the transient", 1 - FOLLOWS, lambda one: 1 - one.transient
    ),
    _Number("spectra", "how far the predictions move", 0.5, lambda one: one.moved),
    _Number("backgrounds", "share that does not follow the transient", 0.5, lambda one: 1 - one.transient),
    _Number("backgrounds", "how far the predictions move", 0.78, lambda one: one.moved),
    _Number("backgrounds", "share that follows the background", 0.16, lambda one: one.background),
    _Number("backgrounds", "error on others' backgrounds", 0.76, lambda one: one.exchanged_error),
)


class ClearCase(NamedTuple):
    """A model whose answer is clear: what it left, and whether it breaks in the field."""

    outcome: ModelOutcome
    breaks: bool

    def shares(self, lent: str) -> Shares | None:
        """What was measured with whole backgrounds exchanged, or with their spectra."""
        of: Mapping[str, Shares | None] = {
            "backgrounds": self.outcome.shares,
            "spectra": self.outcome.spectral,
        }
        shares = of[lent]
        # A prediction that does not vary follows nothing.
        return (
            shares
            if shares is not None and shares.transient + shares.background + shares.interaction > 0
            else None
        )


def threshold_table(cases: Sequence[ClearCase]) -> Table:
    """How often each number is right about the models, if it must speak about every one."""
    rows = []
    for number in _NUMBERS:
        known = [
            (value, one.breaks)
            for one in cases
            if (shares := one.shares(number.lent)) is not None and (value := number.of(shares)) is not None
        ]
        if known:
            right = sum((value > number.threshold) == breaks for value, breaks in known)
            counts = (f"{right} of {len(known)}", f"{right / len(known):.0%}")
            lent = "nuisances" if number.name.startswith("moved by") else number.lent
            rows.append((lent, number.name, f"{number.threshold:.2f}", *counts))
    return Table(
        name="thresholds",
        caption="Numbers of an exchange with the one threshold that is best on development seed 1000, made to speak about every model "
        "with a clear answer.",
        header=("exchanged", "number", "threshold", "right", "share"),
        rows=tuple(rows),
    )
