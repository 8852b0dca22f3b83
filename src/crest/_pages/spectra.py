"""Spectra of signals for the explorer: what is in them, and what their envelope repeats."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LINES = 400
"""Lines of a spectrum that are drawn at most; of each stretch the largest."""
# The envelope is of what is faster than this share of the highest frequency: below are drift, speed and its harmonics.
_FAST = 0.125


class Spectrum(NamedTuple):
    """Amplitudes, and at which lines of the whole spectrum they are."""

    width: float
    """From one line of the whole spectrum to the next, in steps^-1."""
    amplitudes: npt.NDArray[np.float64]
    places: npt.NDArray[np.int64]
    """Their lines: times `width` their frequencies."""


def amplitude_spectrum(signal: Sequence[float] | npt.NDArray[np.float64], lines: int = LINES) -> Spectrum:
    """Amplitudes of a signal without its mean, through a Hann window: a tone has its own size.

    NaN at the ends, which is padding, is left out; across NaN inside the signal goes on in a straight line.

    Example:
        >>> tone = 3 * np.sin(2 * np.pi * 0.125 * np.arange(512))
        >>> found = amplitude_spectrum(tone)
        >>> place = int(found.amplitudes.argmax())
        >>> round(float(found.amplitudes[place]), 2), round(float(found.places[place] * found.width), 3)
        (3.0, 0.125)
    """
    values = _valid(signal)
    if len(values) < 4:
        return _of_lines(np.zeros(2), 0.5, lines)
    window = np.hanning(len(values))
    found = 2 * np.abs(np.fft.rfft((values - values.mean()) * window)) / window.sum()
    return _of_lines(found, 1 / len(values), lines)


def envelope_spectrum(signal: Sequence[float] | npt.NDArray[np.float64], lines: int = LINES) -> Spectrum:
    """The spectrum of the size of what is fast: it shows how often impacts repeat. The lower quarter of frequencies has most of it.

    Example:
        >>> steps = np.arange(2048)
        >>> ringing = (1 + np.cos(2 * np.pi * steps / 64)) * np.sin(2 * np.pi * 0.3 * steps)
        >>> found = envelope_spectrum(ringing)
        >>> round(1 / float(found.places[found.amplitudes.argmax()] * found.width))
        64
    """
    values = _valid(signal)
    if len(values) < 8:
        return _of_lines(np.zeros(2), 0.5, lines)
    turned = np.fft.fft(values - values.mean())
    frequencies = np.fft.fftfreq(len(values))
    # Positive frequencies alone: the size of the analytic signal is the envelope.
    turned[frequencies < _FAST / 2] = 0
    found = amplitude_spectrum(np.abs(2 * np.fft.ifft(turned)), lines=len(values))
    return _of_lines(found.amplitudes[: len(found.amplitudes) // 4 + 1], found.width, lines)


def _valid(signal: Sequence[float] | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The signal without padding at its ends, and with straight lines across gaps."""
    values = np.asarray(signal, dtype=np.float64)
    there = np.flatnonzero(np.isfinite(values))
    if not len(there):
        return values[:0]
    return np.interp(np.arange(there[0], there[-1] + 1), there, values[there])


def _of_lines(amplitudes: npt.NDArray[np.float64], width: float, lines: int) -> Spectrum:
    """As many lines at most: of each stretch the largest, at its own place."""
    many = -(-len(amplitudes) // lines)
    # What is added at the end is below every amplitude, so it is no stretch's largest.
    stretches = np.pad(amplitudes, (0, -len(amplitudes) % many), constant_values=-1.0).reshape(-1, many)
    places = stretches.argmax(1) + many * np.arange(len(stretches))
    return Spectrum(width, amplitudes[places], places)
