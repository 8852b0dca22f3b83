import contextlib
import dataclasses
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import Command, run
from crest.lab.evidence import CATALOG
from crest.lab.evidence.cross import CROSS_EXPERIMENT
from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.theory import THEORY_EXPERIMENT
from crest.lab.runs.study import Study
from evidence_made import duel, write
from sweeping import under_nohup, until


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with the records of `main` in quick form, and what making them printed."""
    folder = tmp_path_factory.mktemp("quick")
    result = run("run", "main", "--quick", "--folder", str(folder))
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


@pytest.mark.slow
def test_a_run_leaves_records_and_says_so_in_plain_lines(quick: tuple[Path, str]) -> None:
    folder, shown = quick
    assert len(list(folder.glob("*.json"))) == 6
    lines = shown.splitlines()
    assert lines[0].startswith("6 runs to do")
    assert [line.split()[0] for line in lines[1:-1]] == [f"[{i}/6]" for i in range(1, 7)]
    assert all(re.search(r"ID \d\.\d{3}  OOD \d\.\d{3}", line) for line in lines[1:-1])
    assert lines[-1] == f"6 done, 0 already there, 0 failed; records in {folder}"
    assert "\x1b" not in shown
    again = run("run", "main", "--quick", "--folder", str(folder))
    assert again.stdout == f"0 done, 6 already there, 0 failed; records in {folder}\n"


@pytest.mark.slow
def test_status_reads_the_records(quick: tuple[Path, str]) -> None:
    shown = run("status", "--quick", "--folder", str(quick[0])).stdout
    assert re.search(r"^main +Table 1 +6 +6 +0 +0 *$", shown, re.MULTILINE)
    assert re.search(r"^convergence .* 0 +\d+ +0 *$", shown, re.MULTILINE)


def test_status_shows_why_a_run_failed_and_makes_no_folder(tmp_path: Path) -> None:
    (tmp_path / f"{MAIN_EXPERIMENT.runs[0].id}.error").write_text("Traceback\nValueError: too bad\n")
    shown = run("status", "main", "--folder", str(tmp_path)).stdout
    assert re.search(r"^main +Table 1 +60 +0 +59 +1 *$", shown, re.MULTILINE)
    assert f"{MAIN_EXPERIMENT.runs[0].id}.error: ValueError: too bad" in shown
    missing = tmp_path / "none"
    assert "no records yet" in run("status", "--folder", str(missing)).stdout
    assert not missing.exists()


@pytest.mark.parametrize("names", [pytest.param((), marks=pytest.mark.slow), ("main",)])
def test_status_finds_trial_runs(crest: Command, names: tuple[str, ...]) -> None:
    folder = write(Path("trial"), [MAIN_EXPERIMENT.quick()]).folder
    (folder / f"{CROSS_EXPERIMENT.quick().runs[-1].id}.error").write_text("ValueError: too bad\n")
    shown, status = crest("status", *names, "--folder", "trial")
    assert status == 0
    assert shown.splitlines()[0] == "trial has only trial runs (--quick): they are shown"
    assert re.search(r"^main +Table 1 +6 +6 +0 +0 *$", shown, re.MULTILINE)
    # The same as when it is asked for.
    assert shown.split("\n", 1)[1] == crest("status", *names, "--quick", "--folder", "trial")[0]


def test_status_as_json(crest: Command) -> None:
    write(Path("trial"), [MAIN_EXPERIMENT.quick()], duel())
    shown, status = crest("status", "main", "--quick", "--folder", "trial", "--json")
    assert status == 0
    found = json.loads(shown)
    (row,) = found["experiments"]
    assert (found["folder"], found["trial"], found["failures"]) == ("trial", True, {})
    assert (row["experiment"], row["done"], row["missing"], row["failed"]) == ("main", row["runs"], 0, 0)
    assert found["seconds_left"] == 0


def test_status_tells_the_time_left_by_kept_records(crest: Command) -> None:
    assert (
        "time left: unknown, because some of these runs have no similar record"
        in crest("status", "main", "--folder", "some")[0]
    )
    write(Path("some"), [dataclasses.replace(MAIN_EXPERIMENT, runs=MAIN_EXPERIMENT.runs[:-6])], duel())
    shown, _ = crest("status", "main", "--folder", "some")
    assert re.search(
        r"^time left for 6 runs: about \d+ s, estimated from kept records of similar runs, \d+ at a time$",
        shown,
        re.MULTILINE,
    )
    assert json.loads(crest("status", "main", "--folder", "some", "--json")[0])["seconds_left"] >= 1


def test_status_of_runs_beside_trial_runs_is_of_the_runs(crest: Command) -> None:
    write(Path("both"), [MAIN_EXPERIMENT.quick()])
    Path(f"both/{MAIN_EXPERIMENT.runs[0].id}.error").write_text("ValueError: too bad\n")
    shown, _ = crest("status", "main", "--folder", "both")
    assert re.search(r"^main +Table 1 +60 +0 +59 +1 *$", shown, re.MULTILINE)
    assert "trial runs" not in shown


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_ends_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    shown, status = on_terminal(
        ["run", "main", "--folder", str(tmp_path), "--jobs", "1"], until="gear-pointwise-attention-s0"
    )
    assert status == 130
    assert "Traceback" not in shown
    assert "0 of 60 runs are kept. Continue with: crest run main" in shown
    assert "0/60" in shown
    assert list(tmp_path.glob("*.json")) == []
    assert list(tmp_path.glob("*.error")) == []


@pytest.mark.slow
def test_under_nohup_ctrl_c_is_ignored_and_a_kill_ends_it_as_cleanly(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    words = [sys.executable, "-m", "crest", "run", "main", "--folder", str(folder), "--jobs", "1"]
    with under_nohup():
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: list(folder.glob(".claims/*.lock")))
        process.send_signal(signal.SIGINT)
        # Time enough to end by it: a second look at a run that goes on for long.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.terminate()
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "0 of 60 runs are kept. Continue with: crest run main" in said
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def on_terminal(words: list[str], until: str) -> tuple[str, int]:
    """Run on a terminal, press Ctrl-C when `until` is shown; what it showed, and its exit status."""
    with under_nohup():
        pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.environ.update(TERM="xterm", COLUMNS="120")
        os.execv(sys.executable, [sys.executable, "-m", "crest", *words])
    shown, pressed, deadline = b"", False, time.monotonic() + 120
    with contextlib.suppress(OSError):  # the terminal's way of saying that the program ended
        while part := os.read(terminal, 4096):
            shown += part
            if until.encode() in shown and not pressed:
                os.write(terminal, b"\x03")
                pressed = True
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# -- studies


def test_run_computes_the_studies_once_and_status_counts_them(crest: Command) -> None:
    write(Path("trial"), [THEORY_EXPERIMENT.quick()], duel())
    words = ("theory", "--quick", "--folder", "trial")

    def counts() -> list[str]:
        line = re.search(r"^theory .*?((?: +\d+){4}) *$", crest("status", *words)[0], re.MULTILINE)
        assert line is not None
        return line[1].split()

    assert counts() == ["8", "6", "2", "0"]
    shown, status = crest("run", *words)
    assert status == 0
    assert shown.splitlines() == [
        "computed dilution",
        "computed budget_law",
        "0 done, 6 already there, 0 failed; records in trial",
    ]
    files = sorted(path.name for path in Path("trial/studies").iterdir())
    assert files == sorted(f"{study.id}.json" for study in THEORY_EXPERIMENT.studies)
    assert counts() == ["8", "8", "0", "0"]
    assert "computed" not in crest("run", *words)[0]
    shown, _ = crest("report", *words)
    # Closed forms and simulation agree, and this is no trial: studies are the same in quick form.
    assert len(re.findall(r"^theory +\S.* holds *$", shown, re.MULTILINE)) == 2
    # The third claim rests on runs too.
    assert len(re.findall(r"^theory +Input saliency .* a trial +not measured *$", shown, re.MULTILINE)) == 1


def test_a_study_that_fails_is_named_after_the_counts(
    crest: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise OSError("no recordings here")

    studies = (Study(name="broken", compute=broken, parameters={}), *THEORY_EXPERIMENT.studies[1:])
    monkeypatch.setitem(CATALOG, "theory", dataclasses.replace(THEORY_EXPERIMENT, studies=studies))
    write(Path("trial"), [THEORY_EXPERIMENT.quick()], duel())
    shown, status = crest("run", "theory", "--quick", "--folder", "trial")
    assert status == 1
    assert shown.splitlines() == [
        "computed budget_law",
        "0 done, 6 already there, 0 failed; records in trial",
        "crest: broken: no recordings here",
    ]
    assert len(list(Path("trial/studies").iterdir())) == 1
