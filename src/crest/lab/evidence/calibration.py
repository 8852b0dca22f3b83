"""Where the audit's limit comes from: its verdicts on models of the development seed, for every limit that might be taken."""

from collections.abc import Sequence

from crest.exchange.result import MOVES
from crest.lab.evidence.audited import AuditedModel, audited_models, tally
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.remedy_runs import DEVELOPMENT_PLACES, as_exchange, seen_by_spectra
from crest.lab.evidence.shown import Chart, Mark, Panel, Series, Shown, Table

_LIMITS = (0.3, 0.34, 0.36, 0.38, 0.4, 0.42, 0.44, 0.46, 0.5, 0.6)


def _at(models: Sequence[AuditedModel], limit: float) -> list[AuditedModel]:
    """The models with the verdicts of another limit."""
    return [
        AuditedModel(
            place=one.place,
            way=one.way,
            seed=one.seed,
            outcome=one.outcome,
            verdict=as_exchange(seen_by_spectra(one.outcome).shares).verdict_at(limit),
        )
        for one in models
    ]


def _limit_table(clear: Sequence[AuditedModel]) -> Table:
    rows = []
    for limit in _LIMITS:
        right, wrong, alarms = tally(_at(clear, limit))
        counts = (right, len(clear) - right - wrong, wrong, alarms)
        rows.append((f"{limit:.2f}{' (taken)' if limit == MOVES else ''}", *map(str, counts)))
    return Table(
        name="limits",
        caption=f"{len(clear)} models of development seed 1000 with a clear answer: how many the audit is right, unclear and wrong about for "
        "each limit on how far offset, drift and tones move predictions.",
        header=("limit", "right", "unclear", "wrong", "false alarms"),
        rows=tuple(rows),
    )


def _chart(models: Sequence[AuditedModel]) -> Chart:
    looks = (
        ("events", "those that hold", "event"),
        ("unclear", "between", "quiet"),
        ("background", "those that break", "background"),
    )
    series = tuple(
        Series(
            name=name,
            x=[one.moved for one in models if one.answer == answer],
            y=[one.added for one in models if one.answer == answer],
            look="points",
            colour=colour,
            hover=[f"{one.place.name}, {one.way}" for one in models if one.answer == answer],
        )
        for answer, name, colour in looks
    )
    panel = Panel(
        title="development seed 1000",
        x_label="moved by offset, drift and tones, in standard deviations",
        y_label="error that the change adds",
        series=series,
        marks=(Mark(name="the audit's limit", axis="x", at=MOVES, colour="quiet"),),
    )
    return Chart(
        name="calibration",
        caption="Models of the development seed: what the audit measures without labels, against what the change of the operating "
        "condition adds to the error.",
        panels=(panel,),
    )


def _show(found: Found) -> Shown:
    models = [one for place in DEVELOPMENT_PLACES for one in audited_models(found, place)]
    clear = [one for one in models if one.answer != "unclear"]
    return Shown(
        tables=(_limit_table(clear),),
        charts=(_chart(models),) if models else (),
        notes=(
            "OOD errors of the development seed say which models hold and which break. No reported seed is looked at here.",
        ),
    )


CALIBRATION_EXPERIMENT = Experiment(
    name="calibration",
    evidence="Beyond the paper: docs/evidence/choices.md",
    summary="Which limit of the audit parts models that hold from models that break, on the development seed?",
    show=_show,
    runs=tuple(spec for place in DEVELOPMENT_PLACES for spec in place.runs()),
)
