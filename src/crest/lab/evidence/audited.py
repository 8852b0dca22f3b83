"""The audit on models with a known answer: does its verdict say how they fare in the field, and what would others say?"""

import collections
import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.stats import spearmanr

from crest.exchange.result import MOVES, AuditVerdict
from crest.lab.evidence.attributed import ORDER_CLAIM, attributed, judged_order, order_table
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.names import named
from crest.lab.evidence.remedy_runs import (
    BEARING_PLACES,
    HARD_PLACES,
    REANCHORED,
    TEN_PLACES,
    ModelOutcome,
    RemedyPlace,
    as_exchange,
    each_outcome,
    seed_by_seed,
    seen_by_spectra,
)
from crest.lab.evidence.settings import THREE
from crest.lab.evidence.shown import BEYOND, Chart, Claim, Mark, Panel, Series, Shown, Table
from crest.lab.evidence.thresholds import ClearCase, threshold_table
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec

# our choice: docs/evidence/choices.md#audit-answers
_HOLDS = 0.25
_BREAKS = 0.5

_SUPERVISED: dict[str, Any] = {
    "readout": "scored_attention",
    "objective": "event_auxiliary",
    "measures": ("exchange",),
}
_TAUGHT = tuple(place for place in TEN_PLACES if place.encoder in ("pointwise", "local"))
_COLOURS: dict[AuditVerdict, str] = {"events": "event", "background": "background", "unclear": "quiet"}

_RIGHT = Claim(
    text="The audit is right about models with a clear answer, and unclear rather than wrong about the rest",
    paper=BEYOND,
)
_ALARMS = Claim(
    text="The audit rarely calls a model that holds in the field one that reads the background", paper=BEYOND
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AuditedModel:
    """A trained model with what the audit says, and what its errors say."""

    place: RemedyPlace
    way: str
    """How it was trained or mended."""
    seed: int
    outcome: ModelOutcome
    verdict: AuditVerdict

    @property
    def moved(self) -> float:
        """How far offset, drift and tones of others move its predictions."""
        together = seen_by_spectra(self.outcome).shares.together
        return math.nan if together is None else together.moved

    @property
    def added(self) -> float:
        """The error that the change of the operating condition adds, in standard deviations of the label."""
        return math.sqrt(max(self.outcome.ood**2 - self.outcome.id**2, 0.0))

    @property
    def answer(self) -> AuditVerdict:
        """What its errors say that it reads, if that is clear."""
        return "events" if self.added <= _HOLDS else "background" if self.added >= _BREAKS else "unclear"


def _supervised_runs(place: RemedyPlace) -> tuple[RunSpec, ...]:
    return tuple(RunSpec(**place.fields, **_SUPERVISED, seed=seed) for seed in THREE)


def _taught(found: Found, place: RemedyPlace) -> list[Record]:
    return found.of(**place.fields, **{key: _SUPERVISED[key] for key in ("readout", "objective")})


def audited_models(found: Found, place: RemedyPlace) -> list[AuditedModel]:
    """The models of a place that were measured as the audit measures: with nuisances exchanged."""
    models = [
        (way, seed, one)
        for way, by_seed in each_outcome(found, place).items()
        for seed, one in by_seed.items()
    ]
    if place in _TAUGHT:
        for record in _taught(found, place):
            if record.exchange is not None:
                one = ModelOutcome(
                    id=record.score.id, ood=record.score.ood, shares=record.exchange, spectral=record.spectral
                )
                models.append(("taught the events", record.spec.seed, one))
    return [
        AuditedModel(
            place=place,
            way=way,
            seed=seed,
            outcome=one,
            verdict=as_exchange(seen_by_spectra(one).shares).verdict,
        )
        for way, seed, one in models
        if one.spectral is not None and one.spectral.together is not None
    ]


def _counts(models: Sequence[AuditedModel], answer: AuditVerdict) -> str:
    said = collections.Counter(one.verdict for one in models if one.answer == answer)
    return " / ".join(str(said[verdict]) for verdict in ("events", "unclear", "background")) if said else ""


def _verdict_table(name: str, caption: str, everywhere: Mapping[RemedyPlace, list[AuditedModel]]) -> Table:
    rows = [
        (
            place.name,
            f"{len(models)}",
            _counts(models, "events"),
            _counts(models, "unclear"),
            _counts(models, "background"),
        )
        for place, models in everywhere.items()
        if models
    ]
    return Table(
        name=name,
        caption=f"{caption} Each cell: how many of them the audit says read the events / it finds unclear / read the "
        f"background. A model holds if the change adds at most {_HOLDS:g} standard deviations of the label to its error, and breaks "
        f"from {_BREAKS:g} on.",
        header=("system, encoder", "models", "those that hold", "between", "those that break"),
        rows=tuple(rows),
    )


def _chart(models: Sequence[AuditedModel]) -> Chart:
    panels = []
    for system in dict.fromkeys(one.place.system for one in models):
        there = [one for one in models if one.place.system == system]
        series = []
        for verdict, colour in _COLOURS.items():
            said = [one for one in there if one.verdict == verdict]
            series.append(
                Series(
                    name=f"audit: {verdict}",
                    x=[one.moved for one in said],
                    y=[one.added for one in said],
                    look="points",
                    colour=colour,
                    hover=[f"{one.place.name}, {one.way}, seed {one.seed}" for one in said],
                )
            )
        panels.append(
            Panel(
                title=named(system),
                x_label="moved by offset, drift and tones, in standard deviations",
                y_label="error that the change adds",
                series=tuple(series),
                marks=(
                    Mark(name="holds", axis="y", at=_HOLDS),
                    Mark(name="breaks", axis="y", at=_BREAKS),
                    Mark(name="the audit's limit", axis="x", at=MOVES, colour="quiet"),
                ),
            )
        )
    return Chart(
        name="audit",
        caption="Every trained model of the simulators: what the audit measures without labels, against what the change of the "
        "operating condition adds to its error.",
        panels=tuple(panels),
    )


def _foretold(
    everywhere: Mapping[RemedyPlace, Sequence[AuditedModel]],
) -> dict[str, list[tuple[AuditedModel, float]]]:
    """Models of each system with a learnt task, and the field error that the exchange of offset, drift and tones foretells."""
    found: dict[str, list[tuple[AuditedModel, float]]] = {}
    for place, models in everywhere.items():
        for one in models:
            together = seen_by_spectra(one.outcome).shares.together
            if together is not None and together.error is not None:
                found.setdefault(named(place.system), []).append((one, together.error))
    return found


def _foretold_table(by_system: Mapping[str, Sequence[tuple[AuditedModel, float]]]) -> Table:
    rows = []
    for system, models in by_system.items():
        foretold, measured = [error for _, error in models], [one.outcome.ood for one, _ in models]
        ratios = sorted(field / error for field, error in zip(measured, foretold, strict=True))
        varied = len(set(foretold)) > 1 and len(set(measured)) > 1
        order = float(spearmanr(foretold, measured).statistic) if varied else 0.0
        rows.append(
            (
                system,
                f"{len(models)}",
                f"{order:.2f}",
                f"{statistics.median(ratios):.2f}",
                f"{ratios[len(ratios) // 10]:.2f} to {ratios[-1 - len(ratios) // 10]:.2f}",
            )
        )
    return Table(
        name="foretold",
        caption="The error with offset, drift and tones exchanged against the error that was measured in the field: rank correlation, and "
        "measured over foretold.",
        header=("system", "models", "rank correlation", "median ratio", "four of five models"),
        rows=tuple(rows),
    )


def _foretold_chart(by_system: Mapping[str, Sequence[tuple[AuditedModel, float]]]) -> Chart:
    panels = tuple(
        Panel(
            title=system,
            x_label="error with offset, drift and tones exchanged",
            y_label="field error",
            series=(
                Series(
                    name="models",
                    x=[error for _, error in models],
                    y=[one.outcome.ood for one, _ in models],
                    look="points",
                    colour="event",
                    hover=[f"{one.place.name}, {one.way}, seed {one.seed}" for one, _ in models],
                ),
            ),
        )
        for system, models in by_system.items()
    )
    return Chart(
        name="foretold",
        caption="What the audit expects in the field, without a field label, against what was measured there.",
        panels=panels,
    )


def _judged(models: Sequence[AuditedModel]) -> tuple[Claim, Claim]:
    """The verdicts on every model that was measured so."""
    clear = [one for one in models if one.answer != "unclear"]
    holding = [one for one in clear if one.answer == "events"]
    if not clear or not holding:
        nothing = "no model that holds" if clear else "no model with a clear answer"
        return (
            _RIGHT.judged(nothing, holds=False, partly=False),
            _ALARMS.judged(nothing, holds=False, partly=False),
        )
    right, wrong, alarms = tally(clear)
    share, of_holding = right / len(clear), alarms / len(holding)
    return (
        _RIGHT.judged(
            f"right about {right} of {len(clear)} clear ones ({share:.0%}), wrong about {wrong}, unclear about "
            f"{len(clear) - right - wrong}",
            holds=share >= 0.95 and wrong <= 0.02 * len(clear),
            partly=share >= 0.5 and wrong <= 0.05 * len(clear),
            bar="right about 95 % of the clear ones and wrong about 2 % at most",
        ),
        _ALARMS.judged(
            f"{alarms} of {len(holding)} ({of_holding:.1%})",
            holds=of_holding <= 0.02,
            partly=of_holding <= 0.04,
            bar="2 % or less of the models that hold",
        ),
    )


def tally(clear: Sequence[AuditedModel]) -> tuple[int, int, int]:
    """How many verdicts are right, how many are wrong, and how many of these are false alarms."""
    right = sum(one.verdict == one.answer for one in clear)
    wrong = sum(one.verdict not in (one.answer, "unclear") for one in clear)
    return right, wrong, sum(one.answer == "events" and one.verdict == "background" for one in clear)


def _so_far(models: Sequence[AuditedModel]) -> Table:
    """The same counts by system and over both, whatever is there."""
    systems = dict.fromkeys(one.place.system for one in models)
    groups = {named(system): [one for one in models if one.place.system == system] for system in systems}
    rows = []
    for name, some in {**groups, "both": list(models)}.items():
        clear = [one for one in some if one.answer != "unclear"]
        right, wrong, alarms = tally(clear)
        holding = sum(one.answer == "events" for one in clear)
        counts = (len(some), len(clear), right, len(clear) - right - wrong, wrong)
        rows.append((name, *map(str, counts), f"{alarms} of {holding}"))
    return Table(
        name="so far",
        caption="Models of the simulators, those with a clear answer, and how many of these the audit is right, unclear and wrong "
        "about. A false alarm: a model that holds is said to read the background.",
        header=("system", "models", "clear", "right", "unclear", "wrong", "false alarms"),
        rows=tuple(rows),
    )


def _thresholds(models: Sequence[AuditedModel]) -> Table:
    return threshold_table(
        [ClearCase(one.outcome, one.answer == "background") for one in models if one.answer != "unclear"]
    )


def _show(found: Found) -> Shown:
    ten = {place: audited_models(found, place) for place in TEN_PLACES}
    others = {place: audited_models(found, place) for place in (*BEARING_PLACES, *HARD_PLACES)}
    models = [one for audited in ten.values() for one in audited]
    trained = sum(len(by_seed) for place in TEN_PLACES for by_seed in each_outcome(found, place).values())
    trained += sum(len(_taught(found, place)) for place in _TAUGHT)
    by_system = attributed(found)
    whole = all(found.complete(**place.fields) for place in TEN_PLACES)
    tables = [
        *([_so_far(models), _thresholds(models)] if models else []),
        _verdict_table("verdicts", "The simulators, where the cue breaks and nothing else changes.", ten),
        _verdict_table("elsewhere", "Real bearings, and three settings where something is missing.", others),
    ]
    foretold = _foretold({**ten, **others})
    if foretold:
        tables.append(_foretold_table(foretold))
    return Shown(
        tables=(*tables, order_table(by_system)) if by_system else tuple(tables),
        charts=(*((_chart(models),) if models else ()), *((_foretold_chart(foretold),) if foretold else ())),
        claims=(*_judged(models), judged_order(by_system) if by_system else ORDER_CLAIM)
        if whole and models
        else (_RIGHT, _ALARMS, ORDER_CLAIM),
        notes=(
            "The verdict is that of `crest.audit` on the ID split: it comes from the exchange test, and sees no label and no event.",
            f"The models are those of the remedies, {REANCHORED} ones among them, and some whose attention was taught the events.",
            f"{len(models)} of {trained} trained models were measured with nuisances exchanged, as the audit does it, and count. The audit's limit "
            "was set on the models of development seed 1000 (`crest report calibration`).",
            "With the cue on the event a model can read the event and still break: no test of this kind can see that.",
        ),
    )


AUDIT_EXPERIMENT = Experiment(
    name="audit",
    evidence="Beyond the paper: docs/user/audit.md",
    summary="Is the verdict on a trained model right, and would attributions have told the same?",
    show=_show,
    runs=(
        *seed_by_seed((*TEN_PLACES, *HARD_PLACES, *BEARING_PLACES)),
        *(spec for place in _TAUGHT for spec in _supervised_runs(place)),
    ),
)
