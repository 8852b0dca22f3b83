"""Fixtures of the tests of the command line."""

import sys
from pathlib import Path

import pytest

from commands import Command
from crest.lab import cli


@pytest.fixture
def crest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command in an empty folder; what it printed, and its exit status."""
    monkeypatch.chdir(tmp_path)

    def called(*words: object) -> tuple[str, int]:
        monkeypatch.setattr(sys, "argv", ["crest", *map(str, words)])
        capsys.readouterr()
        status = 0
        try:
            cli.main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        return "".join(capsys.readouterr()), status

    return called
