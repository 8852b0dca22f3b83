import json
from pathlib import Path

import pytest

from commands import Command, run
from crest.lab.cli import systems
from crest.lab.cli.console import words_aside
from crest.lab.systems.regimes import SETTINGS


def test_show_draws_and_reads_a_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    systems.show_system("gear", regime="rare_events", rows=2, output=tmp_path / "a" / "gear.png")
    assert (tmp_path / "a" / "gear.png").stat().st_size > 10_000
    shown = capsys.readouterr().out
    assert "event fraction 0.09" in shown
    assert "hand-designed reader of events: error 0." in shown


def test_an_unknown_system_is_one_sentence(tmp_path: Path) -> None:
    result = run("systems", "show", "pump")
    assert result.returncode == 1
    assert "crest: SYSTEM must be one of gear, impact, cwru, got 'pump'" in result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert (
        "--rows must be a whole number in [1, 20], got 0"
        in run("systems", "show", "gear", "--rows", "0").stderr
    )
    assert "Traceback" in run("systems", "show", "pump", "--debug").stderr


def test_list_names_every_regime(capsys: pytest.CaptureFixture[str]) -> None:
    systems.list_systems()
    shown = capsys.readouterr().out
    for name in ("coarse_mesh", "hard_contact", "cwru"):
        assert name in shown


def test_show_without_a_name_lists_all(crest: Command) -> None:
    assert crest("systems", "show") == crest("systems", "list")


def test_json_has_the_regimes_and_the_errors(crest: Command, capsys: pytest.CaptureFixture[str]) -> None:
    shown, _ = crest("systems", "list", "--json")
    assert json.loads(shown) == SETTINGS
    systems.show_system("gear", rows=1, output=Path("gear.png"), json=True)
    shown = json.loads(capsys.readouterr().out)
    words_aside(False)
    assert [one["reader"][-6:] for one in shown["errors"]] == ["events", "istics"]
    assert 0 < shown["errors"][0]["id"] < 1
    assert Path(shown["picture"]).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gaer",), "SYSTEM must be one of gear, impact, cwru, got 'gaer': did you mean 'gear'?"),
        (("gear", "--regime", "rare_event"), "got 'rare_event': did you mean 'rare_events'?"),
        (("gear", "--output", "x.foo"), "--output must end in .png or .pdf or .svg, got 'x.foo'"),
        (("gear", "--output", "there.png"), "--output must be a file, got the folder 'there.png'"),
        (("gear", "--folder", "there.png"), "--folder is for the recordings of cwru"),
        (("cwru", "--folder", "there.png"), "there.png: has none of the 16 recordings"),
    ],
)
def test_what_was_typed_is_looked_at_first(crest: Command, words: tuple[str, ...], message: str) -> None:
    Path("there.png").mkdir()
    shown, status = crest("systems", "show", *words)
    assert status == 1
    assert message in shown
    assert "event fraction" not in shown
