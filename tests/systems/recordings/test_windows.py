from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crest.systems.base import Trajectories
from crest.systems.recordings import load_recordings
from crest.systems.recordings.windows import cut_windows, event_steps, window_starts


def table(folder: Path, *lines: str) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Recordings of 20, 25 and 9 samples that count 0, 1, ..., from 1000 and from 2000."""
    for number, (name, length) in enumerate([("a.npy", 20), ("b.npy", 25), ("c.npy", 9)]):
        np.save(tmp_path / name, 1000 * number + np.arange(length))
    return table(
        tmp_path,
        "file,label,speed,cue,events",
        "a.npy,1,slow,7,3-6;10-12",
        "b.npy,2,fast,8,",
        "c.npy,3,slow,9,0-9",
    )


def load(path: Path) -> Trajectories:
    return load_recordings(
        path, window=8, hop=6, sample_rate=10, condition="speed", proxy="cue", events="events", channels=["a"]
    )


def test_events_are_cut_with_the_signal(three: Path) -> None:
    data = load(three)
    assert data.events is not None
    steps = [
        (np.flatnonzero(row) + start).tolist()
        for row, start in zip(data.events, data.extra["start"], strict=True)
    ]
    assert steps == [[3, 4, 5], [10, 11], [], [], [], [], list(range(8))]


def test_events_may_be_a_file(tmp_path: Path) -> None:
    mask = np.arange(20) % 3 == 0
    np.save(tmp_path / "mask.npy", mask)
    np.testing.assert_array_equal(event_steps("mask.npy", 20, tmp_path), mask)
    with pytest.raises(ValueError, match=r"must hold booleans of shape \(19,\), got bool \(20,\)"):
        event_steps("mask.npy", 19, tmp_path)
    with pytest.raises(ValueError, match=r"none\.npy' does not exist"):
        event_steps("none.npy", 20, tmp_path)


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 30), st.integers(1, 3))
def test_windows_by_the_definition(length: int, window: int, hop: int, width: int) -> None:
    signal = np.arange(length * width).reshape(length, width)
    expected = [start for start in range(length) if start % hop == 0 and start + window <= length]
    assert window_starts(length, window, hop).tolist() == expected
    if length >= window:
        found = cut_windows(signal, window, hop)
        assert found.shape == (len(expected), window, width)
        for row, start in zip(found, expected, strict=True):
            np.testing.assert_array_equal(row, signal[start : start + window])
