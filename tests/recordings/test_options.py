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
    ("name", "value"), [("window", True), ("hop", 0), ("largest", 0), ("resample", -1.0), ("columns", [])]
)
def test_a_bad_value_is_refused_before_a_file_is_opened(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be "):
        RecordingOptions(**{"window": 8, name: value})
