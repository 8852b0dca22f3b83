"""Statistics that pieces share: which form of attention is stronger, and how CREST compares with it."""

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from crest.lab.evidence.experiment import Found
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import ATTENTION
from crest.lab.evidence.shown import Claim, Comparison
from crest.lab.evidence.stats import Paired, Spread, paired
from crest.lab.runs.record import Record

ABOUT_EVEN = 0.05
"""Relative change of an error below which it counts as unchanged, everywhere in the evidence and in what is told of it."""


def by_seed(records: Sequence[Record], split: str = "ood") -> dict[int, float]:
    """The error of a split by seed."""
    return {record.spec.seed: getattr(record.score, split) for record in records}


def mean_error(records: Sequence[Record], split: str = "ood") -> float:
    """The error of a split, the mean over seeds."""
    return statistics.fmean(by_seed(records, split).values())


def error_text(records: Sequence[Record], split: str = "ood") -> str:
    """The error of a split with its standard deviation over seeds; a dash without records."""
    return str(Spread.of(list(by_seed(records, split).values()))) if records else "-"


def mean_credit(records: Sequence[Record], part: str) -> float:
    """A part of the credit on the ID split, the mean over seeds."""
    return statistics.fmean(getattr(record.credit["id"], part) for record in records)


def credit_text(records: Sequence[Record], part: str) -> str:
    """A part of the credit (cie, ecm, precision, chance) on the ID split with its standard deviation; a dash if unknown."""
    if not records or not all("id" in record.credit for record in records):
        return "-"
    return Spread.of([getattr(record.credit["id"], part) for record in records]).text(2)


def against(records: Sequence[Record], baseline: Sequence[Record]) -> Paired | None:
    """OOD errors compared with a baseline's on the same seeds; None if the seeds differ or there are none."""
    errors, others = by_seed(records), by_seed(baseline)
    return paired(errors, others) if errors and errors.keys() == others.keys() else None


def stronger_attention(found: Found, **fields: Any) -> str | None:
    """The form of attention with the lower ID error, of those that are declared; None while a run of one is missing."""
    declared = [form for form in ATTENTION if found.declared(**fields, readout=form)]
    if not declared or not all(found.complete(**fields, readout=form) for form in declared):
        return None
    forms = {form: found.of(**fields, readout=form) for form in declared}
    return min(forms, key=lambda form: mean_error(forms[form], "id"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Contest:
    """CREST against a form of attention on the same seeds."""

    form: str
    attention: list[Record]
    crest: list[Record]
    ood: Paired

    @property
    def id_ratio(self) -> float:
        """CREST's ID error over attention's."""
        return mean_error(self.crest, "id") / mean_error(self.attention, "id")

    def credit_ratio(self, part: str) -> float:
        """CREST's credit over attention's."""
        return mean_credit(self.crest, part) / max(mean_credit(self.attention, part), 1e-9)

    def more_credit(self, part: str) -> int:
        """Seeds on which CREST has more credit than attention."""
        ours, theirs = (
            {record.spec.seed: getattr(record.credit["id"], part) for record in records}
            for records in (self.crest, self.attention)
        )
        return sum(ours[seed] > theirs[seed] for seed in ours)


def contest(found: Found, **fields: Any) -> Contest | None:
    """CREST against the stronger attention; None while a run of the three is missing."""
    form = stronger_attention(found, **fields)
    return None if form is None else contest_with(form, found, **fields)


def own_contest(found: Found, **fields: Any) -> Contest | None:
    """CREST against the paper's own attention, the dot product; None while a run of the three is missing."""
    stronger = stronger_attention(found, **fields)
    return None if stronger is None else contest_with("attention", found, **fields)


def contest_with(form: str, found: Found, **fields: Any) -> Contest | None:
    """CREST against one form of attention; None while a run of the two is missing."""
    if not all(found.complete(**fields, readout=readout) for readout in (form, "crest")):
        return None
    attention, crest = found.of(**fields, readout=form), found.of(**fields, readout="crest")
    return Contest(
        form=form, attention=attention, crest=crest, ood=paired(by_seed(crest), by_seed(attention))
    )


def percent(change: float, digits: int = 0) -> Comparison:
    """A relative change in words, with its sign.

    A claim shows one digit more than a table, so that a rounded number does not seem to reach the claim's bar.

    Example:
        >>> percent(-0.294), percent(-0.294, 1)
        ('−29 %', '−29.4 %')
    """
    return Comparison(f"{change:+.{digits}%}".replace("-", "−").replace("%", " %"), change)


def change_in_words(before: float, after: float) -> Comparison:
    """Whether an error got better or worse; a change below 5 % is neither, as in the limitations.

    Example:
        >>> change_in_words(0.4, 0.2), change_in_words(0.4, 0.41), change_in_words(0.0, 0.04)
        ('better', 'about the same', '**worse**')
    """
    change = after - before
    if abs(change) < ABOUT_EVEN * before or change == 0:
        return Comparison("about the same", change)
    return Comparison("better" if change < 0 else "**worse**", change)


def worse_than_a_guess(claim: Claim, duel: Contest, bar: str) -> Claim:
    """Whether attention's OOD error is above 1, that of a guess of the mean, on every seed."""
    errors = list(by_seed(duel.attention).values())
    above = sum(error > 1 for error in errors)
    return claim.judged(
        f"{statistics.fmean(errors):.3f} ({named(duel.form)}; ID {mean_error(duel.attention, 'id'):.3f}), "
        f"above 1 on {above} of {len(errors)} seeds",
        holds=above == len(errors),
        partly=False,
        bar=bar,
        seeds=len(errors),
        brief=f"{statistics.fmean(errors):.2f}, above 1 on {above} of {len(errors)}",
    )


def lower_error_claim(claim: Claim, bar: float, result: Paired, rival: str) -> Claim:
    """Whether an error is lower than a rival's by at least `bar` (-0.29 for 29 %), and on every seed.

    Partly: by half of that, and on every seed.
    """
    return claim.judged(
        f"{percent(result.change, 1)} against {rival}, lower on {result.lower} of {result.seeds} seeds",
        holds=result.reaches(bar),
        partly=result.reaches(bar / 2),
        bar=f"{percent(bar)} or below, and lower on every seed",
        test=result,
        brief=f"{percent(result.change, 1)}, lower on {result.lower} of {result.seeds}",
    )
