import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import Command, explored
from crest.lab.cli.console import TRIAL


@pytest.mark.slow
def test_the_demo_audits_repairs_and_audits_once_and_writes_a_page(tmp_path: Path) -> None:
    def demo(*more: str) -> str:
        words = [sys.executable, "-m", "crest", "demo", "--quick", "--output", "there", *more]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def told(text: str) -> list[str]:
        """What stays the same when nothing is made again: audits and tables."""
        return [
            line
            for line in text.splitlines()
            if "already" not in line
            and not re.search(r"\d s( \(\d+ of \d+.*\))?$|training|Training|Repairing|fitting", line)
        ]

    first = demo()
    assert re.findall(r"^\[(\d)/5\]", first, flags=re.MULTILINE) == list("12345")
    assert first.count("Audit of 16 trajectories") == 2
    assert "already" not in first
    assert TRIAL in first.splitlines()
    rows = re.findall(r"^│ (.*?) +│ [\d.]+ +│ [\d.]+ +│ [\d.]+ +│$", first, flags=re.MULTILINE)
    assert {"AC coupling", "high-pass"} <= {row.removesuffix(" *") for row in rows}
    assert sum(row.endswith(" *") for row in rows) == 1
    there = tmp_path / "there"
    page = (there / "page.html").read_text()
    assert explored(page) == {"your trajectories": ["before", "after"]}
    assert TRIAL in page
    files = sorted((there / "recordings" / "signals").iterdir())
    assert len(files) == 64
    weights = there / "model.safetensors", there / "repaired" / "model.safetensors"
    written = [file.stat().st_mtime_ns for file in weights]

    second = demo()
    assert second.count(" already") == 3
    assert [line for line in told(second) if line] == [
        line for line in told(first) if line and "Simul" not in line
    ]
    assert [file.stat().st_mtime_ns for file in weights] == written

    assert "already" not in demo("--anew")
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
