"""What the tests of the evidence share: records of every run of an experiment, filled by hand."""

import dataclasses
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from crest.exchange.sensitivity import Sensitivity
from crest.lab.evaluation import Budget, Score
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.shown import Claim, Shown, Table
from crest.lab.runs.record import (
    Attribution,
    Look,
    ReanchoredScore,
    Record,
    RepairCandidate,
    RepairScore,
    Shares,
)
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.probes import CreditMeans, DeletionCurve, Trace, Traces
from sweeping import made_up

STEPS = 12
COURSE = ((0, 1.0, 1.0, 0.1), (4, 0.3, 0.6, 0.3), (54, 0.102, 0.4, 0.2), (60, 0.1, 0.4, 0.2))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Numbers:
    """What a run is said to have measured; what its spec does not ask for stays away."""

    id: float = 0.1
    ood: float = 0.4
    cie: float = 0.25
    ecm: float = 0.25
    chance: float = 0.125
    epsilon: float = 0.1
    """CREST's budget."""
    rated: float = 0.2
    credit: float = 0.2
    random: float = 0.02
    events: float = 0.2
    """Growth of the error without a tenth of the steps, by what chose them; without all events."""
    gradient: float = 0.5
    """Share of the input gradient on events."""
    transient: float = 0.6
    """Share of the prediction that follows the transient."""
    again: tuple[float, float, float] = (0.15, 0.3, 0.7)
    """ID error, OOD error and transient share of the model after re-anchoring."""
    course: tuple[tuple[int, float, float, float], ...] = COURSE
    """Epoch, ID error, OOD error, CiE@1 of each look."""
    steps: tuple[int, ...] = (3, 4, 8)
    """Events of the trajectories."""
    worst: float | None = None
    """The largest OOD error over label x condition."""
    conditions: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
    """Errors by split and condition."""


Rule = Callable[[RunSpec], Numbers]


def plain(_: RunSpec) -> Numbers:
    return Numbers()


CREST = Numbers(id=0.1, ood=0.2, cie=0.75, ecm=0.75)
DOT = Numbers(id=0.12, ood=0.6)
SCORED = Numbers(id=0.1, ood=0.4)


def duel(*, crest: Numbers = CREST, dot: Numbers = DOT, scored: Numbers = SCORED) -> Rule:
    """Numbers by readout, whatever the seed; the MLP's score is the stronger attention unless told otherwise."""
    return lambda spec: {"attention": dot, "scored_attention": scored}.get(spec.readout, crest)


def record(spec: RunSpec, rule: Rule = plain) -> Record:
    """The record of a run that nobody trained."""
    numbers = rule(spec)
    measured = {}
    if "deletion" in spec.measures:
        measured["deletion"] = {
            source: _curve(numbers, getattr(numbers, source)) for source in ("rated", "credit", "random")
        } | {"events": DeletionCurve((0.0, 0.13), (numbers.id, numbers.id + numbers.events))}
    if "saliency" in spec.measures:
        measured["saliency"] = _means(numbers, ecm=numbers.gradient)
    if "traces" in spec.measures:
        measured["traces"] = _traces(spec, numbers)
    if "exchange" in spec.measures:
        measured["exchange"] = measured["spectral"] = _shares(numbers.transient)
        measured["seconds"] = {"data": 0.0, "training": 1.0, "measuring": 1.0, "exchange": 0.5}
    if "attribution" in spec.measures:
        measured["attributions"] = {
            name: Attribution(credit=_means(numbers, ecm=numbers.gradient), seconds=seconds, trajectories=16)
            for name, seconds in (("integrated_gradients", 2.0), ("wintsr", 8.0))
        }
    if "repair" in spec.measures:
        measured["repaired"] = RepairScore(
            pick="balanced", without="standardise", verdict="background", verdict_without="events", breaking=6,
            candidates={
                "as it is": RepairCandidate(id=numbers.id, ood=numbers.ood, expected=0.9, even=0.8),
                "standardise": RepairCandidate(id=numbers.id, ood=0.6 * numbers.ood, expected=0.5, even=0.5),
                "balanced": RepairCandidate(id=numbers.id, ood=0.3 * numbers.ood, expected=0.6, even=0.2),
            },
        )  # fmt: skip
    if "reanchor" in spec.measures:
        seen, unseen, transient = numbers.again
        measured["reanchored"] = ReanchoredScore(
            score=Score(id=seen, ood=unseen),
            exchange=_shares(transient),
            budget="pooled",
            leave_one_out=seen,
            spectral=_shares(transient),
            worst=None if numbers.worst is None else numbers.worst + 1,
        )
    if spec.readout == "crest":
        budget = Budget(epsilon=numbers.epsilon, alpha=0.5, width=0.1, tail=0.1, selected=numbers.epsilon)
        measured["budget"] = {"id": budget, "ood": budget}
    if spec.observe_every:
        measured["looks"] = [
            Look(epoch=epoch, score=Score(id=seen, ood=unseen), credit=_means(numbers, cie=cie))
            for epoch, seen, unseen, cie in numbers.course
        ]
    return made_up(
        spec,
        score=Score(id=numbers.id, ood=numbers.ood),
        credit={"id": _means(numbers), "ood": _means(numbers)},
        worst=numbers.worst,
        conditions=numbers.conditions,
        **measured,
    )


def _shares(transient: float) -> Shares:
    rest = 1 - transient
    return Shares(
        transient=transient,
        background=rest,
        interaction=0.0,
        background_alone=rest,
        exchanged_error=rest + 0.1,
        transient_interval=(transient, transient),
        background_interval=(rest, rest),
        moved=math.sqrt(2 * rest),
        moved_interval=(math.sqrt(2 * rest), math.sqrt(2 * rest)),
        together=Sensitivity(
            moved=math.sqrt(2 * rest),
            moved_interval=(math.sqrt(2 * rest), math.sqrt(2 * rest)),
            error=rest + 0.1,
        ),
    )


def _means(numbers: Numbers, **changes: float) -> CreditMeans:
    parts = {"cie": numbers.cie, "ecm": numbers.ecm, "precision": 0.5, "chance": numbers.chance} | changes
    return CreditMeans(**parts, counted=8, without_events=0)


def _curve(numbers: Numbers, growth: float) -> DeletionCurve:
    """Half of the growth at a twentieth of the steps, the growth at a tenth, three times at a quarter."""
    return DeletionCurve(
        fractions=(0.0, 0.05, 0.1, 0.25),
        errors=tuple(numbers.id + part * growth for part in (0.0, 0.5, 1.0, 3.0)),
    )


def _traces(spec: RunSpec, numbers: Numbers) -> Traces:
    """A trajectory of each split, the same whatever the readout."""
    rows = [
        Trace(
            split=split,
            index=0,
            y=1.0,
            cue=0.5,
            prediction=0.9,
            signals=[[float(step) for step in range(STEPS)]],
            events=list(numbers.steps),
            credit=[1 / STEPS] * STEPS,
            transience=[0.25 if step in numbers.steps else 0.125 for step in range(STEPS)],
            votes=[0.5 if step in numbers.steps else 0.0 for step in range(STEPS)]
            if spec.readout == "crest"
            else None,
        )
        for split in ("id", "ood")
    ]
    return Traces(channels=["signal"], sample_rate=10.0, rows=rows)


def found(
    experiment: Experiment,
    rule: Rule = plain,
    *,
    without: Callable[[RunSpec], bool] = lambda _: False,
    studies: Mapping[str, Any] | None = None,
) -> Found:
    """Records of the experiment's runs, but for those to be left out."""
    records = {spec.id: record(spec, rule) for spec in experiment.runs if not without(spec)}
    return Found(experiment.runs, records, studies or {})


def shown(experiment: Experiment, rule: Rule = plain, **options: Any) -> Shown:
    """What the experiment makes of such records."""
    return experiment.show(found(experiment, rule, **options))


def claims(experiment: Experiment, rule: Rule = plain, **options: Any) -> tuple[Claim, ...]:
    """What it claims."""
    return shown(experiment, rule, **options).claims


def verdicts(experiment: Experiment, rule: Rule = plain, **options: Any) -> list[str]:
    """The verdicts on its claims."""
    return [claim.verdict for claim in claims(experiment, rule, **options)]


def write(folder: Path, experiments: Iterable[Experiment], rule: Rule = plain) -> Store:
    """A store with the records of all runs of these experiments."""
    store = Store(folder)
    # Hundreds of records that nobody needs after the test: a flush of each would take most of the time.
    with mock.patch.object(os, "fsync"):
        for spec in {spec.id: spec for one in experiments for spec in one.runs}.values():
            store.write(record(spec, rule))
    return store


def column(table: Table, name: str) -> list[str]:
    """The cells under a heading."""
    return [row[table.header.index(name)] for row in table.rows]
