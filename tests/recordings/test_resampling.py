from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import wavfile

from crest.recordings import load_recordings
from crest.recordings.resampling import rate_ratio, resampled, resampled_events
from recordings_made import table


def tone(rate: float, hertz: float, seconds: float = 2.0) -> np.ndarray:
    times = np.arange(int(rate * seconds)) / rate
    return (5 + np.sin(2 * np.pi * hertz * times))[:, None].astype(np.float32)


@pytest.mark.parametrize(("rate", "target"), [(1000, 400), (400, 1000), (441, 160), (1000, 1000)])
def test_a_slow_tone_is_the_same_tone_at_every_rate(rate: int, target: int) -> None:
    found = resampled(tone(rate, 7.0), rate_ratio(rate, target))
    expected = tone(target, 7.0)
    assert found.shape == expected.shape
    inside = slice(target // 5, -target // 5)
    np.testing.assert_allclose(found[inside], expected[inside], atol=0.01)
    # The level stays at the ends too.
    assert abs(found.mean() - 5) < 0.02
    assert found.min() > 3.5


def test_a_fast_tone_leaves_no_alias() -> None:
    found = resampled(tone(1000, 430.0), rate_ratio(1000, 400))
    assert np.abs(found[50:-50] - 5).max() < 0.02


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 7), st.integers(1, 7))
def test_an_event_has_every_step_that_it_touches(steps: list[bool], up: int, down: int) -> None:
    events, ratio = np.array(steps), Fraction(up, down)
    found = resampled_events(events, ratio)
    length = len(resampled(np.zeros((len(events), 1), np.float32), ratio))
    assert len(found) == length
    for new in range(length):
        begin, end = Fraction(new) / ratio, Fraction(new + 1) / ratio
        touched = [old for old in range(len(events)) if old < end and old + 1 > begin]
        assert found[new] == events[touched].any()


def test_files_of_different_rates_come_to_one_with_their_events(tmp_path: Path) -> None:
    for name, rate in (("a", 1000), ("b", 500)):
        wavfile.write(tmp_path / f"{name}.wav", rate, tone(rate, 5.0)[:, 0])
    np.save(tmp_path / "c.npy", tone(250, 5.0))
    path = table(tmp_path, "file,label,events", "a.wav,1,100-200", "b.wav,2,50-100", "c.npy,3,25-50")
    data = load_recordings(path, window=500, sample_rate=250, resample=250, events="events")
    assert data.sample_rate == 250
    assert "resampled to 250 samples per second" in data.source
    assert data.events is not None
    assert [np.flatnonzero(row).tolist() for row in data.events] == [list(range(25, 50))] * 3
    for row in data.x:
        np.testing.assert_allclose(row[50:-50], data.x[2][50:-50], atol=0.02)
    with pytest.raises(
        ValueError, match=r"line 3: .* sample rate 1000\.0, .* got 500\.0 \(resample=1000 brings all"
    ):
        load_recordings(table(tmp_path, "file,label", "a.wav,1", "b.wav,2"), window=500)


def test_bad_targets_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(20))
    path = table(tmp_path, "file,label", "a.npy,1")
    for bad in (0, -5.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="resample must be positive, got"):
            load_recordings(path, window=8, sample_rate=10, resample=bad)
    with pytest.raises(
        ValueError, match=r"sample_rate must be given if files do not say it, got none for 'a\.npy'"
    ):
        load_recordings(path, window=8, resample=10)
    for far in (1e-9, 1e9):
        with pytest.raises(
            ValueError, match="resample must be within a factor of 10000 of the sample rate 10, got"
        ):
            load_recordings(path, window=8, sample_rate=10, resample=far)
    with pytest.raises(ValueError, match="the resampled signal has 40000 of them"):
        load_recordings(path, window=8, sample_rate=10, resample=5000, largest=2000)
    with pytest.raises(ValueError, match="at least one window of 8 samples, got 5"):
        load_recordings(path, window=8, sample_rate=10, resample=2.5)
