"""The page of a repair: what it did, before and after, and what else was tried."""

from typing import TYPE_CHECKING

from crest._base.fragment import FindingMark
from crest._pages.exchange_panels import nuisance_panel, prediction_panel, values_of
from crest._pages.finding_page import PageSection, finding_page
from crest._pages.panels import BarPanel, BarRow, FindingLine, FirstScreen, PanelBar
from crest._repair.card import candidate_rows, not_tried
from crest._repair.repaired import AS_IT_IS, MeasuredModel, beats
from crest._repair.undeclared import newly_moved, undeclared_harms, undeclared_note, undeclared_words
from crest.remedies.registry import CONTROL

if TYPE_CHECKING:
    from crest._repair.repaired import Repaired

_ERRORS = {
    "as in training": "id_error",
    "expected": "expected_error",
    "even": "even_error",
    "in the field": "field_error",
}
_NOTES = {
    "expected": "declared swapped",
    "even": "over target x condition",
    "in the field": "not used to choose",
}


def repaired_page(repaired: "Repaired", *, title: str, intro: str = "") -> str:
    """The page, as text.

    Args:
        repaired: what `crest.repair` returned.
        title: its heading.
        intro: a text below the pictures; an empty line begins a paragraph.
    """
    header, rows = candidate_rows(repaired)
    sections = [
        PageSection(
            "Why",
            (
                repaired.verdict,
                *undeclared_note(repaired.before, repaired.after),
                *not_tried(repaired),
            ),
        ),
        PageSection("Numbers", (), tuple(header), tuple(map(tuple, rows))),
    ]
    return finding_page(repaired_screen(repaired), sections, title=title, intro=intro, notes=repaired.notes)


def repaired_screen(repaired: "Repaired") -> FirstScreen:
    """The first screen: before and after, and the errors of all candidates."""
    models = {AS_IT_IS: repaired.before}
    if repaired.changed:
        models[repaired.name] = repaired.after
    exchanges = {name: one.exchange for name, one in models.items()}
    beside = prediction_panel(
        exchanges,
        errors={name: one.id_error for name, one in models.items()},
        conditions=repaired.conditions,
    )
    left = [repair_error_panel(models), nuisance_panel(exchanges)]
    candidates = [] if len(repaired.candidates) < 2 else [candidate_panel(repaired)]
    return FirstScreen(
        findings=(repair_line(repaired),),
        left=tuple(panel for panel in left if panel is not None),
        right=() if beside is None else (beside,),
        below=tuple(candidates),
        models=tuple(models),
    )


def repair_line(repaired: "Repaired") -> FindingLine:
    """Green if a remedy clearly helps, or nothing needs one.

    Amber if the rule cannot tell, if longer training helps as much, or if what was not declared now moves the model and it errs then.
    """
    before, after, control = repaired.before, repaired.after, repaired.control
    if repaired.choice.name is None:
        return FindingLine(
            mark="doubt", word="not repaired", sentence=f"The model stays as it is. {repaired.verdict}"
        )
    what = "even error" if after.even_error is not None else "expected error"
    if not repaired.changed:
        return FindingLine(
            mark="good",
            word="not changed",
            sentence=f"The model stays as it is: its {what} is {_told(before)}, and no remedy is clearly better.",
        )
    moved = f"{what} {_told(before)} → {_told(after)}, error as in training {before.id_error:.3g} → {after.id_error:.3g}"
    field = (
        ""
        if before.field_error is None or after.field_error is None
        else f"field error {before.field_error:.3g} → {after.field_error:.3g}, "
    )
    alone = repaired.name == CONTROL or (control is not None and not beats(after, control))
    _, declare = undeclared_words(before, after)
    open_ = alone or undeclared_harms(before, after)
    mark: FindingMark = "doubt" if open_ else "good"
    helps = "is no more than training longer would give" if alone else "helps"
    words = f"“{repaired.name}” {helps}: {field}{moved}."
    if repaired.name == CONTROL:
        words = f"Training longer helps, and no remedy is clearly better: {field}{moved}."
    verdicts = before.exchange.verdict, after.exchange.verdict
    if verdicts == ("background", "events") and not undeclared_harms(before, after):
        words += " The model followed the background, and follows the events now."
    return FindingLine(
        mark=mark,
        word=("not clearly repaired" if alone else "repaired, but see below") if open_ else "repaired",
        sentence=f"{words} {newly_moved(before, after)}".strip(),
        todo=f"{declare} Save it with repaired.save(folder), and audit repaired.model on data from the field if you get some.".strip(),
    )


def repair_error_panel(models: dict[str, MeasuredModel]) -> BarPanel:
    """The errors before and after, with that of a constant prediction as a line."""
    first = next(iter(models.values()))
    constant, decides = first.constant, "expected" if first.even_error is None else "even"
    rows = []
    for name, kind in _ERRORS.items():
        bars = tuple(_bar(one, kind, constant) for one in models.values())
        if any(bars):
            rows.append(BarRow(name=name, bars=bars, note=_NOTES.get(name, ""), strong=name == decides))
    told = values_of((name, _told(one)) for name, one in models.items())
    return BarPanel(
        title="Error",
        rows=tuple(rows),
        models=tuple(models),
        line=constant,
        line_name="a constant prediction",
        caption=f"The {decides} error decides: {told}{_constant_words(first)}",
    )


def candidate_panel(repaired: "Repaired") -> BarPanel:
    """All that was tried, by the errors of each."""
    kinds = {
        name: kind
        for name, kind in _ERRORS.items()
        if any(getattr(one, kind) is not None for one in repaired.candidates.values())
    }
    constant = repaired.before.constant
    return BarPanel(
        title="All that was tried",
        rows=tuple(
            BarRow(
                name=name,
                bars=tuple(_bar(one, kind, constant) for kind in kinds.values()),
                note="chosen" if name == repaired.name else "",
                strong=name == repaired.name,
            )
            for name, one in repaired.candidates.items()
        ),
        models=tuple(kinds),
        line=constant,
        line_name="a constant prediction",
        caption=f"Chosen: {repaired.name}. {repaired.verdict}",
        change=False,
    )


def _constant_words(one: MeasuredModel) -> str:
    """What a constant prediction has by the error that decides, and by the others if that differs."""
    if one.constant is None:
        return ""
    plain = one.exchange.constant_error
    if one.even_error is None or plain is None:
        return f" A constant prediction has {one.constant:.3g}."
    return f" A constant prediction has {one.constant:.3g} by that error, {plain:.3g} by the others."


def _bar(one: MeasuredModel, kind: str, constant: float | None) -> PanelBar | None:
    value = getattr(one, kind)
    if value is None or not abs(value) < float("inf"):
        return None
    together = one.exchange.together
    # An error by another separation, if that is the larger one, has no interval.
    known = kind == "expected_error" and together is not None and together.error == value
    low, high = (together.error_interval if known and together is not None else None) or (None, None)
    return PanelBar(value=value, low=low, high=high, above=constant is not None and value >= constant)


def _told(one: MeasuredModel) -> str:
    return "unknown" if one.judged_by is None else f"{one.judged_by:.3g}"
