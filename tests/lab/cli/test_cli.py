import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crest.lab import cli
from crest.lab.cli import data, systems
from crest.lab.evidence.cross import CROSS
from crest.lab.evidence.main import MAIN
from evidence_made import write
from lab.cli.calling import Command
from real_recordings import FOLDER, real
from sweeping import under_nohup, until


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "crest", *words], capture_output=True, text=True, check=False
    )


def test_help_lists_the_commands() -> None:
    shown = run("--help").stdout
    for name in ("demo", "systems", "run", "status", "report", "pack", "data", "bench", "doctor"):
        assert re.search(rf"^. {name} ", shown, re.MULTILINE)


def test_help_answers_without_torch() -> None:
    code = "import sys, crest.lab.cli\ntry: crest.lab.cli.app(['--help'])\nexcept SystemExit: pass\nprint('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Commands" in shown
    assert shown.strip().endswith("False")


def test_show_draws_and_reads_a_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    systems.show("gear", regime_name="rare_events", rows=2, output=tmp_path / "a" / "gear.png")
    assert (tmp_path / "a" / "gear.png").stat().st_size > 10_000
    shown = capsys.readouterr().out
    assert "event fraction 0.09" in shown
    assert "hand-designed reader of events: error 0." in shown


def test_an_unknown_system_is_one_sentence(tmp_path: Path) -> None:
    result = run("systems", "show", "pump")
    assert result.returncode == 1
    assert "system must be one of gear, impact, got 'pump'" in result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert "rows must lie in [1, 20], got 0" in run("systems", "show", "gear", "--rows", "0").stderr
    assert "Traceback" in run("systems", "show", "pump", "--debug").stderr


@pytest.mark.slow
@real
def test_recordings_are_fetched_checked_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREST_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="crest data fetch cwru"):
        data.check("cwru")
    assert capsys.readouterr().out.count("missing") >= 16
    data.fetch("cwru", from_dir=FOLDER)
    data.check("cwru")
    assert capsys.readouterr().out.count("present") == 16
    systems.show("cwru", output=tmp_path / "cwru.png")
    assert (tmp_path / "cwru.png").stat().st_size > 10_000
    assert "log-RMS alone, linear reader: error 0." in capsys.readouterr().out


def test_list_names_every_regime(capsys: pytest.CaptureFixture[str]) -> None:
    systems.list_systems()
    shown = capsys.readouterr().out
    assert "coarse_mesh" in shown
    assert "hard_contact" in shown


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
    assert [line.split()[0] for line in lines[:-1]] == [f"[{i}/6]" for i in range(1, 7)]
    assert all(re.search(r"ID \d\.\d{3}  OOD \d\.\d{3}", line) for line in lines[:-1])
    assert lines[-1] == f"6 done, 0 found done, 0 failed; records in {folder}"
    assert "\x1b" not in shown
    again = run("run", "main", "--quick", "--folder", str(folder))
    assert again.stdout == f"0 done, 6 found done, 0 failed; records in {folder}\n"


@pytest.mark.slow
def test_status_reads_the_records(quick: tuple[Path, str]) -> None:
    shown = run("status", "--quick", "--folder", str(quick[0])).stdout
    assert re.search(r"^main +Table 1 +6 +6 +0 +0 *$", shown, re.MULTILINE)
    assert re.search(r"^convergence .* 0 +\d+ +0 *$", shown, re.MULTILINE)


def test_status_shows_why_a_run_failed_and_makes_no_folder(tmp_path: Path) -> None:
    (tmp_path / f"{MAIN.runs[0].id}.error").write_text("Traceback\nValueError: too bad\n")
    shown = run("status", "main", "--folder", str(tmp_path)).stdout
    assert re.search(r"^main +Table 1 +60 +0 +59 +1 *$", shown, re.MULTILINE)
    assert f"{MAIN.runs[0].id}.error: ValueError: too bad" in shown
    missing = tmp_path / "none"
    assert "no records yet" in run("status", "--folder", str(missing)).stdout
    assert not missing.exists()


@pytest.mark.parametrize("names", [pytest.param((), marks=pytest.mark.slow), ("main",)])
def test_status_finds_trial_runs(crest: Command, names: tuple[str, ...]) -> None:
    folder = write(Path("trial"), [MAIN.quick()]).folder
    (folder / f"{CROSS.quick().runs[-1].id}.error").write_text("ValueError: too bad\n")
    shown, status = crest("status", *names, "--folder", "trial")
    assert status == 0
    assert shown.splitlines()[0] == "trial has trial runs alone (--quick): they are shown"
    assert re.search(r"^main +Table 1 +6 +6 +0 +0 *$", shown, re.MULTILINE)
    # The same as when it is asked for.
    assert shown.split("\n", 1)[1] == crest("status", *names, "--quick", "--folder", "trial")[0]


def test_status_of_runs_beside_trial_runs_is_of_the_runs(crest: Command) -> None:
    write(Path("both"), [MAIN.quick()])
    Path(f"both/{MAIN.runs[0].id}.error").write_text("ValueError: too bad\n")
    shown, _ = crest("status", "main", "--folder", "both")
    assert re.search(r"^main +Table 1 +60 +0 +59 +1 *$", shown, re.MULTILINE)
    assert "trial runs" not in shown


def test_the_default_folder_is_named_where_it_is_missing(crest: Command) -> None:
    for command in (("status", "main"), ("doctor",), ("report",), ("verify", "--sample", "1"), ("pack",)):
        shown, _ = crest(*command)
        assert re.search(r"\bresults\b.*--folder", shown), command
        assert "Traceback" not in shown
    assert list(Path().iterdir()) == []


def test_the_doctor_says_what_is_wrong_with_the_records(crest: Command) -> None:
    Path("results").mkdir()
    Path("results/records.jsonl").write_text("<<<<<<< HEAD\n")
    shown, status = crest("doctor")
    assert status == 0
    assert re.search(
        r"^records +results/records.jsonl, line 1, is not a record: .* GiB free$", shown, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "mian"), "all, got 'mian'"),
        (("run",), "names must hold an experiment or all"),
        (("run", "main", "--jobs", "0"), "jobs must be at least 1, got 0"),
        (("run", "main", "--jobs", "2", "--cluster", "tcp://localhost:1"), "jobs is for this machine"),
        (("run", "main", "--cluster", "tcp://127.0.0.1:1"), "no Dask scheduler answers at tcp://127.0.0.1:1"),
        (("run", "main", "--folder", "pyproject.toml"), "folder must be a folder"),
        (("report", "--folder", "nowhere"), "nowhere is not a folder"),
        (("report", "--folder", "."), "folder must have records of the catalog, got none in ."),
        (
            ("report", "main", "theory", "--folder", "."),
            "folder must have records of main, theory, got none in .",
        ),
        (("report", "mian", "--folder", "."), "all, got 'mian'"),
        (("doctor", "--cluster", "tcp://127.0.0.1:1"), "no Dask scheduler answers at tcp://127.0.0.1:1"),
    ],
)
def test_an_error_is_one_sentence(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["crest", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    shown = "".join(capsys.readouterr())
    assert message in shown
    assert "Traceback" not in shown


def test_the_doctor_says_what_is_there(tmp_path: Path) -> None:
    shown = run("doctor", "--folder", str(tmp_path / "new")).stdout
    for word in ("torch 2.", "cores", "bearings", "GiB free", "--cluster ADDRESS"):
        assert word in shown
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_ends_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    shown, status = on_terminal(
        ["run", "main", "--folder", str(tmp_path), "--jobs", "1"], until="gear-pointwise-attention-s0"
    )
    assert status == 130
    assert "Traceback" not in shown
    assert "0 of 60 runs are kept. Go on with: crest run main" in shown
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
    assert "0 of 60 runs are kept. Go on with: crest run main" in said
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
