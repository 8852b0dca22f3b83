"""The table of the audit, on numbers made up."""

import dataclasses

import pytest

from crest.lab.evidence.audited import AUDIT_EXPERIMENT
from crest.lab.evidence.experiment import Found
from crest.lab.evidence.remedy_runs import TEN_PLACES
from crest.lab.evidence.shown import Table
from crest.lab.runs.record import ReanchoredScore
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, record, shown

READS_EVENTS = Numbers(id=0.1, ood=0.2, transient=0.95, again=(0.1, 0.2, 0.95), gradient=0.3)
READS_BACKGROUND = Numbers(id=0.1, ood=0.8, transient=0.3, again=(0.1, 0.2, 0.95), gradient=0.4)


def right(spec: RunSpec) -> Numbers:
    """Attention breaks, everything else holds, and the audit sees it; the gradient is on the events of those that break."""
    plain = spec.readout == "scored_attention" and spec.remedy == "none" and spec.objective == "mse"
    return READS_BACKGROUND if plain else READS_EVENTS


def table(name: str, tables: tuple[Table, ...]) -> Table:
    return next(one for one in tables if one.name == name)


def test_the_verdicts_are_counted_by_what_the_errors_say() -> None:
    there = shown(AUDIT_EXPERIMENT, right)
    rows = {row[0]: row[1:] for row in table("verdicts", there.tables).rows}
    # Eight ways on five seeds, and three seeds that were taught the events.
    assert rows["SG-Drive, pointwise"] == ("43", "38 / 0 / 0", "", "0 / 0 / 5")
    assert rows["Impact, CNN"] == ("40", "35 / 0 / 0", "", "0 / 0 / 5")
    assert len(rows) == len(TEN_PLACES)
    assert len(table("elsewhere", there.tables).rows) == 5


def test_every_claim_holds_where_the_audit_is_right() -> None:
    found = claims(AUDIT_EXPERIMENT, right)
    assert [claim.verdict for claim in found] == ["holds"] * 3
    # Eight ways on five and on three seeds, and three in four places that were taught the events.
    assert found[0].measured == "right about 316 of 316 clear ones (100%), wrong about 0, unclear about 0"
    assert found[1].measured.startswith("0 of ")
    assert "SG-Drive: +2.00 (" in found[2].measured


def test_a_false_alarm_is_told() -> None:
    def alarmed(spec: RunSpec) -> Numbers:
        return dataclasses.replace(right(spec), transient=0.3) if spec.readout == "crest" else right(spec)

    found = claims(AUDIT_EXPERIMENT, alarmed)
    assert [claim.verdict for claim in found] == ["does not hold", "does not hold", "holds"]


@pytest.mark.parametrize(
    ("ood", "cells"),
    [(0.26, ("35 / 0 / 0", "", "0 / 0 / 5")), (0.3, ("", "35 / 0 / 0", "0 / 0 / 5"))],
)
def test_a_model_holds_where_the_change_adds_little(ood: float, cells: tuple[str, ...]) -> None:
    def rule(spec: RunSpec) -> Numbers:
        return dataclasses.replace(right(spec), again=(0.1, ood, 0.95), ood=max(ood, right(spec).ood))

    rows = {row[0]: row[2:] for row in table("verdicts", shown(AUDIT_EXPERIMENT, rule).tables).rows}
    assert rows["SG-Drive, CNN"] == cells


def test_models_that_were_not_measured_as_the_audit_measures_do_not_count() -> None:
    records = {spec.id: record(spec, right) for spec in AUDIT_EXPERIMENT.runs}
    older = {
        name: dataclasses.replace(one, spectral=None, reanchored=_older(one.reanchored))
        if one.spec.seed == 0
        else one
        for name, one in records.items()
    }
    there = AUDIT_EXPERIMENT.show(Found(AUDIT_EXPERIMENT.runs, older, {}))
    assert there.claims[0].measured.startswith("right about 232 of 232")
    rows = {row[0]: row[1:] for row in table("so far", there.tables).rows}
    assert rows["both"] == ("232", "232", "232", "0", "0", f"0 of {232 - 2 * 8 - 3 * 4}")
    assert list(rows) == ["SG-Drive", "Impact", "both"]


def _older(again: ReanchoredScore | None) -> ReanchoredScore | None:
    return None if again is None else dataclasses.replace(again, spectral=None)


def test_models_without_a_clear_answer_judge_nothing() -> None:
    found = claims(AUDIT_EXPERIMENT, lambda spec: Numbers(id=0.1, ood=0.4, again=(0.1, 0.4, 0.5)))
    assert [claim.verdict for claim in found[:2]] == ["does not hold"] * 2
    assert found[0].measured == "no model with a clear answer"


def test_nothing_is_claimed_before_every_run_is_there() -> None:
    there = shown(AUDIT_EXPERIMENT, right, without=lambda spec: spec.seed > 1)
    assert {claim.verdict for claim in there.claims} == {"not measured"}
    assert table("verdicts", there.tables).rows[0][1] == "18"
    nothing = shown(AUDIT_EXPERIMENT, right, without=lambda spec: True)
    assert not nothing.charts
