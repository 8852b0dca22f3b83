from pathlib import Path

import numpy as np
import pytest
from scipy import io
from scipy.io import wavfile

from crest.recordings.signal_files import read_signal

SIGNAL = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)


def write(path: Path, array: np.ndarray) -> Path:
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        np.savez(path, only=array)
    elif path.suffix == ".mat":
        io.savemat(path, {"only": array})
    elif path.suffix == ".csv":
        np.savetxt(path, array, delimiter=",", fmt="%.17g")
    else:
        wavfile.write(path, 1000, array)
    return path


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".csv", ".wav", ".NPY"])
@pytest.mark.parametrize("array", [SIGNAL, SIGNAL[:, 0]], ids=["(T, C)", "(T,)"])
def test_what_was_written_comes_back(tmp_path: Path, suffix: str, array: np.ndarray) -> None:
    path = write(tmp_path / f"a{suffix.lower()}", array)
    found = read_signal(path.rename(tmp_path / f"a{suffix}"))
    assert found.samples.dtype == np.float32
    np.testing.assert_array_equal(found.samples, array.reshape(50, -1))
    assert found.sample_rate == (1000.0 if suffix == ".wav" else None)
    assert found.channels is None


@pytest.mark.parametrize(
    ("dtype", "stored", "expected"),
    [
        (np.uint8, [0, 128, 192, 255], [-1, 0, 0.5, 127 / 128]),
        (np.int16, [-(2**15), 0, 2**14, 2**15 - 1], [-1, 0, 0.5, 1 - 2**-15]),
        (np.int32, [-(2**31), 0, 2**30, 2**29], [-1, 0, 0.5, 0.25]),
    ],
)
def test_integer_sound_is_scaled(
    tmp_path: Path, dtype: type, stored: list[int], expected: list[float]
) -> None:
    found = read_signal(write(tmp_path / "a.wav", np.array(stored, dtype=dtype)))
    np.testing.assert_array_equal(found.samples[:, 0], np.array(expected, dtype=np.float32))


def test_a_truncated_sound_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.wav", np.arange(1000, dtype=np.int16))
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ValueError, match="Reached EOF prematurely"):
        read_signal(path)


@pytest.mark.parametrize("row", [True, False])
def test_rows_and_columns_of_matlab_are_signals(tmp_path: Path, row: bool) -> None:
    path = write(tmp_path / "a.mat", SIGNAL[None, :, 0] if row else SIGNAL[:, :1])
    np.testing.assert_array_equal(read_signal(path).samples, SIGNAL[:, :1])


@pytest.mark.parametrize("suffix", [".npz", ".mat"])
def test_a_key_names_one_of_several_arrays(tmp_path: Path, suffix: str) -> None:
    path, arrays = tmp_path / f"a{suffix}", {"X1_DE": SIGNAL, "X1_FE": SIGNAL[:9], "rpm": np.ones(1)}
    np.savez(path, **arrays) if suffix == ".npz" else io.savemat(path, arrays)
    assert len(read_signal(path, "X1_FE").samples) == 9
    assert len(read_signal(path, "*_DE").samples) == 50
    with pytest.raises(ValueError, match="several; the file holds X1_DE, X1_FE, rpm"):
        read_signal(path)
    with pytest.raises(ValueError, match=r"key 'X\*' fits 2 arrays; the file holds X1_DE, X1_FE, rpm"):
        read_signal(path, "X*")
    with pytest.raises(ValueError, match="key 'nothing' fits 0 arrays"):
        read_signal(path, "nothing")


@pytest.mark.parametrize("header", ["a,b", "# a,b", " a , b ", "\ufeffa,b"])
def test_a_csv_header_names_the_channels(tmp_path: Path, header: str) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\n1,2\n3,4\n", encoding="utf-8")
    found = read_signal(tmp_path / "a.csv")
    assert found.channels == ("a", "b")
    assert found.samples.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1,x\n3,4\n", "line 1, column 2 is no number: 'x'"),
        ("a,b\n3,4\n5\n", "line 3 has 1 column, the lines before have 2$"),
        ("a,b,c\n1,2\n", "header names 3 columns, its rows have 2"),
        (",a\n0,1\n", "name every column"),
        ("", "must hold samples, got none"),
        ("a\n", "must hold samples, got none"),
        ("a\n1\nnan\n", "1 NaN or infinite values, the first at sample 1 of channel 0"),
        ("1e39\n", "finite in float32"),
    ],
)
def test_a_bad_csv_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=reason):
        read_signal(tmp_path / "a.csv")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".csv", ".wav"])
@pytest.mark.parametrize("content", [b"", b"\x93NUMPY junk \xff\xfe", b"PK\x03\x04junk", b"RIFF\x00\x00"])
def test_damaged_files_are_refused_by_name(tmp_path: Path, suffix: str, content: bytes) -> None:
    (tmp_path / f"bad{suffix}").write_bytes(content)
    with pytest.raises(ValueError, match=rf"file 'bad\{suffix}'"):
        read_signal(tmp_path / f"bad{suffix}")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    objects = np.array([{"a": 1}], dtype=object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "a.npz", a=objects)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(ValueError, match=r"cannot be read: it holds Python objects"):
            read_signal(tmp_path / name)


def test_a_file_under_the_wrong_suffix_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.npz", SIGNAL).rename(tmp_path / "b.npy")
    write(tmp_path / "a.npy", SIGNAL).rename(tmp_path / "b.npz")
    with pytest.raises(ValueError, match=r"it is a \.npz file"):
        read_signal(tmp_path / "b.npy")
    with pytest.raises(ValueError, match=r"it is a \.npy file"):
        read_signal(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros((2, 3, 4)), r"shape \(T,\) or \(T, C\), got \(2, 3, 4\)"),
        (np.zeros((0, 2)), "hold samples, got none$"),
        (np.zeros(4, dtype=complex), "real numbers, got complex128"),
        (np.array(["a"]), "real numbers, got <U1"),
        (np.array([0, np.inf]), "at sample 1 of channel 0"),
    ],
)
def test_what_is_no_signal_is_refused(tmp_path: Path, array: np.ndarray, reason: str) -> None:
    with pytest.raises(ValueError, match=f"file 'a.npy' must .*{reason}"):
        read_signal(write(tmp_path / "a.npy", array))


def test_unknown_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"must end in \.npy, .*, \.txt, \.parquet, \.wav, \.hea, got 'a\.doc'"
    ):
        read_signal(tmp_path / "a.doc")
    with pytest.raises(ValueError, match=r"a\.npy' does not exist"):
        read_signal(tmp_path / "a.npy")
