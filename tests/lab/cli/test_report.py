import json
import re
from pathlib import Path

import pytest

from commands import Command, explored, sections
from crest.lab.cli.console import TRIAL, words_aside
from crest.lab.cli.report import VERDICT_STYLES, report
from crest.lab.evidence import CATALOG
from crest.lab.evidence.cross import CROSS_EXPERIMENT
from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.study_file import study_of
from crest.lab.evidence.teaser import TEASER_EXPERIMENT
from crest.lab.evidence.theory import THEORY_EXPERIMENT
from evidence_made import duel, write
from studies_made import made_study


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with records of Table 1 and of the explorer that nobody trained."""
    return write(tmp_path_factory.mktemp("records"), [TEASER_EXPERIMENT, MAIN_EXPERIMENT], duel()).folder


@pytest.mark.slow
def test_the_page_has_every_piece_and_an_explorer(crest: Command, records: Path) -> None:
    shown, status = crest("report", "--folder", records)
    assert status == 0
    assert shown.splitlines()[-1] == "Report: outputs/report.html"
    page = Path("outputs/report.html").read_text()
    assert sections(page)[0] == "field"  # real recordings first
    assert sorted(sections(page)) == sorted(CATALOG)
    readouts = ["mean", "attention (dot)", "attention (MLP)", "CREST", "event window"]
    assert explored(page) == dict.fromkeys(("SG-Drive", "Impact", "CWRU"), readouts)
    assert TRIAL not in page


def test_names_restrict_the_pieces(crest: Command, records: Path) -> None:
    crest("report", "main", "cross", "--folder", records, "--output", "deep/down/page.html")
    page = Path("deep/down/page.html").read_text()
    assert sections(page) == ["main", "cross"]
    assert explored(page) == {}
    assert not Path("outputs").exists()
    assert list(Path("deep/down").iterdir()) == [Path("deep/down/page.html")]


def test_verdicts_are_printed_with_the_records_that_they_rest_on(crest: Command, records: Path) -> None:
    shown, _ = crest("report", "main", "cross", "dynamics", "--folder", records, "--format", "md")
    lines = [line for line in shown.splitlines() if re.match(r"main +\S", line)]
    assert len(lines) == 2 * 7  # seven checks of each simulator
    # Attention is better than a guess in these records.
    assert [" does not hold" in line for line in lines] == ["worse than a guess" in line for line in lines]
    assert all(line.rstrip().endswith("hold") or line.rstrip().endswith(" holds") for line in lines)
    assert "−50.0 %" in lines[0]
    assert re.search(rf"^cross \(60/{len(CROSS_EXPERIMENT.runs)}\) .* not measured *$", shown, re.MULTILINE)
    assert re.search(r"^dynamics \(0/10\) .* not measured *$", shown, re.MULTILINE)


def test_markdown(crest: Command, records: Path) -> None:
    shown, status = crest("report", "main", "deletion", "--folder", records, "--format", "md")
    assert (status, shown.splitlines()[-1]) == (0, "Report: outputs/report.md")
    text = Path("outputs/report.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Table 1: main", "Figure S1: deletion"]
    assert text.startswith("Claims of the paper beside what was measured here.")
    assert text.count("60 of 60 runs; `crest run") == 2


def test_json_has_the_verdicts(crest: Command, records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(*("main", "cross"), folder=records, format="md", json=True)
    words_aside(False)
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (found["report"], found["trial"]) == ("outputs/report.md", False)
    assert {one["verdict"] for one in found["claims"]} <= set(VERDICT_STYLES)
    assert {(one["evidence"], one["found"] == one["declared"]) for one in found["claims"]} == {
        ("main", True),
        ("cross", False),
    }
    assert "Report: outputs/report.md" in shown.err


@pytest.mark.parametrize("shape", ["missing", "empty", "of another experiment", "not a folder"])
def test_nothing_to_report_is_one_sentence(shape: str, crest: Command, records: Path) -> None:
    words: tuple[object, ...] = ("report", "--folder", "there")
    message = "folder must have records of the catalog, got none in there"
    if shape == "empty":
        Path("there").mkdir()
    elif shape == "of another experiment":
        words = ("report", "dynamics", "--folder", records)
        message = f"folder must have records of dynamics, got none in {records}"
    else:
        message = "folder must have the records of runs, but there is not a folder"
        if shape == "not a folder":
            Path("there").touch()
            message = "folder must have the records of runs"
    shown, status = crest(*words)
    assert status == 1
    assert len(shown.strip().splitlines()) == 1
    assert shown.startswith(f"crest: --{message}")
    assert not Path("outputs").exists()


def test_unknown_names_and_formats_are_refused(crest: Command, records: Path) -> None:
    shown, status = crest("report", "mian", "--folder", records)
    assert (status, "got 'mian'" in shown, "Traceback" in shown) == (1, True, False)
    shown, status = crest("report", "main", "--folder", records, "--format", "docx")
    assert (status, "docx" in shown, "Traceback" in shown) == (2, True, False)


def test_a_report_of_a_trial_says_so(crest: Command) -> None:
    write(Path("trial"), [MAIN_EXPERIMENT.quick()], duel())
    shown, status = crest("report", "main", "--quick", "--folder", "trial")
    assert status == 0
    assert TRIAL in shown
    assert TRIAL in Path("outputs/trial.html").read_text()
    claims = re.findall(r"^main +\S.*$", shown, re.MULTILINE)
    assert len(claims) == 2 * 7
    assert all(re.search(r" a trial +not measured *$", claim) for claim in claims)
    assert not re.search(r"\d times|\d %", shown)


@pytest.mark.parametrize("names", [pytest.param((), marks=pytest.mark.slow), ("main",)])
def test_a_folder_with_trial_runs_alone_is_reported_as_a_trial(
    crest: Command, names: tuple[str, ...]
) -> None:
    write(Path("trial"), [MAIN_EXPERIMENT.quick(), THEORY_EXPERIMENT.quick()], duel())
    # A study is the same in a trial.
    THEORY_EXPERIMENT.studies[1].ensure(Path("trial"))
    shown, status = crest("report", *names, "--folder", "trial")
    assert status == 0
    assert TRIAL in shown
    assert re.search(r"^main +\S", shown, re.MULTILINE)
    # The trial is no evidence: it says so on its page, which is not where the evidence would be.
    assert TRIAL in Path("outputs/trial.html").read_text()
    assert not Path("outputs/report.html").exists()


def test_trial_runs_beside_others_are_not_reported(crest: Command) -> None:
    write(Path("both"), [MAIN_EXPERIMENT.quick(), MAIN_EXPERIMENT], duel())
    shown, status = crest("report", "main", "--folder", "both", "--format", "md")
    assert (status, TRIAL in shown) == (0, False)
    assert Path("outputs/report.md").exists()
    assert crest("report", "dynamics", "--folder", "both")[1] == 1


@pytest.mark.parametrize(
    "shape", ["no folder", pytest.param("a folder of something else", marks=pytest.mark.slow)]
)
def test_outside_of_a_clone_the_report_says_what_to_do(crest: Command, shape: str) -> None:
    if shape == "a folder of something else":
        Path("results").mkdir()
        Path("results/accuracy.json").write_text("[0.5]")
    shown, status = crest("report")
    assert status == 1
    assert len(shown.strip().splitlines()) == 1
    assert "results" in shown
    assert "name another folder with --folder, or work in a clone of the repository" in shown
    assert not Path("outputs").exists()


# -- studies of one's own


def test_before_the_first_run_of_a_study_the_report_says_how_to_run_it(
    crest: Command, tmp_path: Path
) -> None:
    made_study(tmp_path)
    shown, status = crest("report", "my_study.toml")
    assert status == 1
    assert shown == (
        "crest: --folder must have the records of runs, but results is not a folder: name another folder with --folder, or make "
        "them with `crest run my_study.toml`\n"
    )


def test_a_study_has_its_page_with_the_explorer_and_its_tables(crest: Command, tmp_path: Path) -> None:
    study = study_of(made_study(tmp_path, models={"seeds": 1, "remedies": ["none", "high_pass"]}))
    write(Path("runs"), [study])
    shown, status = crest("report", "my_study.toml", "--folder", "runs")
    assert status == 0, shown
    lines = shown.splitlines()
    # What was found comes first, in the command and on the page.
    found = (
        "No model fails in the field: mean error 0.10 → 0.40. The rule picks pointwise, mean (0.10 → 0.40)"
    )
    assert lines[0].startswith(f"my_study: {found}")
    assert lines[1] == "my_study, models (8 of 8 runs)"
    assert re.match(r"encoder +model +ID error +OOD error +CiE@1 +chance +transient share", lines[2])
    assert "my_study, rule (8 of 8 runs)" in lines
    assert "verdict" not in shown
    page = Path("outputs/report.html").read_text()
    assert sections(page) == ["my_study"]
    assert "<h1>crest: my_study</h1>" in page
    assert re.search(
        r'<span class="badge">the pick holds in the field</span> No model fails in the field: mean ', page
    )
    assert "simulators' regimes" not in page
    own = "my_encoder.py:make_encoder"
    assert explored(page) == {
        "recordings": [
            f"{readout}, {encoder}{remedy}"
            for encoder in ("pointwise", own)
            for readout in ("mean", "CREST")
            for remedy in ("", ", high_pass")
        ]
    }
    found = json.loads(
        crest("report", "my_study.toml", "--folder", "runs", "--json", "--format", "md")[0].split("Report:")[
            0
        ]
    )
    assert found["claims"] == []
    assert [row["encoder"] for row in found["studies"]["my_study"]["rule"]] == ["pointwise", own, "all"]


def test_a_study_without_ood_shows_none(crest: Command, tmp_path: Path) -> None:
    held: dict[str, object] = {"condition": None, "ood": None}
    study = study_of(made_study(tmp_path, recordings=held, models={"seeds": 1}))
    write(Path("runs"), [study])
    shown, _ = crest("report", "my_study.toml", "--folder", "runs")
    assert "OOD" not in shown
    page = Path("outputs/report.html").read_text()
    found = re.search(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    (system,) = json.loads(found[1])["systems"]
    assert {one["split"] for one in system["trajectories"]} == {"id"}


def test_a_study_without_records_says_what_makes_them(crest: Command, tmp_path: Path) -> None:
    made_study(tmp_path)
    Path("runs").mkdir()
    shown, status = crest("report", "my_study.toml", "--folder", "runs")
    assert status == 1
    assert "--folder must have records of my_study.toml, got none in runs" in shown
    assert shown.rstrip().endswith("or make them with `crest run my_study.toml`")
    assert crest("report", "gone.toml", "--folder", "runs") == (
        "crest: gone.toml must be the file of a study, and it does not exist\n", 1
    )  # fmt: skip


def test_a_study_of_classes_has_error_rates_on_its_page_and_in_markdown(
    crest: Command, tmp_path: Path
) -> None:
    study = study_of(made_study(tmp_path, recordings={"label": "state"}, models={"seeds": 1}))
    write(Path("runs"), [study])
    shown, status = crest("report", "my_study.toml", "--folder", "runs")
    assert status == 0, shown
    assert re.match(r"encoder +model +ID error rate +OOD error rate", shown.splitlines()[2])
    page = Path("outputs/report.html").read_text()
    found = re.search(r'id="explorer-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["systems"][0]["classes"] == ["ok", "worn"]
    assert 'href="#term-error-rate">error rate</a>' in page
    crest("report", "my_study.toml", "--folder", "runs", "--format", "md")
    text = Path("outputs/report.md").read_text()
    assert "| ID error rate | OOD error rate |" in text
    assert "Error rates of every model" in text
    assert f"**{shown.splitlines()[0].removeprefix('my_study: ')}**" in text
    assert not re.search(r"RMSE|standard deviation|OOD errors?\b(?! rate)", text)
