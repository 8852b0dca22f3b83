from pathlib import Path

import numpy as np

from crest.recordings.gathering import gathered_recordings
from crest.recordings.inventory import _lost_ends, inventory
from crest.recordings.options import Division, RecordingOptions
from recordings_made import table


def test_everything_that_is_there_is_counted(three: Path) -> None:
    options = RecordingOptions(window=8, hop=6, sample_rate=10, condition="speed", events="events")
    found = inventory(gathered_recordings(three, None, options), ["fast"], Division(id_by="recording"))
    assert found.problems == []
    assert found.about == {
        "table": str(three), "rows": 3, "files": None, "signals": 3, "channels": ["channel 0"], "rates": {"10 (given)": 3},
        "resampled": None, "time": None, "lengths": {"shortest": 9, "longest": 25},
        "units": "raw units, as in the files", "label units": "as in column 'label'", "groups": None,
        "labels": {"lowest": 1.0, "highest": 3.0, "mean": 2.0}, "classes": None, "conditions": {"fast": 1, "slow": 2},
        "events": {"recordings": 2, "share of steps": round(14 / 54, 4)}, "windows": 7,
        "split": found.about["split"],
    }  # fmt: skip
    assert sum(found.about["split"].values()) == 7
    assert found.about["split"]["ood"] == 3
    # Of 20, 25 and 9 samples.
    lost = "2 of 3 recordings lose more than a tenth at their ends, up to 5 samples"
    short = (
        "windows of 8 steps are too short to tell brief events from a smooth background: take more than 16"
    )
    assert found.remarks == [lost, short]
    assert found.lines()[-3:] == ["No problems.", f"But {lost}.", f"But {short}."]
    assert "conditions  fast: 1, slow: 2" in found.lines()


def test_a_column_of_splits_is_tried_and_told_apart_from_a_condition(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(100))
    path = table(
        tmp_path,
        "file,label,part,from,to",
        "a.npy,1,train,,60 %",
        "a.npy,2,id,60 %,80 %",
        "a.npy,3,ood,80 %,",
    )
    how = {"window": 20, "sample_rate": 10, "start": "from", "stop": "to"}
    found = inventory(gathered_recordings(path, None, RecordingOptions(**how, split="part")))
    assert found.problems == []
    assert (found.about["rows"], found.about["files"]) == (3, 1)
    assert found.about["split"] == {"train": 3, "id": 1, "ood": 1}
    assert found.remarks == []
    found = inventory(gathered_recordings(path, None, RecordingOptions(**how, condition="part")))
    assert found.remarks == [
        "'part' looks like a column of splits (id, ood, train), and is read as a condition here: split='part' takes its rows as they are"
    ]


def test_a_split_that_cannot_be_made_and_a_missing_rate_are_problems(three: Path) -> None:
    options = RecordingOptions(window=8, condition="speed", sample_rate=1)
    found = inventory(gathered_recordings(three, None, options), ["gone"])
    assert found.problems == [(None, "ood must name conditions among fast, slow, got gone")]
    assert found.lines()[-2:] == ["1 problem:", "  ood must name conditions among fast, slow, got gone"]
    found = inventory(gathered_recordings(three, None, RecordingOptions(window=30)))
    assert [line for line, _ in found.problems] == [2, 3, 4]
    assert found.about["lengths"] is None
    found = inventory(gathered_recordings(three, None, RecordingOptions(window=8)))
    assert found.problems == [
        (None, "sample_rate must be given if files do not say it, got none for 'a.npy'")
    ]


def test_the_window_that_is_advised_is_the_longest_of_the_shorter_ones() -> None:
    # Of 28 samples a window of 8 leaves 4, one of 7 none. One of 9 would leave 1, but is longer than asked.
    lost = "1 of 1 recordings lose more than a tenth at their ends, up to 4 samples"
    assert _lost_ends([28], 8, 8) == [f"{lost}: window=7 loses 0 at most"]
