"""Some rows of a table of recordings."""

from pathlib import Path

import pytest

from crest.lab.cli.where import rows_where
from crest.recordings.table import RecordingTable, Row

TABLE = RecordingTable(
    Path("table.csv"),
    "line",
    ("file", "speed", "load"),
    [
        Row(2, {"file": "a", "speed": "600", "load": "low"}),
        Row(3, {"file": "b", "speed": "900.0", "load": "high"}),
        Row(4, {"file": "c", "speed": "1200", "load": "low"}),
        Row(5, {"file": "d", "speed": "", "load": "low=er"}),
    ],
    [],
)


@pytest.mark.parametrize(
    ("wanted", "files"),
    [
        (["speed=900"], "b"),
        (["speed=600", "speed=1200"], "ac"),
        (["load=low", "speed=6e2"], "a"),
        ([" load = low"], "ac"),
        (["speed="], "d"),
        (["load=low=er"], "d"),
    ],
)
def test_rows_are_chosen_by_any_column(wanted: list[str], files: str) -> None:
    chosen = rows_where(wanted)(TABLE)
    assert "".join(row.cells["file"] for row in chosen.rows) == files
    assert chosen.columns == TABLE.columns


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["speed"], "^where must be column=value, such as speed=900, got 'speed'"),
        (["=900"], "^where must be column=value"),
        (["sped=900"], "^where must name a column of the table, got 'sped'; .* did you mean 'speed'"),
        (["speed=901"], "^where must name a value of 'speed', got '901': it has , 600, 900.0, 1200"),
        (["speed=900", "load=low"], "^where must leave a row of the table, got none for speed=900, load=low"),
    ],
)
def test_what_chooses_nothing_is_refused(wanted: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rows_where(wanted)(TABLE)
