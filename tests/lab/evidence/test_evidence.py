"""All pieces together: the catalog, pieces whose records are not all there, and what importing them costs."""

import subprocess
import sys
from pathlib import Path

import pytest

from crest._pages.colours import COLOURS
from crest.lab.evidence import CATALOG, GROUPS, experiments_of, headline_first
from crest.lab.evidence.experiment import Experiment
from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.names import SYSTEM_NAMES
from crest.lab.evidence.shown import Chart, Piece
from crest.lab.report.formats import markdown
from crest.lab.runs.store import Store
from evidence_made import duel, shown, write


def test_the_headline_is_run_first_and_what_takes_longest_last() -> None:
    order = [one.name for one in headline_first(CATALOG.values())]
    assert sorted(order) == sorted(CATALOG)
    assert (order[0], order[-1]) == ("main", "field")
    assert order[: len(GROUPS["paper"])] == list(GROUPS["paper"])


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
    # No claim of `field` is about its study.
    assert bool(unmeasured) == bool(studies - {"field_readers"})
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


# -- the catalog


def test_experiments_are_found_by_name() -> None:
    assert [one.name for one in experiments_of(["main", "main"])] == ["main"]
    assert [one.name for one in experiments_of(["convergence", "main"])] == ["convergence", "main"]
    assert experiments_of(["all"]) == experiments_of(["main", "all"]) == list(CATALOG.values())
    assert {one.name for one in experiments_of(["paper"])} == {*GROUPS["paper"]}
    assert all(name == one.name for name, one in CATALOG.items())
    with pytest.raises(ValueError, match=r"name must be one of .*main.*, all, got 'mian'"):
        experiments_of(["mian"])


@pytest.mark.parametrize("one", CATALOG.values(), ids=lambda one: one.name)
def test_the_catalog_lists_no_run_twice_and_reports_on_reported_seeds(one: Experiment) -> None:
    ids = [spec.id for spec in one.runs]
    assert len(set(ids)) == len(ids)
    seeds = {spec.seed for spec in one.runs}
    assert seeds <= set(range(10)) or min(seeds) >= 1000
    assert one.runs or one.studies
    assert "?" in one.summary


@pytest.mark.parametrize("one", CATALOG.values(), ids=lambda one: one.name)
def test_an_experiment_without_any_record_can_still_be_shown(one: Experiment, tmp_path: Path) -> None:
    piece = one.piece(Store(tmp_path))
    assert (piece.found, piece.declared) == (0, len(one.runs) + len(one.studies))


def test_no_two_experiments_show_the_same_piece() -> None:
    names = [one.evidence for one in CATALOG.values()]
    assert len(set(names)) == len(names)


# -- the wall


DRAWING = ("crest.lab.report", "plotly", "matplotlib", "jinja2", "PIL")


def loaded(code: str) -> list[str]:
    """What a fresh process has loaded of the presentation once it has run this code."""
    ending = f"\nprint(*[name for name in {DRAWING} if name in sys.modules], sep='\\n', file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}{ending}"], capture_output=True, text=True, check=True
    )
    return done.stderr.split()


@pytest.mark.slow
def test_knowing_what_is_claimed_loads_nothing_that_draws() -> None:
    assert loaded("import crest.lab.evidence") == []
    # The test sees what it looks for.
    assert loaded("import crest.lab.report.axes") == ["crest.lab.report"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "status"])
def test_running_and_counting_load_nothing_that_draws(command: str, tmp_path: Path) -> None:
    write(tmp_path, [MAIN_EXPERIMENT.quick()], duel())
    words = [command, "main", "--quick", "--folder", str(tmp_path)]
    assert (
        loaded(f"from crest.lab import cli\nsys.argv[1:] = {words}\ntry: cli.main()\nexcept SystemExit: pass")
        == []
    )


def test_a_colour_of_the_evidence_is_a_word_that_the_report_has_a_colour_for() -> None:
    charts = [chart for one in CATALOG.values() for chart in shown(one).charts]
    colours = {
        part.colour for chart in charts for panel in chart.panels for part in (*panel.series, *panel.marks)
    }
    assert colours <= set(COLOURS)
