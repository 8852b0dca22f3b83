"""Where a faulty inner race is struck: order tracking by the envelope's line at the race's passing frequency.

The masks serve probes and the supervised reference only; no label-free readout sees them.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.signal

from crest._base.arguments import require
from crest._base.floats import Floats

# Shaft speeds of the four loads lie between 1721 and 1797 rpm (data README), here with 1 % of room; Hz.
SHAFT_RANGE = (28.4, 30.3)
# Band of the housing's resonances that impacts ring at; our choice: docs/evidence/choices.md#cwru
BAND = (2000.0, 5000.0)
# Slip moves the passing frequency by less than this share of it; our choice: docs/evidence/choices.md#cwru
SLIP = 0.01
# Seconds over which the slip is taken as constant; our choice: docs/evidence/choices.md#cwru
BLOCK = 1.0
# Share of the time between two impacts that counts as event; our choice: docs/evidence/choices.md#cwru
EVENT_FRACTION = 0.2
# Hz between the points at which a line's top is sought: 0.06 rpm; our choice: docs/evidence/choices.md#cwru
RESOLUTION = 1e-3


class Bearing(NamedTuple):
    """A make of bearing and how often a ball passes one spot of its inner race, per turn of the shaft."""

    make: str
    inner_race_order: float


# Orders: the data README; SKF's follows from the 6205's geometry, NTN's was measured on the recordings.
SKF = Bearing("SKF", 5.4152)
NTN = Bearing("NTN", 5.320)


class Track(NamedTuple):
    """What order tracking found in one recording."""

    shaft_rate: float
    """Turns per second."""
    passing_rate: float
    """Impacts per second, as found in the envelope."""
    envelope: Floats
    """Envelope (T,) of the band-passed signal."""
    phase: Floats
    """Impacts passed at each step (T,), continuous; an integer where one is expected."""
    events: npt.NDArray[np.bool_]
    """Steps (T,) within half of the event fraction of an impact."""


def spectral_line(signal: Floats, sample_rate: float, low: float, high: float) -> float:
    """Frequency of the highest line between low and high, under a Hann window.

    Example:
        >>> time = np.arange(12000) / 1000.0
        >>> round(spectral_line(np.sin(2 * np.pi * 29.123 * time), 1000.0, 28.0, 31.0), 2)
        29.12
    """
    if not 0 < low < high < sample_rate / 2:
        raise ValueError(f"low and high must be ordered in (0, {sample_rate / 2}), got {low} and {high}")
    points = int(np.ceil((high - low) / RESOLUTION)) + 1
    windowed = (signal - signal.mean()) * np.hanning(len(signal))
    spectrum = scipy.signal.zoom_fft(windowed, [low, high], m=points, fs=sample_rate, endpoint=True)
    return float(np.linspace(low, high, points)[np.abs(spectrum).argmax()])


def shaft_rate(signal: Floats, sample_rate: float, rpm: float | None = None) -> float:
    """Turns per second: from the recorded rpm, or else from the raw signal's line at once per turn.

    Example:
        >>> shaft_rate(np.zeros(8), 12000.0, rpm=1800.0)
        30.0
    """
    if rpm is not None:
        return rpm / 60
    return spectral_line(signal, sample_rate, *SHAFT_RANGE)


def envelope(signal: Floats, sample_rate: float, band: tuple[float, float] = BAND) -> Floats:
    """Amplitude of the signal's part in the band, without delay: zero-phase band-pass, then Hilbert.

    Example:
        >>> tone = 3 * np.sin(2 * np.pi * 3000 * np.arange(4096) / 12000)
        >>> round(float(envelope(tone, 12000.0)[2000]), 2)
        3.0
    """
    if not 0 < band[0] < band[1] < sample_rate / 2:
        raise ValueError(f"band must be ordered in (0, {sample_rate / 2}) Hz, got {band}")
    sections = scipy.signal.butter(4, band, "bandpass", fs=sample_rate, output="sos")
    passed = scipy.signal.sosfiltfilt(sections, signal)
    # Some recordings have a length with large prime factors: the transform is padded, then cut back.
    analytic = scipy.signal.hilbert(passed, scipy.fft.next_fast_len(len(passed)))[: len(passed)]
    return np.asarray(np.abs(analytic))


def passing_phase(amplitude: Floats, sample_rate: float, rate: float, block: float = BLOCK) -> Floats:
    """Impacts passed at each step (T,): rate times time, plus the phase of the envelope's line in blocks.

    In each block (Hann, three quarters shared with the next) the line's phase is its least-squares one; in
    between it is interpolated, so that slow slip is followed. Integers lie on the line's crests.
    """
    steps = len(amplitude)
    width = min(int(block * sample_rate), steps)
    starts = np.arange(0, steps - width + 1, max(width // 4, 1))
    turning = np.exp(-2j * np.pi * rate * np.arange(steps) / sample_rate)
    rotated = (amplitude - amplitude.mean()) * turning
    window = np.hanning(width)
    angles = [np.angle(window @ rotated[start : start + width]) for start in starts]
    centres, drifts = starts + (width - 1) / 2, np.unwrap(angles)
    if len(starts) > 1:
        # Half a block at either end lies outside the centres: the slip there is continued as a line.
        early, late = (np.polyfit(centres[ends], drifts[ends], 1) for ends in (slice(0, 2), slice(-2, None)))
        drifts = np.concatenate([[np.polyval(early, 0)], drifts, [np.polyval(late, steps - 1)]])
        centres = np.concatenate([[0], centres, [steps - 1]])
    drift = np.interp(np.arange(steps), centres, drifts)
    # The envelope's crest is where rate t + drift is a whole number: the line is cos(2 pi rate t + drift).
    return rate * np.arange(steps) / sample_rate + drift / (2 * np.pi)


def event_mask(phase: Floats, fraction: float = EVENT_FRACTION) -> npt.NDArray[np.bool_]:
    """Steps within half of `fraction` of an impact.

    Example:
        >>> event_mask(np.array([0.0, 0.05, 0.25, 0.5, 0.95, 1.2]), 0.2).tolist()
        [True, True, False, False, True, False]
    """
    require("fraction", fraction, "lie in (0, 1)")
    return np.asarray(np.abs(phase - np.round(phase)) < fraction / 2)


def track(
    signal: Floats,
    sample_rate: float,
    order: float,
    rpm: float | None = None,
    fraction: float = EVENT_FRACTION,
) -> Track:
    """Shaft and passing rate, envelope, phase and event mask of one recording.

    Args:
        signal: Acceleration (T,).
        sample_rate: Hz.
        order: Impacts per turn, from the bearing's geometry.
        rpm: Shaft speed, if the recording has it.
        fraction: Share of the time between two impacts that counts as event.
    """
    turns = shaft_rate(signal, sample_rate, rpm)
    amplitude = envelope(signal, sample_rate)
    expected = order * turns
    rate = spectral_line(amplitude, sample_rate, (1 - SLIP) * expected, (1 + SLIP) * expected)
    phase = passing_phase(amplitude, sample_rate, rate)
    return Track(turns, rate, amplitude, phase, event_mask(phase, fraction))
