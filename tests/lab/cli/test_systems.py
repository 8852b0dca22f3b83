from pathlib import Path

import pytest

from commands import run
from crest.lab.cli import systems


def test_show_draws_and_reads_a_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    systems.show_system("gear", regime_name="rare_events", rows=2, output=tmp_path / "a" / "gear.png")
    assert (tmp_path / "a" / "gear.png").stat().st_size > 10_000
    shown = capsys.readouterr().out
    assert "event fraction 0.09" in shown
    assert "hand-designed reader of events: error 0." in shown


def test_an_unknown_system_is_one_sentence(tmp_path: Path) -> None:
    result = run("systems", "show", "pump")
    assert result.returncode == 1
    assert "system must be one of gear, impact, got 'pump'" in result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert (
        "rows must be a whole number in [1, 20], got 0"
        in run("systems", "show", "gear", "--rows", "0").stderr
    )
    assert "Traceback" in run("systems", "show", "pump", "--debug").stderr


def test_list_names_every_regime(capsys: pytest.CaptureFixture[str]) -> None:
    systems.list_systems()
    shown = capsys.readouterr().out
    assert "coarse_mesh" in shown
    assert "hard_contact" in shown
