"""What the page of a study opens with: its finding in a line, the errors of its models, and what moves the one that the rule picks."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence

from crest._base.fragment import FindingMark
from crest._pages.exchange_panels import nuisance_panel
from crest._pages.panels import BarPanel, BarRow, FindingLine, FirstScreen, PanelBar
from crest.exchange.candidates import Choice
from crest.exchange.result import LEARNT
from crest.lab.evidence.remedy_runs import as_exchange, mean_sensitivity
from crest.lab.evidence.study_finding import fails_in_field
from crest.lab.evidence.study_standing import Standing

_MODELS = 12
"""Models of the picture at most; a table of the page has all."""
NOTHING = FirstScreen(
    findings=(
        FindingLine(
            mark="doubt",
            word="no finding yet",
            sentence="No run of this study has a record with errors and an exchange test, so there is nothing to compare.",
            todo="Run the study with crest run. Records from before there was an exchange test are not run again: move them away first.",
        ),
    )
)
"""The first screen of a study without the records that it needs."""


def study_screen(
    rule: tuple[Choice, Mapping[str, Standing]],
    finding: str,
    *,
    complete: bool,
    has_ood: bool,
    error: str,
    guess: float,
) -> FirstScreen:
    """The first screen of a study that has records.

    Args:
        rule: what was chosen among all models, and the models by the names that the rule knows.
        finding: in sentences.
        complete: whether all runs are done.
        has_ood: whether something is held out as OOD.
        error: what errors are called.
        guess: the error of a constant prediction.
    """
    moved = None if rule[0].name is None else _moving_panel(rule[0].name, rule[1][rule[0].name], guess)
    return FirstScreen(
        findings=(_line(rule, finding, complete=complete, has_ood=has_ood, guess=guess),),
        left=(_error_panel(rule, has_ood=has_ood, error=error, guess=guess),),
        below=() if moved is None else (moved,),
    )


def _line(
    rule: tuple[Choice, Mapping[str, Standing]], finding: str, *, complete: bool, has_ood: bool, guess: float
) -> FindingLine:
    """Green if the model that the rule picks holds in the field, red if it fails there or if no model learnt anything; else amber."""
    choice, models = rule
    pick = None if choice.name is None else models[choice.name].mean
    more = "Add remedies to the study, such as high_pass or exchange, and run it again."
    told: tuple[FindingMark, str, str]
    if all(one.mean.id > LEARNT * guess for one in models.values()):
        # The finding says what to do.
        told = "bad", "nothing learnt", ""
    elif not complete:
        told = "doubt", "incomplete", "Run the study again: it goes on where it stopped."
    elif pick is None:
        told = "doubt", "cannot tell", more
    elif not has_ood:
        told = "doubt", "field unknown", "Hold out a condition with ood = [...] in the study's file."
    elif pick.id > LEARNT * guess:
        told = (
            "doubt",
            "the pick has hardly learnt",
            "Train for longer before you trust the model that the rule picks.",
        )
    elif fails_in_field(pick.id, pick.ood, guess):
        told = "bad", "the pick fails in the field", more
    else:
        told = "good", "the pick holds in the field", ""
    mark, word, todo = told
    return FindingLine(mark=mark, word=word, sentence=finding, todo=todo)


def _error_panel(
    rule: tuple[Choice, Mapping[str, Standing]], *, has_ood: bool, error: str, guess: float
) -> BarPanel:
    """The errors of the models, the lowest expected one first."""
    choice, models = rule
    best = min(models, key=lambda name: models[name].mean.ood) if has_ood else None
    notes = {best: "best in hindsight", choice.name: "the rule's pick"}
    expected = {name: one.expected_error for name, one in choice.candidates.items()}
    order = {
        name: (name not in expected, expected.get(name) or 0.0, one.mean.id) for name, one in models.items()
    }
    shown = sorted(models, key=lambda name: (name not in notes, *order[name]))[:_MODELS]

    def bars(name: str) -> tuple[PanelBar | None, ...]:
        seeds = list(models[name].outcomes.values())
        columns: list[Sequence[float | None]] = [
            [one.id for one in seeds],
            [as_exchange(one.shares, guess).expected_error for one in seeds] if name in expected else [],
            *([[one.ood for one in seeds]] if has_ood else []),
        ]
        return tuple(_bar(column, guess) for column in columns)

    few = (
        f" {len(shown)} of {len(models)} models are shown; the table below has all."
        if len(shown) < len(models)
        else ""
    )
    unit = (
        "share of windows with a wrong class"
        if error == "error rate"
        else "in standard deviations of the label"
    )
    return BarPanel(
        title="Errors of the models",
        rows=tuple(
            BarRow(name=name, bars=bars(name), note=notes.get(name, ""), strong=name == choice.name)
            for name in sorted(shown, key=lambda name: order[name])
        ),
        models=("ID", "expected", *(["field (OOD)"] if has_ood else [])),
        unit=f"{error}, {unit}; means over seeds, lines from the lowest seed to the highest",
        line=guess,
        line_name="a guess",
        caption="The expected error is the one with declared nuisances swapped between windows. The rule goes by it and does not see the "
        f"field. A red number is no better than a guess.{few}",
        change=False,
    )


def _bar(values: Sequence[float | None], guess: float) -> PanelBar | None:
    """The mean over seeds; None if a seed lacks the value."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    mean = statistics.fmean(known)
    several = len(known) > 1
    return PanelBar(
        value=mean,
        low=min(known) if several else None,
        high=max(known) if several else None,
        above=mean >= guess,
    )


def _moving_panel(name: str, one: Standing, guess: float) -> BarPanel | None:
    """What moves the predictions of a model, as a mean over seeds; None if its records do not have that."""
    seeds = [each.shares.nuisances for each in one.outcomes.values()]
    means = {
        nuisance: mean_sensitivity([each.get(nuisance) for each in seeds])
        for nuisance in dict.fromkeys(nuisance for each in seeds for nuisance in each)
    }
    exchange = dataclasses.replace(
        as_exchange(one.mean.shares, guess),
        nuisances={nuisance: mean for nuisance, mean in means.items() if mean is not None},
    )
    panel = nuisance_panel({name: exchange})
    return (
        panel if panel is None else dataclasses.replace(panel, title=f"What moves the prediction of {name}")
    )
