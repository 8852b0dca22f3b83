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
    windows, lengths, assumed, names, rate = own_windows(table, None, RecordingOptions(window=2), whole=False)
    assert windows.x.shape == (7, 2, 1)
    assert lengths.tolist() == [2] * 7
    assert assumed == [
        "signals are in raw units, as in the files",
        "classes in sorted order, because --classes gives no names: 0 a, 1 b",
        "windows of 2 steps are too short to tell brief events from a smooth background: take more than 16",
    ]
    assert names[:3] == ["0.npy, sample 0", "0.npy, sample 2", "1.npy, sample 0"]
    assert rate is None


def test_whole_recordings_have_zeros_behind_and_their_lengths(table: Path) -> None:
    options = RecordingOptions(window=1, events="knock", classes=["b", "a", "c"])
    windows, lengths, assumed, names, _ = own_windows(table, None, options, whole=True)
    assert windows.x[..., 0].tolist() == [[1, 2, 3, 4, 0, 0], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 0]]
    assert windows.y.tolist() == [0, 1, 0]
    assert windows.events is not None
    assert windows.events.tolist() == [[False, True, False, False, False, False]] * 3
    assert lengths.tolist() == [4, 6, 5]
    assert names == ["0.npy", "1.npy", "2.npy"]
    assert assumed == [
        "signals are in raw units, as in the files",
        "classes: 0 b, 1 a, 2 c; no recording has c",
        "whole recordings, without --window: 4 to 6 samples, the shorter ones padded with zeros",
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
        ValueError, match=r"sample_rate must be given if files do not say it, got none for 'a.npy'"
    ):
        own_windows(table, None, RecordingOptions(window=4, resample=10.0), whole=False)
    windows, *_ = own_windows(
        table, None, RecordingOptions(window=4, resample=10.0, sample_rate=20.0), whole=False
    )
    assert len(windows) == 10


def test_zeros_behind_a_recording_are_no_part_of_its_units(table: Path) -> None:
    options = RecordingOptions(window=1, standardise="mean")
    windows, lengths, assumed, *_ = own_windows(table, None, options, whole=True)
    assert assumed[0] == "signals: each window standardised by its mean and standard deviation"
    for row, length in zip(windows.x[..., 0], lengths.tolist(), strict=True):
        assert row[:length].mean() == pytest.approx(0, abs=1e-6)
        assert row[:length].std() == pytest.approx(1)
        assert (row[length:] == 0).all()


def test_rows_of_a_split_are_chosen_and_told(table: Path) -> None:
    table.write_text("file,label,part,speed,load\n0.npy,1,train,9,x\n1.npy,2,id,9,y\n2.npy,3,ood,8,y\n")
    options = RecordingOptions(window=2, split="part", condition=["speed", "load"])
    windows, lengths, assumed, *_ = own_windows(table, None, options, whole=False, parts=("id", "ood"))
    assert windows.y.tolist() == [2, 2, 2, 3, 3]
    assert len(lengths) == 5
    assert assumed[1] == "labels are as in column 'label'"
    assert (
        assumed[-1]
        == "windows by the column of splits: 3 id and 2 ood; 2 train left out (choose with --parts)"
    )
    assert windows.conditions == {"speed": ["9", "9", "9", "8", "8"], "load": ["y"] * 5}
    table.write_text("file,label,part\n0.npy,1,train\n1.npy,2,train\n2.npy,3,ood\n")
    one = RecordingOptions(window=2, split="part")
    windows, _, assumed, *_ = own_windows(table, None, one, whole=False, parts=("id",))
    assert assumed[-1] == "windows by the column of splits: 2 ood; 5 train left out (choose with --parts)"
    table.write_text("file,label,part\n0.npy,1,train\n1.npy,2,train\n2.npy,3,train\n")
    windows, _, assumed, *_ = own_windows(
        table, None, RecordingOptions(window=2, split="part"), whole=False, parts=("id",)
    )
    assert len(windows) == 7
    assert assumed[-1] == "windows by the column of splits: 7 train"
    assert windows.conditions is None


def test_windows_are_called_by_file_start_and_condition_of_the_rows_that_are_wanted(table: Path) -> None:
    options = RecordingOptions(window=2, condition="knock", sample_rate=4.0)
    (table.parent / "0.npy").unlink()  # A row that is not wanted is not read.
    found = own_windows(table, None, options, whole=False, where=["file=1.npy", "file=2.npy", "label=b"])
    assert found.names == ["2.npy, 0 s, 1-2", "2.npy, 0.5 s, 1-2"]
    assert found.rate == 4.0
    assert len(found.windows) == 2
