from pathlib import Path

from crest.recordings.gathering import gathered_recordings
from crest.recordings.inventory import inventory
from crest.recordings.options import Division, RecordingOptions


def test_everything_that_is_there_is_counted(three: Path) -> None:
    options = RecordingOptions(window=8, hop=6, sample_rate=10, condition="speed", events="events")
    found = inventory(gathered_recordings(three, None, options), ["fast"], Division(id_by="recording"))
    assert found.problems == []
    assert found.about == {
        "table": str(three), "rows": 3, "signals": 3, "channels": ["channel 0"], "rates": {"not said": 3},
        "resampled": None, "time": None, "lengths": {"shortest": 9, "longest": 25},
        "labels": {"lowest": 1.0, "highest": 3.0, "mean": 2.0}, "classes": None, "conditions": {"fast": 1, "slow": 2},
        "events": {"recordings": 2, "share of steps": round(14 / 54, 4)}, "windows": 7,
        "split": found.about["split"],
    }  # fmt: skip
    assert sum(found.about["split"].values()) == 7
    assert found.about["split"]["ood"] == 3
    # Of 20, 25 and 9 samples.
    lost = "2 of 3 recordings lose more than a tenth at their ends, up to 5 samples"
    assert found.remarks == [lost]
    assert found.lines()[-2:] == ["No problems.", f"But {lost}."]
    assert "conditions  fast: 1, slow: 2" in found.lines()


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
        (None, "sample_rate must be given where files do not say it, got none for 'a.npy'")
    ]
