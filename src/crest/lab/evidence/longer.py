"""CREST, attention and the baselines behind a GRU with four times the epochs: after the usual 40 CREST is far from what it can learn."""

import dataclasses
from typing import Any

from crest.lab.evidence.baselines import RECURRENT_CLAIM, recurrent_claim, recurrent_groups
from crest.lab.evidence.compare import Contest, contest, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import Words, error_chart, grouped_table
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import FORMS, HEADLINE_SYSTEMS, THREE
from crest.lab.evidence.shown import BEYOND, Claim, Shown
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record
from crest.lab.training import SCHEDULES

# Of 40, 80 and 160 epochs the lowest ID errors on development seed 1000. our choice: docs/evidence/choices.md#schedules
_TIMES = 4
_SCHEDULE = SCHEDULES["gru"].times(_TIMES)
_LONGER: dict[str, Any] = {"encoder": "gru", "schedule": _SCHEDULE}
_RUNS = {
    "gear": (
        *grid([_LONGER], seed=THREE, system="gear", readout=[*FORMS, "last", "mean"]),
        *grid([_LONGER], seed=THREE, system="gear", readout="mean", objective="group_dro"),
    ),
    "impact": grid([_LONGER], seed=THREE, system="impact", readout=FORMS),
}
_ABOVE = 0.10
"""So far above attention's may CREST's OOD error be: named before the runs, not found by them."""
_ENDING = ", after four times the epochs"


def _attention_claim(system: str, duel: Contest | None) -> Claim:
    claim = Claim(
        text=f"With a GRU on {named(system)}, CREST is at most {_ABOVE:.0%} above attention{_ENDING}",
        paper=BEYOND,
    )
    if duel is None:
        return claim
    return claim.judged(
        f"{percent(duel.ood.change, 1)} against {named(duel.form)}, lower on {duel.ood.lower} of {duel.ood.seeds} seeds; ID error "
        f"{percent(duel.id_ratio - 1, 1)}",
        holds=duel.ood.change <= _ABOVE,
        partly=False,
        bar=f"the mean OOD error is at most {_ABOVE:.0%} above that of the attention with the lower ID error",
        seeds=duel.ood.seeds,
    )


def _show(found: Found) -> Shown:
    groups: dict[Words, list[Record]] = {
        (system, name): records
        for system in HEADLINE_SYSTEMS
        for name, records in recurrent_groups(found.part(_RUNS[system])).items()
        if records
    }
    duels = {system: contest(found.part(_RUNS[system])) for system in HEADLINE_SYSTEMS}
    caption = (
        f"Errors behind a GRU with {_SCHEDULE.epochs} epochs; elsewhere it has {SCHEDULES['gru'].epochs}."
    )
    table = grouped_table(
        "longer",
        f"{caption} * the stronger form of attention.",
        ("system", "readout", "ID", "OOD", "CiE@1", "ECM", "seeds"),
        groups,
        starred=[(system, duel.form) for system, duel in duels.items() if duel is not None],
    )
    against_three = dataclasses.replace(
        RECURRENT_CLAIM, text=f"{RECURRENT_CLAIM.text}{_ENDING}", paper=BEYOND
    )
    return Shown(
        tables=(table,),
        charts=(error_chart("longer", caption, groups),) if groups else (),
        claims=(
            recurrent_claim(against_three, found.part(_RUNS["gear"]), {}),
            *(_attention_claim(system, duel) for system, duel in duels.items()),
        ),
    )


LONGER_EXPERIMENT = Experiment(
    name="longer",
    evidence="docs/evidence/history.md, twice the epochs",
    summary="Behind a GRU with 160 epochs, is CREST below the baselines and near attention?",
    show=_show,
    runs=tuple(spec for runs in _RUNS.values() for spec in runs),
)
