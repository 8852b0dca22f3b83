"""Every option once: the door, the system and the study's file have the fields of one class."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from crest.lab.systems.recordings import RecordingsSystem
from crest.recordings import RecordingOptions, load_recordings
from recordings_made import table

NAMES = {field.name for field in dataclasses.fields(RecordingOptions)}


def test_fields_given_by_name_replace_those_of_the_options(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(12.0))
    path = table(tmp_path, "file,label", "a.npy,1")
    options = RecordingOptions(window=4, sample_rate=10)
    assert len(load_recordings(path, options=options)) == 3
    assert load_recordings(path, None, options, window=6).x.shape == (2, 6, 1)
    with pytest.raises(
        ValueError, match=r"^load_recordings has no option windwo; .*: did you mean 'window'\?$"
    ):
        load_recordings(path, windwo=6)
    with pytest.raises(TypeError, match="'window'"):
        load_recordings(path)


def test_the_system_has_all_of_them() -> None:
    assert {field.name for field in dataclasses.fields(RecordingsSystem)} > NAMES


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window", True),
        ("hop", 0),
        ("largest", 0),
        ("resample", -1.0),
        ("columns", []),
        ("scale", 0.0),
        ("scale", [1.0, -1.0]),
        ("standardise", "max"),
        ("label_scale", 0),
        ("condition", []),
        ("condition", 3),
    ],
)
def test_a_bad_value_is_refused_before_a_file_is_opened(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be "):
        RecordingOptions(**{"window": 8, name: value})


@pytest.mark.unchecked
def test_options_travel_as_a_file(tmp_path: Path) -> None:
    options = RecordingOptions(
        window=np.int64(8),
        condition=("speed", "load"),
        split="part",
        standardise="median",
        scale=(2.0, 1.0),
        label_mean=5.0,
        label_scale=2.4,
    )
    options.save(tmp_path / "settings.json")
    back = RecordingOptions.load(tmp_path / "settings.json")
    # Another table has other columns, but the model is the same.
    assert back == dataclasses.replace(options, condition=None, split=None, scale=[2.0, 1.0], window=8)
    whole = RecordingOptions.from_dict(options.to_dict())
    assert whole == dataclasses.replace(options, condition=["speed", "load"], scale=[2.0, 1.0])
    (tmp_path / "settings.json").write_text('{"format": "crest-recording-options-1", "windwo": 3}')
    with pytest.raises(
        ValueError, match=r"^settings must be a file of recording options, .* did you mean 'window'"
    ):
        RecordingOptions.load(tmp_path / "settings.json")
    (tmp_path / "settings.json").write_text("[]")
    with pytest.raises(ValueError, match=r"^settings must be a file of recording options"):
        RecordingOptions.load(tmp_path / "settings.json")
    with pytest.raises(FileNotFoundError, match=r"^settings must be a file that exists"):
        RecordingOptions.load(tmp_path / "gone.json")


def test_condition_columns_must_leave_the_names_of_extra_alone() -> None:
    assert RecordingOptions(window=8, condition="start").conditions == ("start",)
    with pytest.raises(ValueError, match=r"^condition must not have a column called start among several"):
        RecordingOptions(window=8, condition=["start", "load"])
    with pytest.raises(ValueError, match=r"^condition must not repeat a column, got load, load"):
        RecordingOptions(window=8, condition=["load", "load"])
