from pathlib import Path

import numpy as np
import pytest

from crest.recordings import load, load_recordings, save, split_by_condition
from crest.recordings.labels import class_names
from recordings_made import table


@pytest.fixture
def states(tmp_path: Path) -> Path:
    """Six recordings of three windows, whose labels are names."""
    rows = ["file,state,speed"]
    for number, state in enumerate(("ok", "worn", "fault", "ok", "worn", "ok")):
        np.save(tmp_path / f"{number}.npy", np.full(24, float(number)))
        rows.append(f"{number}.npy,{state},{'fast' if number > 3 else 'slow'}")
    return table(tmp_path, *rows)


def test_names_become_numbers_in_sorted_order(states: Path) -> None:
    data = load_recordings(states, window=8, sample_rate=1, label="state")
    assert data.classes == ("fault", "ok", "worn")
    assert data.y[::3].tolist() == [1, 2, 0, 1, 2, 1]
    assert "classes fault, ok, worn" in repr(data)


def test_names_outlive_files_and_splits_and_are_not_standardised(states: Path, tmp_path: Path) -> None:
    data = load_recordings(states, window=8, sample_rate=1, label="state", condition="speed")
    save(data, tmp_path / "data.npz")
    assert load(tmp_path / "data.npz").classes == data.classes
    splits = split_by_condition(data, ood="fast", id_by="recording")
    assert splits.ood.classes == data.classes
    assert set(splits.train.y) | set(splits.id.y) == {0, 1, 2}


def test_an_order_can_be_given_and_holds_for_other_tables(states: Path) -> None:
    data = load_recordings(
        states, window=8, sample_rate=1, label="state", classes=["ok", "worn", "fault", "lost"]
    )
    assert data.y[::3].tolist() == [0, 1, 2, 0, 1, 0]
    with pytest.raises(ValueError, match="line 4: state must be one of ok, worn, got 'fault'"):
        load_recordings(states, window=8, sample_rate=1, label="state", classes=["ok", "worn"])


def test_a_missing_name_is_a_bad_row(states: Path) -> None:
    states.write_text(states.read_text().replace("fault", ""))
    with pytest.raises(
        ValueError, match=r"got 1 problem in 1 of 6 rows .*\n  line 4: state must not be empty"
    ):
        load_recordings(states, window=8, sample_rate=1, label="state")


def test_names_are_told_from_numbers() -> None:
    assert class_names(["ok", "fault"], None) == ("fault", "ok")
    # One number makes the others mistakes.
    assert class_names(["1.5", "high"], None) is None
    assert class_names(["nan"], None) is None
    assert class_names(["", ""], None) is None
    assert class_names(["ok"], False) is None
    assert class_names(["10", "9", "9"], True) == ("9", "10")
    assert class_names(["10", "9", "b"], True) == ("10", "9", "b")


@pytest.mark.parametrize("classes", [[], ["a", "a"], "ab", [""]])
def test_bad_lists_of_classes_are_refused(states: Path, classes: object) -> None:
    with pytest.raises(ValueError, match="classes must be a list of different names"):
        load_recordings(states, window=8, sample_rate=1, label="state", classes=classes)
