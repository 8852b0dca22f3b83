"""The tables of the bearings, on numbers made up."""

import dataclasses
from typing import Any

import pytest

from crest.lab.evidence.experiment import Found
from crest.lab.evidence.vibration import VIBRATION_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, record, shown

HOLDS = Numbers(id=0.1, ood=0.2, transient=0.95, again=(0.1, 0.2, 0.95))


def calm(spec: RunSpec) -> Numbers:
    return (
        dataclasses.replace(HOLDS, ood=0.8) if spec.system == "hitsm" and spec.regime == "default" else HOLDS
    )


def test_every_claim_holds_where_repairs_help_and_the_audit_is_calm() -> None:
    found = claims(VIBRATION_EXPERIMENT, calm)
    assert [claim.verdict for claim in found] == ["holds"] * 4
    assert found[0].measured == "0.30, 0.30, 0.30, 0.30, 0.30"
    assert found[1].measured == "0.60, 0.60, 0.60, 0.60, 0.60; cannot tell on 0"


def test_false_alarms_are_counted() -> None:
    def alarmed(spec: RunSpec) -> Numbers:
        return dataclasses.replace(calm(spec), transient=0.3, again=(0.1, 0.2, 0.3))

    found = claims(VIBRATION_EXPERIMENT, alarmed)
    assert found[2].verdict == "does not hold"
    assert found[2].measured.split(" of ")[0] == found[2].measured.split(" of ")[1]


def test_a_rule_that_cannot_tell_leaves_the_model_as_it_is() -> None:
    records = {spec.id: record(spec, calm) for spec in VIBRATION_EXPERIMENT.runs}
    silent = {
        name: dataclasses.replace(one, repaired=dataclasses.replace(one.repaired, without=None))
        if one.repaired
        else one
        for name, one in records.items()
    }
    there = VIBRATION_EXPERIMENT.show(Found(VIBRATION_EXPERIMENT.runs, silent, {}))
    assert (there.claims[1].verdict, there.claims[1].measured) == ("partly", "no pick; cannot tell on 5")
    assert "if it picks on no seed, this holds partly" in there.claims[1].text
    assert {row[7:10] for row in there.tables[1].rows} == {("cannot tell", "0.10 / 0.80", "1.00")}


def test_tables_show_what_there_is_so_far() -> None:
    there = shown(VIBRATION_EXPERIMENT, calm)
    assert [one.name for one in there.tables] == ["means", "repairs", "candidates", "calm"]
    assert [row[0] for row in there.tables[2].rows] == ["as it is", "standardise", "balanced"]
    means = {row[0]: row[1:] for row in there.tables[0].rows}
    assert means["as it is"] == ("0.10", "0.80")
    # No candidate of that name on any seed.
    assert means["trained longer"] == ("", "")
    assert float(means["`crest.repair`, speeds known"][1]) == pytest.approx(0.3 * 0.8, abs=0.006)
    nothing = VIBRATION_EXPERIMENT.show(Found(VIBRATION_EXPERIMENT.runs, {}, {}))
    assert nothing.tables == ()
    assert [(claim.measured, claim.verdict) for claim in nothing.claims] == [("", "not measured")] * 4


@pytest.mark.parametrize(
    "missing",
    [
        {"system": "hitsm", "regime": "default", "seed": 4},
        {"system": "hitsm", "regime": "untied", "seed": 0},
        {"system": "cwru", "encoder": "cnn", "seed": 2},
    ],
)
def test_nothing_is_judged_before_every_run_is_there(missing: dict[str, Any]) -> None:
    found = claims(
        VIBRATION_EXPERIMENT,
        calm,
        without=lambda spec: all(getattr(spec, name) == value for name, value in missing.items()),
    )
    assert [claim.verdict for claim in found] == ["not measured"] * 4


def test_records_from_before_nuisances_were_exchanged_are_no_calm_models() -> None:
    records = {spec.id: record(spec, calm) for spec in VIBRATION_EXPERIMENT.runs}
    old = next(spec.id for spec in VIBRATION_EXPERIMENT.runs if spec.regime == "untied")
    before = dataclasses.replace(records[old].spectral, together=None)
    records[old] = dataclasses.replace(records[old], spectral=before)
    there = VIBRATION_EXPERIMENT.show(Found(VIBRATION_EXPERIMENT.runs, records, {}))
    assert [claim.verdict for claim in there.claims] == ["holds", "holds", "not measured", "holds"]
    assert there.notes[0].startswith("1 of 53 bearing models that hold were measured before")
