"""A .mat file can kill SciPy's reader; it must not kill the program that asked for it."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import io

from crest.recordings import load_recordings, mat_child, mat_files
from crest.recordings.mat_files import mat_arrays, read_mat
from crest.recordings.signal_files import read_signal
from recordings_made import mat73


def sound(path: Path) -> Path:
    io.savemat(path, {"X_DE_time": np.arange(1200, dtype=np.float32).reshape(600, 2), "RPM": 1772})
    return path


def deadly(path: Path) -> Path:
    """A file whose numbers have a type that SciPy looks up behind the end of its table: it dies of most of what it finds there."""
    content = bytearray(sound(path).read_bytes())
    assert content[192] == 0x07
    content[192] = 0xC3
    path.write_bytes(content)
    return path


# Reads as the reader does, and dies of one file for certain.
MORTAL = """
import os, signal
from pathlib import Path
program = {{"__name__": "mortal"}}
exec(compile(Path({program!r}).read_text(), "mortal", "exec"), program)
answer = program["_answer"]
def dying(request):
    if request["path"].endswith("bad.mat"):
        os.kill(os.getpid(), signal.SIGSEGV)
    return answer(request)
program["_answer"] = dying
program["serve"]()
"""


@pytest.fixture
def mortal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A reader that dies of every file called bad.mat."""
    program = tmp_path / "mortal.py"
    program.write_text(MORTAL.format(program=mat_child.__file__))
    monkeypatch.setattr(mat_files, "_PROGRAM", program)
    mat_files._READ_BY.stop()
    yield
    mat_files._READ_BY.stop()


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


def test_a_type_behind_the_end_of_the_table_leaves_this_process_and_the_next_file_alone(
    tmp_path: Path,
) -> None:
    bad, good = deadly(tmp_path / "bad.mat"), sound(tmp_path / "good.mat")
    for _ in range(2):
        # What SciPy finds there differs from run to run.
        with contextlib.suppress(ValueError):
            read_mat(bad, ["X_DE_time"])
        assert read_signal(good, "X_DE_time").samples.shape == (600, 2)


@pytest.mark.usefixtures("mortal")
def test_a_file_that_kills_the_reader_is_reported_and_the_next_is_read(tmp_path: Path) -> None:
    bad, good = sound(tmp_path / "bad.mat"), sound(tmp_path / "good.mat")
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"the reader died of it \(signal {signal.SIGSEGV:d}\)"):
            read_mat(bad, ["X_DE_time"])
        assert read_signal(good, "X_DE_time").samples.shape == (600, 2)


@pytest.mark.usefixtures("mortal")
def test_a_table_lists_the_deadly_row_with_the_others(tmp_path: Path) -> None:
    sound(tmp_path / "bad.mat")
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


def test_a_reader_that_is_not_there_or_not_ours_is_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = mat_files._Reader()
    assert reader.stop() == "not started"
    process = reader._start(2**30)
    # As a forked child sees its parent's.
    monkeypatch.setattr(reader, "_owner", os.getppid())
    assert reader.stop() == "not started"
    assert process.poll() is None
    monkeypatch.undo()
    reader._process = process
    assert reader.stop() == "signal 9"
    assert reader.stop() == "not started"


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


# -- version 7.3, which is HDF5


def test_new_matlab_files_come_back_as_matlab_has_them(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    arrays = {
        "x": np.arange(120, dtype=np.float32).reshape(60, 2),
        "z": np.array([[1 + 2j]]),
        "n": np.ones((1, 9)),
    }
    path = mat73(tmp_path / "a.mat", **arrays)
    assert {(array.name, array.shape) for array in mat_arrays(path)} >= {("x", (60, 2)), ("text", (1, 2))}
    found = read_mat(path, ["x", "z", "text", "missing", "struct"])
    assert found.keys() == {"x", "z"}
    assert found["x"].dtype == np.float32
    np.testing.assert_array_equal(found["x"], arrays["x"])
    np.testing.assert_array_equal(found["z"], arrays["z"])
    assert read_signal(path, "n").samples.shape == (9, 1)


def test_new_matlab_files_lead_to_no_other_file(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    other = mat73(tmp_path / "other.mat", secret=np.arange(8.0)[:, None])
    path = mat73(tmp_path / "a.mat", x=np.ones((8, 1)))
    with h5py.File(path, "r+") as file:
        file["link"] = h5py.ExternalLink(str(other), "/secret")
        file["soft"] = h5py.SoftLink("/link")
        file.create_dataset("raw", shape=(8,), dtype="u1", external=[(str(other), 0, 8)])
        layout = h5py.VirtualLayout((1, 8), "f8")
        layout[:] = h5py.VirtualSource(str(other), "secret", (1, 8))
        file.create_virtual_dataset("virtual", layout)
    assert {array.name for array in mat_arrays(path)} == {"x", "text"}
    assert read_mat(path, ["link", "soft", "raw", "virtual", "x"]).keys() == {"x"}


def test_sizes_of_new_matlab_files_are_judged_first(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = mat73(tmp_path / "a.mat", x=np.ones((8, 1)))
    with h5py.File(path, "r+") as file:
        file.create_dataset("huge", shape=(2**40,), dtype="f8", chunks=(1024,))
    assert path.stat().st_size < 2**16
    with pytest.raises(ValueError, match=r"a\.mat' cannot be read: .* more than largest = .*: huge has"):
        read_signal(path, "huge")
    assert read_signal(path, "x").samples.shape == (8, 1)


def test_without_h5py_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(512))
    monkeypatch.setitem(sys.modules, "h5py", None)
    answer = mat_child._answer({"path": str(path)})
    assert answer[0]["missing"] == "h5py"
    monkeypatch.setattr(mat_files._Stream, "line", lambda stream: b'{"error": "", "missing": "h5py"}')
    with pytest.raises(
        ImportError, match=r"version 7\.3 needs h5py\. Install the extra recordings: .* Or save it with '-v7'"
    ):
        mat_files._Reader().ask({"path": str(path)}, 2**20)
