import re
from pathlib import Path

import pytest

from crest._pages.panels import BarPanel, FindingLine, FirstScreen
from crest.lab.evidence import CATALOG
from crest.lab.evidence.experiment import Experiment
from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.regimes import REGIMES_EXPERIMENT
from crest.lab.evidence.shown import Claim, Comparison, Shown, Table
from crest.lab.evidence.theory import THEORY_EXPERIMENT
from crest.lab.evidence.trial import TRIAL_NOTE, as_trial
from crest.lab.runs.store import Store
from evidence_made import Numbers, column, duel, write

# Thousands of specs and records, whose types other tests check: with each call checked it takes four to twenty times as long.
pytestmark = pytest.mark.unchecked

PIECES = list(CATALOG.values())
# CREST's errors are thousands of times attention's, its credit a billion times: what two epochs may well give.
ABSURD = duel(crest=Numbers(id=10.0, ood=5000.0, cie=1.0, ecm=1.0), scored=Numbers(cie=0.0, ecm=0.0))


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Records of every trial."""
    return write(tmp_path_factory.mktemp("trials"), [one.quick() for one in PIECES], ABSURD)


@pytest.mark.parametrize("one", PIECES, ids=lambda one: one.name)
def test_a_trial_has_tables_but_no_verdict_and_no_ratio(one: Experiment, trials: Store) -> None:
    piece = one.quick().piece(trials)
    assert piece.found == len(one.quick().runs)
    assert {(claim.verdict, claim.measured) for claim in piece.shown.claims} <= {("not measured", "a trial")}
    assert all((claim.seeds, claim.p, claim.bar) == (None, None, "") for claim in piece.shown.claims)
    assert piece.shown.notes[0] == TRIAL_NOTE
    for table in piece.shown.tables:
        ours = [row for row in table.rows if not row[0].endswith("paper")]
        cells = [cell for row in ours for cell in row]
        assert [cell for cell in cells if re.search(r"\d ?%", cell)] == []
    for chart in piece.shown.charts:
        assert chart.panels
        assert not any("%" in panel.y_label for panel in chart.panels)
        assert all(series.hover is None for panel in chart.panels for series in panel.series)


def test_the_same_records_in_earnest_have_verdicts_and_ratios(tmp_path: Path) -> None:
    """So that the test above sees what it looks for."""
    store = write(tmp_path, [MAIN_EXPERIMENT, REGIMES_EXPERIMENT], ABSURD)
    main, regimes = (one.piece(store).shown for one in (MAIN_EXPERIMENT, REGIMES_EXPERIMENT))
    assert "not measured" not in {claim.verdict for claim in main.claims}
    assert column(main.tables[0], "ΔOOD")[2] == "+1249900 %"
    assert "%" in regimes.charts[0].panels[0].y_label
    assert TRIAL_NOTE not in main.notes


def test_the_numbers_of_a_trial_are_shown_and_the_papers_too(trials: Store) -> None:
    table = MAIN_EXPERIMENT.quick().piece(trials).shown.tables[0]
    assert column(table, "OOD")[2] == "5000.000"
    assert column(table, "ΔOOD") == ["", "", "trial", "", "", "trial", "", "−29 %", "", "−50 %"]
    assert column(table, "p (least)")[:6] == ["", "", "trial", "", "", "trial"]


def test_claims_that_rest_on_studies_keep_their_verdict(tmp_path: Path) -> None:
    quick = THEORY_EXPERIMENT.quick()
    store = write(tmp_path, [quick], ABSURD)
    for study in quick.studies:
        study.ensure(tmp_path)
    assert [claim.verdict for claim in quick.piece(store).shown.claims] == [
        "holds",
        "holds",
        "not measured",
        "does not hold",  # Proposition 2: the ratio falls again
    ]


def test_a_trial_is_repeated_by_the_command_of_a_trial(trials: Store) -> None:
    assert MAIN_EXPERIMENT.quick().piece(trials).command == "crest run main --quick"


def test_cells_that_only_look_like_a_change_stay() -> None:
    table = Table(name="", caption="", header=("a", "b"), rows=(("+5 %", Comparison("+5 %", 0.05)),))
    assert as_trial(Shown(tables=(table,)), []).tables[0].rows == (("+5 %", "trial"),)


def test_a_claim_without_a_record_takes_the_place_of_the_one_on_the_trials() -> None:
    measured = Claim(text="a", paper="b").judged("0.1", holds=True, partly=True, seeds=1)
    assert as_trial(Shown(claims=(measured,)), [Claim(text="a", paper="b")]).claims == (
        Claim(text="a", paper="b", measured="a trial"),
    )


def test_the_first_screen_of_a_trial_has_no_bars() -> None:
    line = FindingLine(mark="good", word="the pick holds", sentence="It holds.")
    first = FirstScreen(findings=(line,), left=(BarPanel(title="", rows=(), models=()),))
    found = as_trial(Shown(first=first), []).first
    assert found is not None
    assert [(one.mark, one.sentence) for one in found.findings] == [("doubt", TRIAL_NOTE)]
    assert not found.left
    assert as_trial(Shown(), []).first is None
