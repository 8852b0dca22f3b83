"""What a study of one's own shows: errors, credit and shares of every model, and which of them the rule would pick."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from crest.exchange.candidates import Choice
from crest.exchange.result import LEARNT
from crest.exchange.rule import choose
from crest.lab.evidence.experiment import Found
from crest.lab.evidence.names import ENCODER_NAMES, named
from crest.lab.evidence.remedy_runs import REANCHORED, ModelOutcome, as_exchange, mean_of
from crest.lab.evidence.shown import Chart, Comparison, Panel, Series, Shown, Table
from crest.lab.evidence.stats import Spread
from crest.lab.runs.record import Record
from crest.remedies import CONTROL

_NONE = "—"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Contender:
    """One encoder with a readout and a remedy."""

    encoder: str
    readout: str
    remedy: str
    """A name of `crest.remedies.REMEDIES`."""
    fields: Mapping[str, Any]
    """Fields of its runs."""

    @property
    def place(self) -> str:
        """The encoder in words."""
        return ENCODER_NAMES.get(self.encoder, self.encoder)

    @property
    def name(self) -> str:
        """Readout and remedy in words."""
        plain = self.remedy == CONTROL
        return named(self.readout) if plain else f"{named(self.readout)} + {self.remedy}"


_UNITS = {
    "error": "Errors are in standard deviations of the label on the training windows: a guess has about 1.",
    "error rate": "Error rates are shares of windows whose class is wrong: a guess among {classes} classes, always the "
    "commonest, is wrong in about {guess:.2f} of the cases.",
}
"""What the numbers are, by what they are called."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class _Standing:
    """A contender with its records, seed by seed, and how many were declared."""

    contender: Contender
    records: Sequence[Record]
    declared: int

    @property
    def outcomes(self) -> dict[int, ModelOutcome]:
        """Errors and shares by seed."""
        found = {}
        for record in self.records:
            source = record.reanchored if self.contender.remedy == REANCHORED else record
            if source is not None and source.spectral is not None:
                found[record.spec.seed] = ModelOutcome(
                    id=source.score.id, ood=source.score.ood, shares=source.spectral
                )
        return found

    @property
    def credit(self) -> list[tuple[float, float]]:
        """CiE@1 beside chance on the ID windows, of each seed; none where nobody knows the events, or after re-anchoring."""
        if self.contender.remedy == REANCHORED:
            return []
        means = [record.credit["id"] for record in self.records if "id" in record.credit]
        return [(one.cie, one.chance) for one in means]


def show_study(
    found: Found, *, contenders: Sequence[Contender], has_ood: bool, classes: int = 0, guess: float = 1.0
) -> Shown:
    """Tables and a chart of the study's records.

    Args:
        found: the records.
        contenders: what is compared.
        has_ood: whether something is held out as OOD; else no error is called so.
        classes: how many there are, where the labels are classes and errors shares of wrong ones; 0 for numbers.
        guess: the error of a constant prediction.
    """
    error = "error rate" if classes else "error"
    standings = [_standing(found, one) for one in contenders]
    there = [one for one in standings if one.outcomes]
    if not there:
        return Shown(tables=(_errors(standings, has_ood, error),))
    rules = _rules(there, guess)
    notes = [
        f"{_UNITS[error].format(classes=classes, guess=guess)} Means over seeds.",
        f"The rule takes the lowest {error} on exchanged backgrounds of ID windows. It sees no label of the OOD windows.",
    ]
    if not has_ood:
        notes.append(
            f"Nothing is held out as OOD, so there is no OOD {error}: the study cannot say what a new condition does."
        )
    return Shown(
        tables=(_errors(standings, has_ood, error), _rule_table(rules, there, has_ood, error, guess)),
        charts=(_chart(there, has_ood, error),),
        notes=tuple(notes),
    )


def _standing(found: Found, contender: Contender) -> _Standing:
    fields = dict(contender.fields)
    for name in ("remedy", "remedy_options", "readout_options", "encoder_options"):
        fields.setdefault(name, "none" if name == "remedy" else {})
    # Not by `found.of`: a trial has other sizes and another schedule.
    shared = {name: value for name, value in fields.items() if name not in ("sizes", "schedule")}
    declared = found.declared(**shared)
    records = [found.records[spec.id] for spec in declared if spec.id in found.records]
    return _Standing(
        contender=contender,
        records=sorted(records, key=lambda record: record.spec.seed),
        declared=len(declared),
    )


def _errors(standings: Sequence[_Standing], has_ood: bool, error: str) -> Table:
    events = any(one.credit for one in standings)
    header = ["encoder", "model", f"ID {error}", *([f"OOD {error}"] if has_ood else [])]
    header += ["CiE@1", "chance"] if events else []
    header += ["transient share", "background share", "seeds"]
    rows = []
    for one in standings:
        by_seed = one.outcomes.values()
        cells = [one.contender.place, one.contender.name, _spread([each.id for each in by_seed], 3)]
        cells += [_spread([each.ood for each in by_seed], 3)] if has_ood else []
        if events:
            cells += [_spread([value[part] for value in one.credit], 2) for part in (0, 1)]
        cells += [_spread([each.shares.transient for each in by_seed], 2)]
        cells += [_spread([each.shares.background for each in by_seed], 2)]
        rows.append((*cells, f"{len(one.outcomes)}/{one.declared}"))
    return Table(
        name="models",
        caption="Every model of the study. Credit is on ID windows; shares say what the prediction follows when backgrounds "
        "are exchanged.",
        header=tuple(header),
        rows=tuple(rows),
    )


def _spread(values: Sequence[float], digits: int) -> str:
    return Spread.of(values).text(digits) if values else _NONE


def _rules(there: Sequence[_Standing], guess: float) -> dict[str, tuple[Choice, dict[str, _Standing]]]:
    """The rule's choice among the models of each encoder, and among all."""
    groups: dict[str, dict[str, _Standing]] = {}
    for place, members in itertools.groupby(there, key=lambda one: one.contender.place):
        groups[place] = {one.contender.name: one for one in members}
    if len(groups) > 1:
        groups["all"] = {f"{one.contender.place}, {one.contender.name}": one for one in there}
    chosen = {}
    for name, group in groups.items():
        means = {label: mean_of(one.outcomes) for label, one in group.items()}
        candidates = {label: (as_exchange(one.shares, guess), one.id) for label, one in means.items()}
        chosen[name] = (choose(candidates), group)
    return chosen


def _rule_table(
    rules: Mapping[str, tuple[Choice, dict[str, _Standing]]],
    there: Sequence[_Standing],
    has_ood: bool,
    error: str,
    guess: float,
) -> Table:
    rows = []
    for name, (choice, group) in rules.items():
        errors = [_NONE, _NONE]
        why = choice.reason
        if choice.name is not None:
            mean = mean_of(group[choice.name].outcomes)
            errors = [f"{mean.id:.3f}", f"{mean.ood:.3f}"]
            if mean.id > LEARNT * guess:
                why += f" But it is hardly better than a guess, which has {guess:.3f}: train longer before you trust it."
        said = (choice.name or "cannot tell", *errors[: 1 + has_ood], why)
        rows.append((name, *map(Comparison, said)))
    seeds = {tuple(one.outcomes) for one in there}
    uneven = "" if len(seeds) == 1 else " Not all models have the same seeds yet."
    return Table(
        name="rule",
        caption=f"What crest.choose picks, without a label from the field.{uneven}",
        header=("encoder", "pick", f"ID {error}", *([f"OOD {error}"] if has_ood else []), "why"),
        rows=tuple(rows),
    )


def _chart(there: Sequence[_Standing], has_ood: bool, error: str) -> Chart:
    panels = []
    for place, members in itertools.groupby(there, key=lambda one: one.contender.place):
        group = list(members)
        series = []
        for part, word in (("id", "ID"), ("ood", "OOD"))[: 1 + has_ood]:
            spreads = [Spread.of([getattr(each, part) for each in one.outcomes.values()]) for one in group]
            series.append(
                Series(
                    name=word,
                    x=[one.contender.name for one in group],
                    y=[one.mean for one in spreads],
                    spread=[one.deviation or 0.0 for one in spreads],
                    look="bars",
                    colour=part,
                )
            )
        panels.append(
            Panel(title=place, x_label="model", y_label=error, series=tuple(series), horizontal=True)
        )
    caption = f"{error.capitalize()}s of every model; lower is better."
    return Chart(name="errors", caption=caption, panels=tuple(panels))
