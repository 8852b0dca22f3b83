from pathlib import Path

import numpy as np

from crest.recordings import load_recordings
from crest.recordings.gathering import gathered_recordings
from crest.recordings.options import RecordingOptions
from recordings_made import table


def test_rates_of_printed_times_need_not_agree_to_the_last_digit(tmp_path: Path) -> None:
    for name, count in (("a", 40), ("b", 61), ("c", 55)):
        times = np.round(np.arange(count) / 12_207.03, 6)
        rows = [f"{time:.6f};{number % 7}" for number, time in enumerate(times)]
        (tmp_path / f"{name}.txt").write_text("\n".join(["time;x", *rows]).replace(".", ","))
    path = table(tmp_path, "file,label", "a.txt,1", "b.txt,2", "c.txt,3")
    found = gathered_recordings(path, None, RecordingOptions(window=8))
    assert found.problems == []
    assert found.rate is not None
    assert abs(found.rate / 12_207.03 - 1) < 1e-3
    assert load_recordings(path, window=8, sample_rate=12_207).sample_rate == 12_207


def test_what_is_wrong_is_collected_beside_what_is_there(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(20))
    found = gathered_recordings(
        table(tmp_path, "file,label", "a.npy,1", "b.npy,x"), None, RecordingOptions(window=8)
    )
    assert [problem.line for problem in found.problems] == [3, 3]
    assert found.silent == ["a.npy"]
    assert "got none for 'a.npy'" in found.rate_missing()
    assert found.channels == ("channel 0",)


def test_a_channel_too_many_is_named(tmp_path: Path) -> None:
    for name in "abc":
        head, row = ("accel,temp,axial", "1,2,5") if name == "b" else ("accel,axial", "1,5")
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *[row] * 9]))
    path = table(tmp_path, "file,label", "a.csv,1", "b.csv,2", "c.csv,3")
    found = gathered_recordings(path, None, RecordingOptions(window=8))
    assert [problem.reason for problem in found.problems] == [
        "file 'b.csv' must have channels: 2, as most files have, got 3, with temp; columns=['accel', 'axial'] takes the same of all"
    ]


def test_classes_are_those_of_the_whole_table(tmp_path: Path) -> None:
    """Their numbers are the outputs of a model: they must not depend on which rows are looked at."""
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", np.zeros(20))
    path = table(tmp_path, "file,label,speed", "a.npy,inner,600", "b.npy,ok,900", "c.npy,outer,900")
    found = gathered_recordings(
        path, None, RecordingOptions(window=8), lambda whole: whole._replace(rows=whole.rows[1:])
    )
    assert found.classes == ("inner", "ok", "outer")
    assert [one.label for one in found.recordings] == [1.0, 2.0]
