"""The command line as a whole: help, errors in one sentence, folders that are missing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import Command, run
from crest.lab import cli


def test_help_lists_the_commands() -> None:
    shown = run("--help").stdout
    for name in ("demo", "systems", "run", "status", "report", "pack", "data", "bench", "doctor"):
        assert re.search(rf"^. {name} ", shown, re.MULTILINE)


def test_help_answers_without_torch_and_numpy() -> None:
    code = "import sys, crest.lab.cli\ntry: crest.lab.cli.app(['--help'])\nexcept SystemExit: pass\nprint({'torch', 'numpy'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Commands" in shown
    assert shown.strip().endswith("set()")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "mian"), "all, got 'mian'"),
        (("run",), "names must hold an experiment or all"),
        (("run", "main", "--jobs", "0"), "jobs must be a whole number, 1 or more, got 0"),
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


def test_the_default_folder_is_named_where_it_is_missing(crest: Command) -> None:
    for command in (("status", "main"), ("doctor",), ("report",), ("verify", "--sample", "1"), ("pack",)):
        shown, _ = crest(*command)
        assert re.search(r"\bresults\b.*--folder", shown), command
        assert "Traceback" not in shown
    assert list(Path().iterdir()) == []
