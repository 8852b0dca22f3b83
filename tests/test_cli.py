import subprocess
import sys
from pathlib import Path

import pytest

from crest import cli
from real_recordings import FOLDER, real


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "crest", *words], capture_output=True, text=True, check=False
    )


def test_help_lists_the_commands() -> None:
    shown = run("--help").stdout
    for name in ("demo", "systems", "data"):
        assert name in shown


def test_show_draws_and_reads_a_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.show("gear", regime_name="rare_events", rows=2, output=tmp_path / "a" / "gear.png")
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
        cli.check("cwru")
    assert capsys.readouterr().out.count("missing") >= 16
    cli.fetch("cwru", from_dir=FOLDER)
    cli.check("cwru")
    assert capsys.readouterr().out.count("present") == 16
    cli.show("cwru", output=tmp_path / "cwru.png")
    assert (tmp_path / "cwru.png").stat().st_size > 10_000
    assert "log-RMS alone, linear reader: error 0." in capsys.readouterr().out


def test_list_names_every_regime(capsys: pytest.CaptureFixture[str]) -> None:
    cli.list_systems()
    shown = capsys.readouterr().out
    assert "coarse_mesh" in shown
    assert "hard_contact" in shown
