"""What a study of your own shows: errors, credit and shares of every model, and which of them the rule would pick."""

import itertools
from collections.abc import Mapping, Sequence

from crest._base.order import natural_order
from crest._base.words import listed
from crest.exchange.candidates import Choice
from crest.exchange.result import LEARNT
from crest.exchange.rule import choose
from crest.lab.evidence.experiment import Found
from crest.lab.evidence.remedy_runs import as_exchange
from crest.lab.evidence.shown import Chart, Comparison, Panel, Series, Shown, Table
from crest.lab.evidence.stats import Spread
from crest.lab.evidence.study_finding import study_finding
from crest.lab.evidence.study_screen import NOTHING, study_screen
from crest.lab.evidence.study_standing import Contender, Standing, standing_of

_NONE = "—"


_UNITS = {
    "error": "Errors are in standard deviations of the label on the training windows: a guess has about 1.",
    "error rate": "Error rates are shares of windows with a wrong class. A guess, always the commonest of {classes} "
    "classes, is wrong in about {guess:.2f} of the cases.",
}
"""What the numbers are, by what they are called."""


def show_study(
    found: Found, *, contenders: Sequence[Contender], has_ood: bool, classes: int = 0, guess: float = 1.0
) -> Shown:
    """Tables and a chart of the study's records.

    Args:
        found: the records.
        contenders: what is compared.
        has_ood: whether something is held out as OOD; else no error is called so.
        classes: how many there are, if labels are classes and errors shares of wrong ones; 0 for numbers.
        guess: the error of a constant prediction.
    """
    error = "error rate" if classes else "error"
    standings = [standing_of(found, one) for one in contenders]
    there = [one for one in standings if one.outcomes]
    if not there:
        return Shown(first=NOTHING, tables=(_errors(standings, has_ood, error),))
    rules = _rules(there, guess)
    notes = [
        f"{_UNITS[error].format(classes=classes, guess=guess)} Means over seeds.",
        f"The rule takes the lowest {error} on ID windows with exchanged backgrounds. It sees no OOD label.",
    ]
    if not has_ood:
        notes.append(
            f"Nothing is held out as OOD, so there is no OOD {error}: the study cannot tell how a model does in a new condition."
        )
    conditions = _conditions(there, has_ood, error)
    # Of one encoder the models are all models.
    *_, among_all = rules.values()
    choice, models = among_all
    left_out = [name for name in models if name not in choice.candidates]
    if left_out:
        notes.append(
            f"The rule leaves out {listed(left_out)}: the prediction does not vary, or the records have no expected error."
        )
    complete = all(len(one.outcomes) == one.declared for one in standings)
    headline = ("" if complete else "So far, with runs missing: ") + study_finding(
        there, among_all, has_ood=has_ood, error=error, guess=guess
    )
    return Shown(
        headline=headline,
        first=study_screen(among_all, headline, complete=complete, has_ood=has_ood, error=error, guess=guess),
        tables=(
            _errors(standings, has_ood, error),
            _rule_table(rules, there, has_ood, error, guess),
            *([] if conditions is None else [conditions]),
        ),
        charts=(_chart(there, has_ood, error),),
        notes=tuple(notes),
    )


def _errors(standings: Sequence[Standing], has_ood: bool, error: str) -> Table:
    events = any(one.credit for one in standings)
    groups = has_ood and any(one.worst for one in standings)
    header = ["encoder", "model", f"ID {error}", *([f"OOD {error}"] if has_ood else [])]
    header += ["worst group"] if groups else []
    header += ["CiE@1", "chance"] if events else []
    header += ["transient share", "background share", "seeds"]
    rows = []
    for one in standings:
        by_seed = one.outcomes.values()
        cells = [one.contender.place, one.contender.name, _spread([each.id for each in by_seed], 3)]
        cells += [_spread([each.ood for each in by_seed], 3)] if has_ood else []
        cells += [_spread(one.worst, 3)] if groups else []
        if events:
            cells += [_spread([value[part] for value in one.credit], 2) for part in (0, 1)]
        cells += [_spread([each.shares.transient for each in by_seed], 2)]
        cells += [_spread([each.shares.background for each in by_seed], 2)]
        rows.append((*cells, f"{len(one.outcomes)}/{one.declared}"))
    return Table(
        name="models",
        caption="Every model of the study. Credit is on ID windows; shares say what the prediction follows when backgrounds "
        "are exchanged."
        + (f" The worst group has the largest OOD {error} over label x condition." if groups else ""),
        header=tuple(header),
        rows=tuple(rows),
    )


def _conditions(there: Sequence[Standing], has_ood: bool, error: str) -> Table | None:
    """Errors under each condition; None if there is only one, or if the records have none."""
    columns = [
        (split, condition)
        for split in ("id", "ood")[: 1 + has_ood]
        for condition in natural_order(
            {
                name
                for one in there
                for source in one.sources.values()
                for name in source.conditions.get(split, {})
            }
        )
    ]
    if len(columns) < 2:
        return None
    return Table(
        name="conditions",
        caption=f"{error.capitalize()}s of every model under each condition, on ID and on OOD windows."
        if has_ood
        else f"{error.capitalize()}s of every model under each condition, on ID windows.",
        header=("encoder", "model", *(f"{split.upper()}, {condition}" for split, condition in columns)),
        rows=tuple(
            (one.contender.place, one.contender.name, *(_spread(one.under(*column), 3) for column in columns))
            for one in there
        ),
    )


def _spread(values: Sequence[float], digits: int) -> str:
    return Spread.of(values).text(digits) if values else _NONE


def _rules(there: Sequence[Standing], guess: float) -> dict[str, tuple[Choice, dict[str, Standing]]]:
    """The rule's choice among the models of each encoder, and among all."""
    groups: dict[str, dict[str, Standing]] = {}
    for place, members in itertools.groupby(there, key=lambda one: one.contender.place):
        groups[place] = {one.contender.name: one for one in members}
    if len(groups) > 1:
        groups["all"] = {f"{one.contender.place}, {one.contender.name}": one for one in there}
    chosen = {}
    for name, group in groups.items():
        chosen[name] = (_chosen(group, guess), group)
    return chosen


def _chosen(group: Mapping[str, Standing], guess: float) -> Choice:
    """The rule's choice among the models that it can compare."""
    means = {label: one.mean for label, one in group.items()}
    tests = {label: as_exchange(one.shares, guess) for label, one in means.items()}
    known = {label: one for label, one in tests.items() if one.expected_error is not None}
    # One way of testing: a constant prediction has no errors with declared nuisances swapped, nor have early records.
    compared = {label: one for label, one in known.items() if one.invariant} or known
    if not compared:
        lowest = min(means, key=lambda label: means[label].id)
        reason = "No record has the error on exchanged signals."
        return Choice(name=None, reason=reason, by="exchange", lowest_error=lowest, candidates={})
    return choose({label: (one, means[label].id) for label, one in compared.items()})


def _rule_table(
    rules: Mapping[str, tuple[Choice, dict[str, Standing]]],
    there: Sequence[Standing],
    has_ood: bool,
    error: str,
    guess: float,
) -> Table:
    rows = []
    for name, (choice, group) in rules.items():
        errors = [_NONE, _NONE]
        why = choice.reason
        if choice.name is not None:
            mean = group[choice.name].mean
            errors = [f"{mean.id:.3f}", f"{mean.ood:.3f}"]
            if mean.id > LEARNT * guess:
                why += f" It is hardly better than a guess, which has {guess:.3f}: train longer before you trust it."
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


def _chart(there: Sequence[Standing], has_ood: bool, error: str) -> Chart:
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
