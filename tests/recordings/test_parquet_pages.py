from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crest.recordings.parquet_pages import room_of_pages
from crest.recordings.signal_files import read_signal
from crest.recordings.table import read_table

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = 20_000


def written(path: Path, **options: Any) -> Path:
    columns = {
        "x": np.sin(np.arange(ROWS)),
        "y": np.arange(ROWS) % 3,
        "file": [f"{k % 7}.npy" for k in range(ROWS)],
    }
    parquet.write_table(arrow.table(columns), path, **options)
    return path


def told(path: Path, *columns: str) -> int:
    with arrow.OSFile(str(path)) as handle, parquet.ParquetFile(handle) as file:
        return room_of_pages(handle, file.metadata, columns)


def number(value: int) -> bytes:
    """A whole number as Thrift's compact form has it."""
    value, found = 2 * value, b""
    while value > 127:
        value, found = value >> 7, found + bytes([value & 127 | 128])
    return found + bytes([value])


def lying(path: Path, size: int) -> Path:
    """The file with another size in the header of the first page of x, which has the same length as the true one."""
    written(path, use_dictionary=False, compression="zstd", store_schema=False)
    place = parquet.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    code = path.read_bytes()
    assert code[place : place + 3] == b"\x15\x00\x15"
    end = place + 3 + next(k for k in range(9) if code[place + 3 + k] < 128) + 1
    assert end - place - 3 == len(number(size))
    path.write_bytes(code[: place + 3] + number(size) + code[end:])
    return path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_dictionary": False},
        {"data_page_version": "2.0"},
        {"compression": "none", "data_page_size": 5000},
        {"compression": "gzip", "row_group_size": 3_000},
        {"write_page_checksum": True, "write_page_index": True, "compression": "zstd"},
    ],
    ids=str,
)
def test_pages_of_every_kind_tell_their_sizes(tmp_path: Path, options: dict[str, Any]) -> None:
    path = written(tmp_path / "a.parquet", **options)
    about = parquet.ParquetFile(path).metadata
    parts = [about.row_group(k).column(0) for k in range(about.num_row_groups)]
    assert 1000 < told(path, "x") <= max(part.total_uncompressed_size for part in parts)
    assert told(path, "x", "y", "file") > told(path, "x", "y") > told(path, "x")
    assert told(path) == 0
    assert read_signal(path, columns=["x", "y"]).samples[:, 1].tolist() == [k % 3 for k in range(ROWS)]


def test_a_page_that_tells_more_than_the_index_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = lying(tmp_path / "a.parquet", 1_000_000)
    with pytest.raises(ValueError, match=r"take 1\d{6} bytes in memory, more than largest = 900000"):
        read_signal(path, columns=["x"], largest=900_000)


def test_a_table_is_judged_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lying(tmp_path / "a.parquet", 1_000_000)
    monkeypatch.setattr("crest.recordings.archives.LARGEST", 900_000)
    monkeypatch.setattr("crest.recordings.table._CELL", 1)
    with pytest.raises(ValueError, match=r"must be a Parquet file, .*take 1\d{6} bytes in memory"):
        read_table(path)


class Part:
    """A column of a file that holds nothing but this."""

    path_in_schema, num_values = "x", 1
    data_page_offset, has_dictionary_page, dictionary_page_offset = 0, True, 0

    def __init__(self, size: int) -> None:
        self.total_compressed_size = size
        self.num_row_groups = self.num_columns = 1

    def row_group(self, _: int) -> "Part":
        return self

    def column(self, _: int) -> "Part":
        return self


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"\x15\x00\x00", "its page at byte 0 tells no size"),
        (b"\x15", "has no end"),
        (b"\x15" + b"\xff" * 20, "number without end"),
        (b"\x1c" * 40, "too deep"),
        (b"\x19" + b"\x19" * 40, "too deep"),
        (b"\x18" + number(2**40), "has no end"),
        # A list of flags that goes on for the rest of the file: it is not read byte by byte.
        (b"\x19\xf1" + number(10**7) + bytes(10**6), "has no end"),
        (b"\x1e", "unknown kind 14"),
        # The second size of the same field is what the reader of the file may take.
        (b"\x25\x02\x05\x04\x04\x15\x02\x00", "has a field twice"),
        # And what is no number of 32 bits it passes over.
        (b"\x26\x02\x15\x02\x00", "tells no size"),
    ],
)
def test_a_damaged_header_is_refused(header: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"it is damaged: .*{message}"):
        room_of_pages(arrow.BufferReader(header), Part(len(header)), ["x"])


def test_parts_without_values_and_dictionaries_at_0_are_no_damage(tmp_path: Path) -> None:
    path, columns = tmp_path / "a.parquet", arrow.table({"x": np.arange(30.0), "file": ["a"] * 30})
    with parquet.ParquetWriter(path, columns.schema) as writer:
        for piece in (columns, columns.slice(0, 0), columns):
            writer.write_table(piece)
    assert read_signal(path, columns=["x"]).samples.tolist() == 2 * [[float(k)] for k in range(30)]
    assert len(read_table(path).rows) == 60
    parquet.write_table(columns.slice(0, 0), path)
    with pytest.raises(ValueError, match="must hold samples"):
        read_signal(path, columns=["x"])
    header = b"\x15\x00" + b"\x15" + number(7) + b"\x15" + number(0) + b"\x00"
    assert room_of_pages(arrow.BufferReader(header), Part(len(header)), ["x"]) == 7


def test_pages_of_nested_columns_count(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({"a.b": [list(range(1000))] * 9, "a": np.arange(9.0)}), path)
    assert told(path, "a.b") > 1000
    assert told(path, "a.b", "a") == told(path, "a")
    assert told(path, "b") == 0
