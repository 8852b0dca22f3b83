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


def test_a_missing_file_is_told_with_its_line(tmp_path: Path) -> None:
    table = made_recordings(tmp_path)
    (tmp_path / "1.npy").unlink()
    message = f"file '{tmp_path / '1.npy'}' does not exist, and line 3 of"
    with pytest.raises(FileNotFoundError, match=re.escape(message)):
        recordings_digest(table)
