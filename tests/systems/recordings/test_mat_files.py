"""A .mat file can kill SciPy's reader; it must not kill the program that asked for it."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from scipy import io

from crest.systems.recordings import load_recordings, mat_files
from crest.systems.recordings.mat_files import mat_arrays, read_mat
from crest.systems.recordings.signal_files import read_signal


def sound(path: Path) -> Path:
    io.savemat(path, {"X_DE_time": np.arange(1200, dtype=np.float32).reshape(600, 2), "RPM": 1772})
    return path


def deadly(path: Path) -> Path:
    """A file of which SciPy's reader dies with a segmentation fault."""
    content = bytearray(sound(path).read_bytes())
    assert content[192] == 0x07
    content[192] = 0xC3
    path.write_bytes(content)
    return path


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.mat")
    assert [(array.name, array.shape) for array in mat_arrays(path)] == [
        ("X_DE_time", (600, 2)),
        ("RPM", (1, 1)),
    ]
    arrays = read_mat(path, ["RPM", "X_DE_time", "missing"])
    assert arrays["X_DE_time"].dtype == np.float32
    np.testing.assert_array_equal(arrays["X_DE_time"], np.arange(1200).reshape(600, 2))
    assert arrays["RPM"].item() == 1772
    assert set(arrays) == {"RPM", "X_DE_time"}


def test_what_holds_no_numbers_is_left_out(tmp_path: Path) -> None:
    cell = np.empty(2, dtype=object)
    cell[:] = [np.zeros(2), "b"]
    io.savemat(tmp_path / "a.mat", {"text": "words", "cell": cell, "z": np.array([1 + 2j])})
    assert read_mat(tmp_path / "a.mat", ["text", "cell", "z"]).keys() == {"z"}
    with pytest.raises(ValueError, match="cell is no array of numbers"):
        read_signal(tmp_path / "a.mat", "cell")


def test_a_file_that_kills_the_reader_is_reported_and_the_next_is_read(tmp_path: Path) -> None:
    bad, good = deadly(tmp_path / "bad.mat"), sound(tmp_path / "good.mat")
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"the reader died of it \(signal {signal.SIGSEGV:d}\)"):
            read_mat(bad, ["X_DE_time"])
        assert read_signal(good, "X_DE_time").samples.shape == (600, 2)


def test_a_table_lists_the_deadly_row_with_the_others(tmp_path: Path) -> None:
    deadly(tmp_path / "bad.mat")
    sound(tmp_path / "good.mat")
    (tmp_path / "table.csv").write_text("file,label\nbad.mat,1\ngood.mat,2\nnone.mat,3\n")
    with pytest.raises(ValueError, match=r"bad\.mat") as caught:
        load_recordings(tmp_path / "table.csv", tmp_path, window=64, sample_rate=1.0, key="X_DE_time")
    assert "the reader died of it" in str(caught.value)
    assert "none.mat" in str(caught.value)
    assert "good.mat" not in str(caught.value)


def test_a_reader_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sound(tmp_path / "a.mat")
    mat_arrays(path)
    process = mat_files._READ_BY._process
    assert process is not None
    monkeypatch.setattr(mat_files, "_PATIENCE", 0.2)
    os.kill(process.pid, signal.SIGSTOP)
    with pytest.raises(ValueError, match=r"did not finish within 0\.2 s"):
        mat_arrays(path)
    assert process.poll() is not None
    monkeypatch.undo()
    assert len(mat_arrays(path)) == 2


def test_sizes_are_judged_before_anything_is_read(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.mat")
    with pytest.raises(ValueError, match="more than largest = 1000: X_DE_time has 19200 of them"):
        read_mat(path, ["X_DE_time"], largest=1000)
    with pytest.raises(ValueError, match=r"a\.mat.*more than largest = 1000"):
        read_signal(path, "X_DE_time", largest=1000)
    (tmp_path / "table.csv").write_text("file,label\na.mat,1\n")
    with pytest.raises(ValueError, match=r"a\.mat.*more than largest = 1000"):
        load_recordings(tmp_path / "table.csv", window=64, sample_rate=1.0, key="X_DE_time", largest=1000)


def test_the_reader_ends_with_the_program(tmp_path: Path) -> None:
    reader = mat_files._Reader()
    reader.ask({"path": str(sound(tmp_path / "a.mat"))}, 2**20)
    process = reader._process
    assert process is not None
    assert process.poll() is None
    assert process.stdin is not None
    process.stdin.close()  # what the kernel does when this program dies
    assert process.wait(10) == 0


def test_every_flipped_byte_is_an_error_or_a_value(tmp_path: Path) -> None:
    """Bytes of the header and of the first tags, where the structure is: nothing but a ValueError comes out."""
    whole = bytearray(sound(tmp_path / "a.mat").read_bytes())
    path = tmp_path / "b.mat"
    refused = 0
    for place in range(116, 240, 2):
        broken = whole.copy()
        broken[place] ^= 0xC4
        path.write_bytes(broken)
        try:
            read_signal(path, "X_DE_time")
        except ValueError as error:
            assert "b.mat" in str(error)  # noqa: PT017
            refused += 1
    assert refused > 10
