"""`crest pack`: what it prints, and that the other commands do not notice."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import Command
from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.teaser import TEASER_EXPERIMENT
from crest.lab.evidence.theory import THEORY_EXPERIMENT
from crest.lab.runs.store import Store
from evidence_made import DOT, duel, record, write

RUNS = len({spec.id for one in (TEASER_EXPERIMENT, MAIN_EXPERIMENT) for spec in one.runs})


@pytest.mark.slow
def test_the_other_commands_do_not_notice(crest: Command) -> None:
    store = write(Path("results"), [TEASER_EXPERIMENT, MAIN_EXPERIMENT], duel())
    THEORY_EXPERIMENT.studies[1].ensure(store.folder)
    words = ("report", "main", "teaser", "theory", "--format", "md", "--output")
    status, report = crest("status"), crest(*words, "before.md")[0]
    shown, code = crest("pack")
    assert code == 0
    assert shown == f"results/records.jsonl has {RUNS} runs: {RUNS} new, 0 replaced, 0 as before\n"
    assert store.unpacked() == set()
    assert crest("status") == status
    assert crest(*words, "after.md")[0] == report.replace("before.md", "after.md")
    assert Path("after.md").read_bytes() == Path("before.md").read_bytes()
    assert re.search(rf"^records +{RUNS} in results, 0 failed", crest("doctor")[0], re.MULTILINE)
    assert crest("run", "main")[0] == "0 done, 60 already there, 0 failed; records in results\n"
    assert crest("pack")[0] == f"results/records.jsonl has {RUNS} runs: 0 new, 0 replaced, {RUNS} as before\n"


@pytest.mark.slow
def test_runs_done_elsewhere_are_merged_with_their_studies(crest: Command) -> None:
    write(Path("results"), [MAIN_EXPERIMENT], duel())
    crest("pack")
    work = Store(Path("work"))
    for spec in MAIN_EXPERIMENT.runs[:2]:
        work.write(record(spec, duel(dot=dataclasses.replace(DOT, ood=0.7))))
    work.write(record(TEASER_EXPERIMENT.runs[0]))
    THEORY_EXPERIMENT.studies[1].ensure(work.folder)
    crossed = {one.id for one in MAIN_EXPERIMENT.runs[:2] if one.readout == "attention"}
    shown, code = crest("pack", "--folder", "work", "--output", "results")
    assert code == 0
    assert shown == (
        f"results/records.jsonl has 61 runs: 1 new, {len(crossed)} replaced, {60 - len(crossed)} as before; "
        "studies copied: 1\n"
    )
    assert len(work.unpacked()) == 3
    assert all(Store(Path("results")).read(name).score.ood == 0.7 for name in crossed)
    assert THEORY_EXPERIMENT.studies[1].read(Path("results")) == THEORY_EXPERIMENT.studies[1].read(
        work.folder
    )


@pytest.mark.slow
def test_what_is_left_out_is_told(crest: Command) -> None:
    store = write(Path("results"), [MAIN_EXPERIMENT], duel())
    store.fail(TEASER_EXPERIMENT.runs[0].id, "ValueError: too bad")
    stale = dataclasses.replace(record(MAIN_EXPERIMENT.runs[0]), id="gear-old")
    store.path("gear-old").write_text(stale.to_json())
    with store.claim(MAIN_EXPERIMENT.runs[0].id) or pytest.fail("no claim"):
        shown, code = crest("pack")
    assert code == 0
    assert shown.splitlines() == [
        "results/records.jsonl has 60 runs: 60 new, 0 replaced, 0 as before",
        f"crest: runs that failed and have no record: 1, such as {TEASER_EXPERIMENT.runs[0].id}; `crest status` says why",
        "crest: records from before their defaults changed: 1, such as gear-old; they are kept: do their runs again, then "
        "remove them",
        f"crest: runs that another process is working on: 1, such as {MAIN_EXPERIMENT.runs[0].id}; their files are kept, so "
        "pack again later",
    ]
    assert store.unpacked() == {"gear-old", MAIN_EXPERIMENT.runs[0].id}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            (),
            "folder must have the records of runs, but results is not a folder: name another folder with --folder",
        ),
        (("--folder", "empty"), "folder must have the records of runs, got none in empty"),
        (("--folder", "file"), "file is not a folder"),
        pytest.param(
            ("--folder", "trial", "--output", "results"),
            "folder must have no trial runs, .*, got 6 in trial, such as",
            marks=pytest.mark.slow,
        ),
        (("--folder", "damaged"), "damaged/records.jsonl, line 1, is not a record"),
        (("--folder", "damaged", "--output", "new"), "damaged/records.jsonl, line 1, is not a record"),
    ],
)
def test_an_error_is_one_sentence(crest: Command, words: tuple[str, ...], message: str) -> None:
    for name in ("empty", "damaged"):
        Path(name).mkdir()
    Path("damaged/records.jsonl").write_text("<<<<<<< HEAD\n")
    Path("file").touch()
    write(Path("trial"), [MAIN_EXPERIMENT.quick()])
    shown, code = crest("pack", *words)
    assert code == 1
    assert len(shown.splitlines()) == 1
    assert re.search(rf"^crest: .*{message}", shown)
    assert not Path("results").exists()


@pytest.mark.slow
def test_a_trial_can_be_packed_in_place(crest: Command) -> None:
    write(Path("trial"), [MAIN_EXPERIMENT.quick()])
    assert crest("pack", "--folder", "trial")[0].startswith("trial/records.jsonl has 6 runs: 6 new")
    assert "trial has only trial runs" in crest("status", "--folder", "trial")[0]


@pytest.mark.slow
def test_from_a_shell(tmp_path: Path) -> None:
    write(tmp_path / "results", [MAIN_EXPERIMENT], duel())
    words = [sys.executable, "-m", "crest", "pack"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    shown = "results/records.jsonl has 60 runs: 60 new, 0 replaced, 0 as before\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")
    assert [path.name for path in (tmp_path / "results").glob("[!.]*")] == ["records.jsonl"]


def test_a_folder_with_nothing_to_pack_stays_as_it_is(crest: Command) -> None:
    Path("empty").mkdir()
    shown, status = crest("pack", "--folder", "empty")
    assert status == 1
    assert "make records first: crest run NAME" in shown
    assert list(Path("empty").iterdir()) == []
