import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from crest.recordings import load_recordings
from crest.recordings.table import read_table
from recordings_made import load, table


def test_parquet_and_csv_say_the_same(three: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pandas.read_csv(three).to_parquet(three.with_suffix(".parquet"))
    one, other = load(three), load(three.with_suffix(".parquet"))
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.events, other.events)
    np.testing.assert_array_equal(one.y, other.y)
    assert one.extra["condition"].tolist() == other.extra["condition"].tolist()


def test_whole_conditions_of_parquet_are_whole_numbers(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    np.save(tmp_path / "a.npy", np.zeros(8))
    frame = pandas.DataFrame({"file": ["a.npy"], "label": [1], "speed": [1500.0]})
    frame.to_parquet(tmp_path / "table.parquet")
    data = load_recordings(tmp_path / "table.parquet", window=8, sample_rate=1, condition="speed")
    assert data.extra["condition"].tolist() == ["1500"]


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "table.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"needs pyarrow\. Install the extra recordings"):
        load_recordings(tmp_path / "table.parquet", window=8)


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    path = table(tmp_path, '"file",label,note', "", 'a.npy,1,"two\nlines"', "b.npy,1,x")
    with pytest.raises(ValueError, match=r"line 3: .*a\.npy") as caught:
        load_recordings(path, window=8, sample_rate=1)
    assert "line 5: file" in str(caught.value)


def test_a_parquet_reader_may_raise_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged schema asked for integers of more than 64 bits, and pyarrow has a NotImplementedError for it."""
    parquet = pytest.importorskip("pyarrow.parquet")

    def fails(path: Path) -> None:
        raise NotImplementedError("Integers with more than 64 bits not implemented")

    monkeypatch.setattr(parquet, "ParquetFile", fails)
    (tmp_path / "table.parquet").touch()
    with pytest.raises(
        ValueError, match=r"^table must be a Parquet file, got .*table\.parquet': Integers with"
    ):
        load_recordings(tmp_path / "table.parquet", window=8)


def test_a_cell_that_is_too_long_has_its_line(tmp_path: Path) -> None:
    path = table(tmp_path, "file,label", "a.npy,1", f"{'n' * 200_000},1")
    with pytest.raises(ValueError, match=r"^table must be CSV in UTF-8, got line 3 of .*: field larger than"):
        load_recordings(path, window=8)


def test_missing_columns_list_what_is_there(three: Path) -> None:
    with pytest.raises(ValueError, match=r"got label='y', proxy='p'; .* has file, label, speed, cue, events"):
        load_recordings(three, window=8, sample_rate=1, label="y", proxy="p")


def test_tables_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^table must be a file that exists, got .*none\.csv'"):
        load_recordings(tmp_path / "none.csv", window=8)
    with pytest.raises(ValueError, match=r"table must end in \.csv or \.parquet"):
        load_recordings(tmp_path / "table.xlsx", window=8)
    with pytest.raises(ValueError, match="at least one row"):
        load_recordings(table(tmp_path, "file,label"), window=8)
    with pytest.raises(ValueError, match="must not repeat a column, got label"):
        load_recordings(table(tmp_path, "file,label,label", "a,1,1"), window=8)
    (tmp_path / "table.csv").write_bytes(b"file,label\n\xff\xfe,1\n")
    with pytest.raises(ValueError, match="CSV in UTF-8"):
        load_recordings(tmp_path / "table.csv", window=8)
    (tmp_path / "table.parquet").write_bytes(b"junk")
    with pytest.raises(ValueError, match="must be a Parquet file"):
        load_recordings(tmp_path / "table.parquet", window=8)


@pytest.mark.parametrize("mark", [";", "\t"])
def test_semicolons_or_tabs_separate_where_the_header_has_these_alone(tmp_path: Path, mark: str) -> None:
    rows = ("file;label;speed;note", "a.npy;0,35;1500;a,b", 'b.npy;-1,5e-3;,5;"x;y"')
    path = table(tmp_path, *(row.replace(";", mark) for row in rows))
    found = [list(row.cells.values()) for row in read_table(path).rows]
    assert found == [["a.npy", "0.35", "1500", "a,b"], ["b.npy", "-1.5e-3", ".5", f"x{mark}y"]]
    # Between commas a quoted number may have thousands, and a semicolon is part of a name.
    path = table(tmp_path, "file,label;unit", '"a.npy","1,234"')
    assert read_table(path).rows[0].cells == {"file": "a.npy", "label;unit": "1,234"}


@pytest.mark.parametrize(
    "text",
    [
        "file,label\n" + "a,1\n" * 20_000,
        "a,b,c,d,e,f,g,h,i,j\n" + ",,,,,,,,,\n" * 10_000,
        "x,y\n" + ",\n" * 20_000,
        "x,y\n" + "1\n" * 20_000,
        ",".join(f"c{k}" for k in range(2000)) + "\n" + ("," * 1999 + "\n") * 20,
    ],
    ids=["plain", "empty cells", "short rows", "rows of a wrong length", "wide"],
)
def test_a_csv_table_takes_up_to_150_times_its_size(text: str, tmp_path: Path) -> None:
    """The figure of SECURITY.md."""
    path = tmp_path / "table.csv"
    path.write_text(text)
    tracemalloc.start()
    table = read_table(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert table.size
    assert 5 * len(text) < peak < 160 * len(text), f"{peak / len(text):.0f} times"


def test_a_table_has_a_number_of_rows_and_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    # A text that is in the file once.
    texts = pyarrow.DictionaryArray.from_arrays([0] * 50, ["n" * 10_000])
    parquet.write_table(pyarrow.table({"file": texts}), path)
    assert path.stat().st_size < 50_000
    (tmp_path / "table.csv").write_text("file\n" + "a\n" * 50)
    assert len(read_table(path).rows) == len(read_table(tmp_path / "table.csv").rows) == 50
    monkeypatch.setattr("crest.recordings.archives.LARGEST", 400_000)
    with pytest.raises(ValueError, match=r"table must be a Parquet file, .* more than largest = 400000"):
        read_table(path)
    (tmp_path / "large.csv").write_text("file\n" + ("n" * 10_000 + "\n") * 50)
    with pytest.raises(ValueError, match=r"its arrays take .* large\.csv has"):
        read_table(tmp_path / "large.csv")
    monkeypatch.setattr("crest.recordings.table.MOST_RECORDINGS", 49)
    (tmp_path / "wrong.csv").write_text("file,label\n" + "a\n" * 25 + "a,b\n" * 25)
    with pytest.raises(ValueError, match="table must have at most 49 rows"):
        read_table(tmp_path / "wrong.csv")
    for name in ("table.csv", "table.parquet"):
        with pytest.raises(ValueError, match="table must have at most 49 rows"):
            read_table(tmp_path / name)
