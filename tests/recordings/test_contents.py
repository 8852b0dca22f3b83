import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from crest.recordings.contents import recordings_digest
from studies_made import made_recordings


def test_it_names_what_the_files_hold_wherever_they_lie(tmp_path: Path) -> None:
    table = made_recordings(tmp_path)
    name = recordings_digest(table)
    shutil.copytree(tmp_path, tmp_path / "elsewhere")
    assert recordings_digest(tmp_path / "elsewhere" / "table.csv") == name
    assert recordings_digest(table, tmp_path / "elsewhere") == name
    np.save(tmp_path / "3.npy", np.zeros(240))
    other = recordings_digest(table)
    table.write_text(table.read_text().replace("slow", "slower"))
    assert len({name, other, recordings_digest(table)}) == 3


def test_files_of_event_steps_count_where_their_column_is_named(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("file,label,events\na.npy,1,e.npy\n")
    np.save(tmp_path / "a.npy", np.zeros(4))
    names = []
    for step in (0, 1):
        np.save(tmp_path / "e.npy", np.arange(4) == step)
        names += [recordings_digest(table), recordings_digest(table, events="events")]
    assert names[0] == names[2]
    assert len(set(names)) == 3


def test_the_signals_behind_a_header_and_its_annotations_count(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("file,label,events\na.hea,1,a.atr:V:0.1\n")
    (tmp_path / "a.hea").write_text("a 1 100 4\na.dat 16 200\n")
    names = []
    for signal, notes in ((0, 0), (1, 0), (1, 1)):
        (tmp_path / "a.dat").write_bytes(bytes([signal] * 8))
        (tmp_path / "a.atr").write_bytes(bytes([notes] * 2))
        names += [recordings_digest(table), recordings_digest(table, events="events")]
    # The signals name both; the annotations only where their column is named.
    assert names[2] == names[4]
    assert len(set(names)) == 5
    (tmp_path / "a.dat").unlink()
    with pytest.raises(FileNotFoundError, match=r"a.dat' does not exist, and line 2 of"):
        recordings_digest(table)


def test_a_header_that_is_none_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("file,label\na.hea,1\n")
    (tmp_path / "a.hea").write_text("# nothing\n")
    with pytest.raises(ValueError, match=r"file .*a.hea.* a WFDB header must have a line on the record"):
        recordings_digest(tmp_path / "table.csv")


def test_a_missing_file_is_told_with_its_line(tmp_path: Path) -> None:
    table = made_recordings(tmp_path)
    (tmp_path / "1.npy").unlink()
    message = f"file '{tmp_path / '1.npy'}' does not exist, and line 3 of"
    with pytest.raises(FileNotFoundError, match=re.escape(message)):
        recordings_digest(table)
