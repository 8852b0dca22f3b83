from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crest.recordings.windows import cut_windows, event_steps, window_starts
from recordings_made import load


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
