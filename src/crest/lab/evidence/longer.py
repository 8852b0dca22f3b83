"""Behind a GRU that is trained four times as long: there CREST has nearly learnt, too, as after 40 epochs it has not."""

import dataclasses
from typing import Any

from crest.lab.evidence.baselines import RECURRENT_CLAIM, recurrent_claim, recurrent_groups
from crest.lab.evidence.compare import Contest, contest, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import RECORD_COLUMNS, error_chart, grouped_table
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import FORMS, HEADLINE_SYSTEMS, THREE
from crest.lab.evidence.shown import BEYOND, Claim, Shown
from crest.lab.runs.grid import grid
from crest.lab.training import SCHEDULES

# Of 40, 80 and 160 epochs the lowest ID errors on development seed 1000. our choice: docs/evidence/choices.md#schedules
_TIMES = 4
_SCHEDULE = dataclasses.replace(SCHEDULES["gru"], epochs=_TIMES * SCHEDULES["gru"].epochs)
_LONGER: dict[str, Any] = {"encoder": "gru", "schedule": _SCHEDULE}
_RUNS = {
    "gear": (
        *grid([_LONGER], seed=THREE, system="gear", readout=[*FORMS, "last", "mean"]),
        *grid([_LONGER], seed=THREE, system="gear", readout="mean", objective="group_dro"),
    ),
    "impact": grid([_LONGER], seed=THREE, system="impact", readout=FORMS),
}
_WORSE = 0.10
"""So much worse than attention may CREST be."""
_ENDING = ", after four times the epochs"


def _duel(found: Found, system: str) -> Contest | None:
    return contest(found.part(_RUNS[system]))


def _attention_claim(found: Found, system: str) -> Claim:
    claim = Claim(
        text=f"With a GRU on {named(system)}, CREST is no worse than attention{_ENDING}", paper=BEYOND
    )
    duel = _duel(found, system)
    if duel is None:
        return claim
    return claim.judged(
        f"{percent(duel.ood.change, 1)} against {named(duel.form)}, lower on {duel.ood.lower} of {duel.ood.seeds} seeds; ID error "
        f"{percent(duel.id_ratio - 1, 1)}",
        holds=duel.ood.change <= _WORSE,
        partly=False,
        bar=f"the mean OOD error is at most {_WORSE:.0%} above that of the attention with the lower ID error",
        test=duel.ood,
    )


def _show(found: Found) -> Shown:
    groups = {
        (system, name): records
        for system in HEADLINE_SYSTEMS
        for name, records in recurrent_groups(found.part(_RUNS[system])).items()
        if records
    }
    duels = {system: _duel(found, system) for system in HEADLINE_SYSTEMS}
    caption = f"Errors behind a GRU with {_SCHEDULE.epochs} epochs in the place of {SCHEDULES['gru'].epochs}, for every readout."
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
            *(_attention_claim(found, system) for system in HEADLINE_SYSTEMS),
        ),
    )


LONGER_EXPERIMENT = Experiment(
    name="longer",
    evidence="Stronger baselines, trained for longer",
    summary="Is CREST behind a GRU still below the baselines, and attention, once both have learnt?",
    show=_show,
    runs=tuple(spec for runs in _RUNS.values() for spec in runs),
)
