import dataclasses
import hashlib
import json
from pathlib import Path
from typing import get_args

import pytest

from commands import Command
from crest.lab.cli import data, systems
from crest.lab.cli.console import words_aside
from crest.lab.systems.public import DATA_SETS
from crest.lab.systems.public_files import DataFile
from file_server import Mirror
from real_recordings import FOLDER, real


@pytest.mark.slow
@real
def test_recordings_are_fetched_checked_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREST_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="crest data fetch cwru"):
        data.check_data("cwru")
    assert capsys.readouterr().out.count("missing") >= 16
    data.fetch_data("cwru", from_dir=FOLDER)
    data.check_data("cwru")
    assert capsys.readouterr().out.count("present") == 16
    systems.show_system("cwru", output=tmp_path / "cwru.png")
    assert (tmp_path / "cwru.png").stat().st_size > 10_000
    assert "log-RMS alone, linear reader: error 0." in capsys.readouterr().out


def test_every_data_set_has_its_name_on_the_command_line() -> None:
    assert get_args(data.DataName) == tuple(DATA_SETS)


def test_the_list_has_every_data_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREST_DATA", str(tmp_path))
    (tmp_path / "sisfall").mkdir()
    (tmp_path / "sisfall" / "trials.npz").touch()
    data.list_data(json=True)
    listed = json.loads(capsys.readouterr().out)
    assert {name: (one["present"], one["files"]) for name, one in listed.items()} == {
        "cwru": (0, 16),
        "hitsm": (0, 18),
        "mitbih": (0, 132),
        "sisfall": (1, 1),
    }
    assert listed["mitbih"]["folder"] == str(tmp_path / "mitbih")
    data.list_data()
    shown = capsys.readouterr().out
    for words in (*DATA_SETS, "0 of 132", "1 of 1", "Open Data Commons Attribution Licence 1.0"):
        assert words in shown


def test_licence_and_citation_are_printed_before_anything_is_downloaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = Mirror(tmp_path / "served")
    (mirror.folder / "100.dat").write_bytes(b"signal")
    asked_before = []

    file = DataFile("100.dat", 6, hashlib.sha256(b"signal").hexdigest())
    small = dataclasses.replace(DATA_SETS["mitbih"], addresses=(mirror.url,), files=(file,))
    monkeypatch.setitem(DATA_SETS, "mitbih", small)
    printed = data.console.print

    def watched(*words: object, **options: object) -> None:
        asked_before.append((str(words[0]), len(mirror.asked)))
        printed(*words, **options)

    monkeypatch.setattr(data.console, "print", watched)
    data.fetch_data("mitbih", folder=tmp_path / "data")
    mirror.close()
    shown = capsys.readouterr().out
    assert "Licence: Open Data Commons Attribution Licence 1.0\nCite: Moody and Mark, " in shown
    assert [count for words, count in asked_before if words.startswith(("Licence", "Cite"))] == [0, 0]
    assert (tmp_path / "data" / "100.dat").read_bytes() == b"signal"
    assert shown.endswith(f"mitbih: {tmp_path / 'data'}\n")


def test_a_check_names_every_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match=r"^crest: fetch what is missing with: crest data fetch hitsm$"):
        data.check_data("hitsm", folder=tmp_path)
    assert capsys.readouterr().out.count(": missing\n") == 18
    with pytest.raises(SystemExit, match=r"^crest: build trials\.npz"):
        data.check_data("sisfall", folder=tmp_path, json=True)
    words_aside(False)
    assert json.loads(capsys.readouterr().out) == {
        "folder": str(tmp_path),
        "files": {"trials.npz": "missing"},
    }


def test_what_no_address_serves_is_told_in_words(crest: Command, tmp_path: Path) -> None:
    shown, status = crest("data", "fetch", "sisfall", "--folder", tmp_path / "data")
    assert status == 1
    assert "Cite: Sucerquia" in shown
    assert "trials.npz: missing\nWhat to do: build trials.npz" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("command", ["fetch", "check"])
def test_an_unknown_data_set_is_refused(crest: Command, command: str) -> None:
    shown, status = crest("data", command, "physionet")
    assert status == 2
    assert len(shown.splitlines()) == 1
    assert all(name in shown for name in DATA_SETS)
