"""Windows of somebody's recordings, whole ones with padding, and what is said about them."""

from pathlib import Path

import numpy as np
import pytest

from crest.lab.cli.own_windows import own_windows
from crest.recordings.options import RecordingOptions


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three recordings of 4, 6 and 5 samples that count from 1, with an event at the second; nobody says their rate."""
    for place, length in enumerate((4, 6, 5)):
        np.save(tmp_path / f"{place}.npy", np.arange(1.0, length + 1))
    (tmp_path / "table.csv").write_text("file,label,knock\n0.npy,b,1-2\n1.npy,a,1-2\n2.npy,b,1-2\n")
    return tmp_path / "table.csv"


def test_windows_are_full(table: Path) -> None:
    windows, lengths, assumed = own_windows(table, None, RecordingOptions(window=2), whole=False)
    assert windows.x.shape == (7, 2, 1)
    assert lengths.tolist() == [2] * 7
    assert assumed == ["classes by alphabet, without --class-names: 0 a, 1 b"]


def test_whole_recordings_have_zeros_behind_and_their_lengths(table: Path) -> None:
    options = RecordingOptions(window=1, events="knock", classes=["b", "a", "c"])
    windows, lengths, assumed = own_windows(table, None, options, whole=True)
    assert windows.x[..., 0].tolist() == [[1, 2, 3, 4, 0, 0], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 0]]
    assert windows.y.tolist() == [0, 1, 0]
    assert windows.events is not None
    assert windows.events.tolist() == [[False, True, False, False, False, False]] * 3
    assert lengths.tolist() == [4, 6, 5]
    assert assumed == [
        "classes: 0 b, 1 a, 2 c; no recording is of c",
        "whole recordings, without --window: 4 to 6 samples, with zeros behind the shorter ones",
    ]


def test_bad_rows_of_whole_recordings_are_told(table: Path) -> None:
    (table.parent / "1.npy").unlink()
    with pytest.raises(ValueError, match=r"line 3: file .*1\.npy' does not exist"):
        own_windows(table, None, RecordingOptions(window=1), whole=True)


def test_given_names_must_hold_every_class_of_the_table(table: Path) -> None:
    rows = [f"{place}.npy,{place}.5,1-2" for place in range(9)]
    table.write_text("\n".join(["file,label,knock", *rows]) + "\n")
    with pytest.raises(
        ValueError, match=r", got a, b, and it also has 0\.5, 1\.5, 2\.5, 3\.5, 4\.5 and others$"
    ):
        own_windows(table, None, RecordingOptions(window=1, classes=["a", "b"]), whole=True)


def test_resampling_needs_the_rate_of_the_files(tmp_path: Path) -> None:
    """Without it the windows would be of the rate that the files have."""
    np.save(tmp_path / "a.npy", np.arange(40.0))
    np.save(tmp_path / "b.npy", np.arange(40.0))
    table = tmp_path / "table.csv"
    table.write_text("file,label\na.npy,1\nb.npy,2\n")
    with pytest.raises(
        ValueError, match=r"sample_rate must be given where files do not say it, got none for 'a.npy'"
    ):
        own_windows(table, None, RecordingOptions(window=4, resample=10.0), whole=False)
    windows, *_ = own_windows(
        table, None, RecordingOptions(window=4, resample=10.0, sample_rate=20.0), whole=False
    )
    assert len(windows) == 10
