"""Reading .mat files as they come: other keys, no speed, damaged bytes."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io

from crest.lab.systems.cwru.files import RecordingFileError
from crest.lab.systems.cwru.recording import read_recording

SIGNAL = np.linspace(-1, 1, 500)[:, None]


def test_the_signal_and_speed_of_a_usual_file(tmp_path: Path) -> None:
    content = {"X105_DE_time": SIGNAL, "X105_FE_time": 2 * SIGNAL, "X105RPM": np.array([[1797]], np.uint16)}
    scipy.io.savemat(tmp_path / "105.mat", content)
    recording = read_recording(tmp_path / "105.mat")
    np.testing.assert_array_equal(recording.signal, SIGNAL[:, 0])
    assert (recording.rpm, recording.key, recording.signal.dtype) == (1797.0, "X105_DE_time", np.float64)


def test_the_key_need_not_be_the_files_number(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "3001.mat", {"X056_DE_time": SIGNAL})
    recording = read_recording(tmp_path / "3001.mat")
    assert (recording.key, recording.rpm) == ("X056_DE_time", None)


def test_among_several_the_files_own_is_taken(tmp_path: Path) -> None:
    content = {"X098_DE_time": SIGNAL, "X099_DE_time": 3 * SIGNAL, "X098RPM": 1.0, "X099RPM": 1750.0}
    scipy.io.savemat(tmp_path / "99.mat", content)
    recording = read_recording(tmp_path / "99.mat")
    assert (recording.key, recording.rpm) == ("X099_DE_time", 1750.0)
    np.testing.assert_array_equal(recording.signal, 3 * SIGNAL[:, 0])
    (tmp_path / "99.mat").rename(tmp_path / "7.mat")
    with pytest.raises(RecordingFileError, match=r"7\.mat: must hold one drive-end signal .*X098.*X099"):
        read_recording(tmp_path / "7.mat")


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 0.9])
def test_a_truncated_file_is_named(tmp_path: Path, share: float, compressed: bool) -> None:
    path = tmp_path / "105.mat"
    scipy.io.savemat(path, {"X105_DE_time": SIGNAL}, do_compression=compressed)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(
        RecordingFileError, match=r"105\.mat: (not a readable|must hold)(.|\n)*crest data fetch cwru"
    ):
        read_recording(path)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ones((3, 4)), "must be one row of numbers, got float64"),
        ("text", "must be one row of numbers"),
        (np.array([[1.0, np.nan]]), "must be finite, got nan"),
        (np.zeros((0, 1)), "must be one row of numbers"),
    ],
)
def test_a_signal_that_is_none_is_refused(tmp_path: Path, value: object, message: str) -> None:
    scipy.io.savemat(tmp_path / "5.mat", {"X005_DE_time": value})
    with pytest.raises(RecordingFileError, match=rf"5\.mat: X005_DE_time {message}"):
        read_recording(tmp_path / "5.mat")


def test_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "105.mat").write_text("<html>404</html>" * 100)
    with pytest.raises(RecordingFileError, match=r"105\.mat: not a readable \.mat file"):
        read_recording(tmp_path / "105.mat")
    with pytest.raises(RecordingFileError, match=r"106\.mat: missing"):
        read_recording(tmp_path / "106.mat")
