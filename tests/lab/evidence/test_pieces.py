"""Pieces whose records are not all there, and all pieces together."""

import pytest

from crest.lab.evidence import CATALOG
from crest.lab.evidence.experiment import Experiment
from crest.lab.evidence.names import SYSTEM_NAMES
from crest.lab.evidence.shown import Chart, Piece
from crest.lab.report.formats import markdown
from evidence_made import shown


@pytest.mark.parametrize("one", CATALOG.values(), ids=lambda one: one.name)
def test_without_records_nothing_is_measured(one: Experiment) -> None:
    there = shown(one, without=lambda _: True)
    assert [claim for claim in there.claims if claim.verdict != "not measured" or claim.measured] == []
    check_chart_names(there.charts)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("one", CATALOG.values(), ids=lambda one: one.name)
def test_with_every_second_record_no_claim_has_a_hole_and_all_is_shown(one: Experiment, first: int) -> None:
    kept, gone = ({spec.id: spec for spec in one.runs[k::2]} for k in (first, 1 - first))
    there = shown(one, without=lambda spec: spec.id in gone)
    # In some grids every second run is a whole system.
    holes = {SYSTEM_NAMES[spec.system] for spec in gone.values()}
    whole = [name for spec in kept.values() if (name := SYSTEM_NAMES[spec.system]) not in holes]
    measured = [claim.text for claim in there.claims if claim.verdict != "not measured"]
    assert [text for text in measured if not any(name in text for name in whole)] == []
    assert there.tables
    check_chart_names(there.charts)
    piece = Piece(name=one.name, evidence="", summary="", found=1, declared=2, command="", shown=there)
    assert "Incomplete: 1 of 2" in markdown(piece)


@pytest.mark.parametrize("one", CATALOG.values(), ids=lambda one: one.name)
def test_one_missing_seed_leaves_no_claim_that_needs_it(one: Experiment) -> None:
    """The first seed of every setting is gone: no claim about trained models is left."""
    first = min(spec.seed for spec in one.runs)
    there = shown(one, without=lambda spec: spec.seed == first)
    assert [claim.text for claim in there.claims if claim.verdict != "not measured"] == []


@pytest.mark.parametrize("one", CATALOG.values(), ids=lambda one: one.name)
def test_with_all_records_every_claim_about_runs_is_measured(one: Experiment) -> None:
    studies = {study.name for study in one.studies}
    there = shown(one)
    unmeasured = [claim for claim in there.claims if claim.verdict == "not measured"]
    assert bool(unmeasured) == bool(studies)
    assert all(claim.measured for claim in there.claims if claim not in unmeasured)
    assert there.charts or studies
    check_chart_names(there.charts)


@pytest.mark.parametrize("one", CATALOG.values(), ids=lambda one: one.name)
def test_a_trial_of_one_seed_can_be_shown(one: Experiment) -> None:
    quick = one.quick()
    assert len({spec.id for spec in quick.runs}) == len(quick.runs)
    there = shown(quick)
    assert there.tables
    check_chart_names(there.charts)


def check_chart_names(charts: tuple[Chart, ...]) -> None:
    names = [chart.name for chart in charts]
    assert len(set(names)) == len(names)
    assert all(chart.panels for chart in charts)


def test_claims_are_told_apart_by_their_text() -> None:
    every = [claim for one in CATALOG.values() for claim in shown(one).claims]
    assert len({claim.text for claim in every}) == len(every)
