"""What the page of an audit opens with: the finding, and the pictures that show it."""

import math
from collections.abc import Mapping

from crest._audit.result import Audit
from crest._audit.tied import TieReading
from crest._base.fragment import FindingMark
from crest._base.words import listed
from crest._pages.exchange_panels import nuisance_panel, per_model, prediction_panel, values_of
from crest._pages.panels import (
    BarPanel,
    BarRow,
    Curve,
    CurvePanel,
    CurveView,
    FindingLine,
    FirstScreen,
    MatrixCell,
    MatrixPanel,
    PanelBar,
    Strand,
    TracePanel,
)
from crest._pages.tie_panel import tie_panel
from crest.exchange.result import MOVES, VERDICT_MARKS

_CURVES = {
    "offset": ("Shifted by an offset", "{:+g}"),
    "gain": ("Softer and louder", "×{:g}"),
    "rate": ("Faster and slower", "×{:g}"),
}


def audit_screen(audits: Mapping[str, Audit]) -> FirstScreen:
    """The first screen of the audits of one model or several, by the name of each."""
    several = len(audits) > 1
    last = list(audits.values())[-1]
    exchanges = {name: one.exchange for name, one in audits.items()}
    beside = prediction_panel(
        exchanges,
        errors={name: one.error for name, one in audits.items()},
        names=last.names,
        conditions=last.conditions,
        classes=last.classes,
    )
    left = [nuisance_panel(exchanges), audit_error_panel(audits)]
    below = [separated_panel(audits), curve_panel(audits), audit_tie_panel(audits)]
    return FirstScreen(
        findings=tuple(
            # What to do is about the last one; the others are what was.
            audit_line(one, name if several else "", todo=one is last)
            for name, one in audits.items()
        ),
        left=tuple(panel for panel in left if panel is not None),
        right=() if beside is None else (beside,),
        below=tuple(panel for panel in below if panel is not None),
        models=tuple(audits),
    )


def audit_line(audit: Audit, of: str = "", *, todo: bool = True) -> FindingLine:
    """The finding of one audit.

    Args:
        audit: of a model.
        of: the name of the model, if there are several.
        todo: whether to say what to do.
    """
    mark: FindingMark = VERDICT_MARKS[audit.verdict]
    return FindingLine(
        mark=mark,
        word=str(audit.verdict),
        sentence=audit.headline or audit.reasons[0],
        todo=audit.advice[0] if audit.advice and todo else "",
        of=of,
    )


def audit_error_panel(audits: Mapping[str, Audit]) -> BarPanel | None:
    """The errors as bars, with that of a constant prediction as a line; None without targets."""
    values = list(audits.values())
    if all(one.error is None for one in values):
        return None
    constant = next((one.exchange.constant_error for one in values), None)

    def bar(value: float | None, interval: tuple[float, float] | None = None) -> PanelBar | None:
        if value is None or not math.isfinite(value):
            return None
        low, high = interval or (None, None)
        return PanelBar(value=value, low=low, high=high, above=constant is not None and value >= constant)

    rows = [
        BarRow(name="on these data", bars=tuple(bar(one.error) for one in values)),
        BarRow(
            name="expected",
            note="declared swapped",
            bars=tuple(
                bar(
                    one.expected_error,
                    None if one.exchange.together is None else one.exchange.together.error_interval,
                )
                for one in values
            ),
        ),
        BarRow(name="as in training", bars=tuple(bar(one.id_error) for one in values)),
    ]
    told = [
        (name, f"{one.expected_error:.3g}") for name, one in audits.items() if one.expected_error is not None
    ]
    beside = "" if constant is None else f" A constant prediction has {constant:.3g}."
    return BarPanel(
        title="Error",
        rows=tuple(row for row in rows if any(row.bars)),
        models=tuple(audits),
        unit="share of wrong classes" if values[0].classes else "",
        line=constant,
        line_name="a constant prediction",
        caption=f"To expect if what was declared stops following the target: {values_of(told)}{beside}",
    )


def curve_panel(audits: Mapping[str, Audit]) -> CurvePanel | None:
    """The response curves; None if the predictions do not vary."""
    first = next((one for one in audits.values() if one.curves), None)
    if first is None:
        return None
    declared = first.exchange.invariant
    views = [
        CurveView(
            title=title,
            ticks=tuple(
                form.format(value).replace("-", "−") if value else "0" for value in first.curves[name].values
            ),
            curves=tuple(
                Curve(model=model if len(audits) > 1 else "", values=one.curves[name].moved)
                for model, one in audits.items()
                if name in one.curves
            ),
            note="must stay flat" if name in declared else "",
            line=MOVES if name in declared else None,
        )
        for name, (title, form) in _CURVES.items()
        if name in first.curves
    ]
    return CurvePanel(
        title="How predictions respond",
        views=tuple(views),
        unit="how far predictions move, up or down, in standard deviations; offsets in standard deviations of the signals' levels",
        line_name=f"limit {MOVES:g}",
        caption=f"Every signal shifted, louder and slower: how far predictions move, up or down. {per_model(_ends(audits, first))} "
        "The bars of what moves the prediction are for levels, gains and rates as they differ in your data.",
    )


def _ends(audits: Mapping[str, Audit], first: Audit) -> list[tuple[str, str]]:
    """How far the end of the first curve that is declared, else of all, moves the predictions of each model."""
    name = next((name for name in _CURVES if name in first.exchange.invariant), "offset")
    end = first.curves[name].values[-1]
    done = {"offset": f"an offset of {end:+g}", "gain": f"a gain of {end:g}", "rate": f"a stretch by {end:g}"}
    return [
        (model, f"{done[name]} moves predictions by {one.curves[name].moved[-1]:.2f}")
        for model, one in audits.items()
        if name in one.curves
    ]


def audit_tie_panel(audits: Mapping[str, Audit]) -> MatrixPanel | None:
    """Target x condition with the error of each pair; None without conditions, and if there are too many for a table."""
    ties = {name: one.tie for name, one in audits.items() if one.tie is not None}
    if not ties:
        return None
    first = next(iter(ties.values()))
    errors = [error for tie in ties.values() for row in tie.errors for error in row if error is not None]
    constant = next(
        (one.exchange.constant_error for one in audits.values() if one.exchange.constant_error), None
    )
    most = max([*errors, constant or 0.0, 1e-12])

    def cell(count: int, error: float | None) -> MatrixCell:
        if error is None:
            return MatrixCell(text="–")
        return MatrixCell(text=f"{error:.2g}", shade=error / most, note=f"{count}")

    tied = f"Target and condition are {'' if first.tied else 'not '}tied (Cramér's V {first.strength:.2f})."
    worst = [(name, _worst(tie)) for name, tie in ties.items()]
    return tie_panel(
        "Error by target and condition",
        {
            name if len(ties) > 1 else "": [
                [cell(*one) for one in zip(counts, found, strict=True)]
                for counts, found in zip(tie.counts, tie.errors, strict=True)
            ]
            for name, tie in ties.items()
        },
        targets=first.targets,
        conditions=first.conditions,
        caption=f"{tied} {per_model(worst)} Small numbers: how many trajectories.",
    )


def _worst(tie: TieReading) -> str:
    """The pair with the largest error."""
    error, row, column = max(
        (error, row, column)
        for row, errors in enumerate(tie.errors)
        for column, error in enumerate(errors)
        if error is not None
    )
    return f"the largest error is {error:.2g}, for target {tie.targets[row]} at {tie.conditions[column]}"


def separated_panel(audits: Mapping[str, Audit]) -> TracePanel | None:
    """One trajectory as recorded and with declared nuisances of another, in one picture, with the core shaded; None if there is none."""
    audit = next((one for one in audits.values() if one.separated is not None), None)
    if audit is None or audit.separated is None:
        return None
    found = audit.separated
    called, donor = (
        audit.names[row] if audit.names else f"trajectory {row}" for row in (found.row, found.donor)
    )
    channels = [] if audit.traces is None else audit.traces.channels
    channel = f", {channels[found.channel]}," if len(channels) > 1 else ""
    lines = {
        "own": ("own signal", found.signal),
        "swapped": ("swapped signal", found.exchanged),
        "own-slow": ("own slow background", found.slow),
        "swapped-slow": ("slow background of the swapped signal", found.exchanged_slow),
    }
    return TracePanel(
        title="What was swapped: one signal, taken apart",
        strands=tuple(
            Strand(name=name, values=values.tolist(), kind=kind) for kind, (name, values) in lines.items()
        ),
        step=1.0 if audit.sample_rate is None else 1 / audit.sample_rate,
        unit="steps" if audit.sample_rate is None else "s",
        shaded=found.core.tolist(),
        shaded_name="core",
        caption=f"The signal of {called}{channel} as recorded, and with {listed(found.names)} of {donor}. The brief core, which holds the events, keeps its "
        "shape; the background is another's. A model that reads the events predicts the same for both.",
    )
