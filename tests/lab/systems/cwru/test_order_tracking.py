"""Order tracking: a bearing made here with known impacts, and the sixteen real ones."""

import numpy as np
import pytest

from crest.lab.systems.cwru import order_tracking
from crest.lab.systems.cwru.files import RECORDINGS, RecordingFile
from crest.lab.systems.cwru.recording import read_recording
from real_recordings import FOLDER, real

RATE = 12000.0


def struck(
    seconds: float = 5.0, turns: float = 29.4, order: float = 5.4, drift: float = 0.0, noise: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """A signal of decaying 3.5 kHz rings, a weak 1x line and noise, with the true times of the impacts."""
    draw = np.random.default_rng(0)
    time = np.arange(int(seconds * RATE)) / RATE
    passed = order * turns * time + drift * np.sin(2 * np.pi * time / seconds) + 0.37
    impacts = np.interp(np.arange(1, int(passed[-1])), passed, time)
    since = time[:, None] - impacts[np.clip(np.searchsorted(impacts, time) - 1, 0, None)][:, None]
    ring = np.where(since >= 0, np.exp(-since / 8e-4) * np.sin(2 * np.pi * 3500 * since), 0.0)[:, 0]
    return ring + noise * draw.standard_normal(len(time)) + 0.05 * np.sin(2 * np.pi * turns * time), impacts


def line_height(amplitude: np.ndarray, sample_rate: float, rate: float) -> float:
    """Height of the envelope's line at `rate` over the median of its spectrum between 10 and 1000 Hz."""
    spectrum = np.abs(np.fft.rfft((amplitude - amplitude.mean()) * np.hanning(len(amplitude))))
    frequencies = np.fft.rfftfreq(len(amplitude), 1 / sample_rate)
    # The line's top lies within half a bin of one of the two bins around it.
    near = np.abs(frequencies - rate) <= sample_rate / len(amplitude)
    floor = np.median(spectrum[(frequencies >= 10) & (frequencies <= 1000)])
    return float(spectrum[near].max() / floor)


def energy_share(amplitude: np.ndarray, events: np.ndarray) -> float:
    """Share of the envelope's energy on event steps; equal to the event fraction where events mean nothing."""
    energy = amplitude**2
    return float(energy[events].sum() / energy.sum())


def test_events_hold_the_impacts() -> None:
    signal, impacts = struck()
    track = order_tracking.track(signal, RATE, 5.42)
    assert track.shaft_rate == pytest.approx(29.4, abs=0.01)
    assert track.passing_rate == pytest.approx(5.4 * 29.4, rel=1e-4)
    # The ring's energy, 0.4 ms after the strike on average, must be inside; so half a ms is allowed.
    heard = track.events[((impacts + 4e-4) * RATE).astype(int)]
    assert heard.mean() > 0.99
    assert track.events.mean() == pytest.approx(0.2, abs=0.005)


def test_slow_slip_is_followed() -> None:
    signal, impacts = struck(seconds=10.0, drift=0.4)
    track = order_tracking.track(signal, RATE, 5.42)
    inside = ((impacts + 4e-4) * RATE).astype(int)
    assert track.events[inside].mean() > 0.97
    rigid = order_tracking.passing_phase(track.envelope, RATE, track.passing_rate, block=10.0)
    assert order_tracking.event_mask(rigid)[inside].mean() < 0.7


def test_wrong_order_finds_nothing() -> None:
    signal, _ = struck()
    track = order_tracking.track(signal, RATE, 5.7)
    assert energy_share(track.envelope, track.events) < 0.25
    assert line_height(track.envelope, RATE, track.passing_rate) < 10


def test_recorded_speed_is_preferred() -> None:
    signal, _ = struck()
    assert order_tracking.shaft_rate(signal, RATE, rpm=1770.0) == 29.5
    assert order_tracking.track(signal, RATE, 5.42, rpm=1770.0).shaft_rate == 29.5


def test_a_signal_shorter_than_a_block_is_one_block() -> None:
    signal, impacts = struck(seconds=0.5)
    track = order_tracking.track(signal, RATE, 5.4, rpm=60 * 29.4)
    assert track.events[((impacts + 4e-4) * RATE).astype(int)].mean() > 0.95


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: order_tracking.event_mask(np.zeros(3), 1.0), r"fraction must lie in \(0, 1\), got 1.0"),
        (lambda: order_tracking.envelope(np.zeros(99), RATE, (2e3, 7e3)), "band must be ordered"),
        (lambda: order_tracking.spectral_line(np.zeros(9), RATE, 3.0, 2.0), "low and high must be ordered"),
    ],
)
def test_bad_arguments_are_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


@real
@pytest.mark.parametrize(
    ("number", "rpm"),
    [(3001, 1795.6), (3002, 1772.9), (3003, 1750.3), (3004, 1724.2), (105, 1797), (172, 1728)],
)
def test_shaft_speed_from_the_raw_line(number: int, rpm: float) -> None:
    assert FOLDER is not None
    signal = read_recording(FOLDER / f"{number}.mat").signal
    assert 60 * order_tracking.shaft_rate(signal, RATE) == pytest.approx(rpm, abs=1.1)


@real
@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: str(file.number))
def test_real_impacts_lie_in_the_events(file: RecordingFile) -> None:
    assert FOLDER is not None
    recording = read_recording(FOLDER / file.name)
    track = order_tracking.track(recording.signal, RATE, file.bearing.inner_race_order, recording.rpm)
    share = energy_share(track.envelope, track.events)
    height = line_height(track.envelope, RATE, track.passing_rate)
    assert track.events.mean() == pytest.approx(0.2, abs=0.002)
    if file.bearing is order_tracking.NTN:
        # Hardly impulsive (data README): the line is there, most of the energy is not in it.
        assert 0.23 < share < 0.26
        assert 10 < height < 25
    else:
        assert 0.5 < share < 0.65
        assert 74 < height < 300
