import json
import re
from pathlib import Path

from commands import Command, run


def test_the_doctor_says_what_is_there(tmp_path: Path) -> None:
    shown = run("doctor", "--folder", str(tmp_path / "new")).stdout
    for word in ("torch 2.", "cores", "bearings", "GiB free", "--cluster ADDRESS"):
        assert word in shown
    assert not (tmp_path / "new").exists()


def test_the_doctor_says_what_is_wrong_with_the_records(crest: Command) -> None:
    Path("results").mkdir()
    Path("results/records.jsonl").write_text("<<<<<<< HEAD\n")
    shown, status = crest("doctor")
    assert status == 0
    assert re.search(
        r"^records +results/records.jsonl, line 1, is not a record: .* GiB free$", shown, re.MULTILINE
    )


def test_the_doctor_as_json(crest: Command) -> None:
    shown, status = crest("doctor", "--json", "--cluster", "here")
    found = json.loads(shown)
    assert status == 1
    assert found["packages"]["torch"].startswith("2.")
    assert found["cluster"] == "--cluster must be like tcp://host:8786, got 'here'"
