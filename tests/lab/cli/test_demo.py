import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import Command, explored
from crest.lab.cli.console import TRIAL

MOST = 25
"""Lines that the whole demo may print, beside the one of `make`."""
COLUMNS = 80


@pytest.mark.slow
def test_the_demo_shows_its_result_as_bars_in_few_lines_and_writes_a_page(tmp_path: Path) -> None:
    def demo(*more: str) -> str:
        words = [sys.executable, "-m", "crest", "demo", "--quick", "--output", "there", *more]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONUTF8": "1"},
        )
        assert done.returncode == 0, done.stderr
        printed = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        assert len(printed) < MOST, printed
        # No paragraph over two lines of a terminal.
        assert max(map(len, printed)) <= 2 * COLUMNS
        return done.stdout

    first = demo().splitlines()
    # The result comes first, as bars.
    assert first[0].startswith("Error before and after repair: ")
    bars = [re.fullmatch(r"(.*?, (?:before|after)) +█* ?(\d\.\d{3})", line) for line in first[1:7]]
    assert [found[1] for found in bars if found] == [
        f"{what}, {when}" for what in ("field", "expected", "as in training") for when in ("before", "after")
    ]
    assert TRIAL in first
    there = tmp_path / "there"
    assert first[-2:] == [
        f"Recordings step by step: {Path('there') / 'trajectories.html'}",
        f"Page: {Path('there') / 'page.html'}",
    ]
    assert explored((there / "trajectories.html").read_text()) == {"your trajectories": ["before", "after"]}
    page = (there / "page.html").read_text()
    assert TRIAL in page
    assert "field" in page
    assert len(list((there / "recordings" / "signals").iterdir())) == 64
    weights = there / "model.safetensors", there / "repaired" / "model.safetensors"
    written = [file.stat().st_mtime_ns for file in weights]

    second = demo().splitlines()
    taken = "Reused from an earlier run: recordings, network, repair. --anew starts again."
    # The explorer is written again, and that is told; the page of the repair stays.
    assert second == [*first[:-2], taken, f"{first[-2]} (replaces the file that was there)", first[-1]]
    assert (there / "page.html").read_text() == page
    assert [file.stat().st_mtime_ns for file in weights] == written

    assert "earlier call" not in demo("--anew")
    assert [file.stat().st_mtime_ns for file in weights] != written
    assert not (tmp_path / "outputs").exists()


def test_a_folder_of_another_demo_is_refused(crest: Command, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "settings.json").write_text("{}")
    said, status = crest("demo", "--quick", "--output", "there")
    assert status == 1
    assert "made with other settings: --anew starts anew" in said


def test_a_file_is_no_folder(crest: Command, tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    said, status = crest("demo", "--quick", "--output", "there")
    assert status == 1
    assert "output must be a folder or a place for one" in said
