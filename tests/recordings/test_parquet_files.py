import sys
from pathlib import Path

import numpy as np
import pytest

from crest.recordings.signal_files import read_signal

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def written(path: Path, **columns: object) -> Path:
    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.parquet", time_ms=[0, 5, 10], x=[1.5, 2.0, 2.5], y=np.array([1, 2, 3], np.int16)
    )
    found = read_signal(path)
    assert found.samples.tolist() == [[1.5, 1], [2.0, 2], [2.5, 3]]
    assert (found.sample_rate, found.channels, found.time) == (200.0, ("x", "y"), "'time_ms'")


def test_dates_are_times_whatever_they_are_called(tmp_path: Path) -> None:
    for unit, step in (("ns", 250_000), ("us", 250), ("ms", 1)):
        when = np.datetime64("2024-02-29T12:00:00", unit) + step * np.arange(4)
        found = read_signal(written(tmp_path / "a.parquet", when=when, x=[1.0, 2.0, 3.0, 4.0]))
        assert (found.sample_rate, found.channels) == (1000.0 if unit == "ms" else 4000.0, ("x",))


def test_words_are_refused_unless_nobody_asks_for_them(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", note=["a", "b"], x=[1.0, 2.0])
    with pytest.raises(
        ValueError, match="its column 'note' must hold numbers, got string; columns= names those"
    ):
        read_signal(path)
    assert read_signal(path, columns=["x"]).samples.tolist() == [[1], [2]]


def test_empty_cells_and_sizes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a\.parquet' must be finite in float32, got 1 NaN"):
        read_signal(written(tmp_path / "a.parquet", x=[1.0, None], y=[1.0, 2.0]))
    path = written(tmp_path / "b.parquet", x=np.zeros(1000))
    with pytest.raises(ValueError, match="its arrays take 16000 bytes in memory, more than largest = 1000"):
        read_signal(path, largest=1000)
    (tmp_path / "c.parquet").write_bytes(b"PAR1junkPAR1")
    with pytest.raises(ValueError, match=r"file 'c\.parquet' cannot be read"):
        read_signal(tmp_path / "c.parquet")


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"a Parquet signal needs pyarrow\. Install the extra recordings"):
        read_signal(tmp_path / "a.parquet")
