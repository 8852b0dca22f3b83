import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import explored, sections
from crest.lab.cli.console import TRIAL


@pytest.mark.slow
def test_the_demo_trains_once_and_writes_a_page_with_an_explorer(tmp_path: Path) -> None:
    def demo() -> list[str]:
        words = [sys.executable, "-m", "crest", "demo", "--quick", "--output", "there"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    first = demo()
    assert [line.split()[0] for line in first[:3]] == ["[1/3]", "[2/3]", "[3/3]"]
    assert not any("already" in line for line in first)
    assert TRIAL in first
    # The change of a trial is no result.
    assert not any(re.search(r"\d ?%", line) for line in first)
    assert sum("CREST" in line and " trial " in line for line in first) == 1
    page = (tmp_path / "there" / "page.html").read_text()
    assert sections(page) == ["demo"]
    assert explored(page) == {"SG-Drive": ["attention (dot)", "attention (MLP)", "CREST"]}
    assert TRIAL in page
    assert "crest run demo" not in page
    assert len(list((tmp_path / "there" / "records").glob("*.json"))) == 3
    assert "3 of 3 runs were there already, in there/records." in demo()
    assert not (tmp_path / "outputs").exists()
