"""Spectra of tones, and of ringing that repeats."""

import numpy as np
import pytest

from crest._pages.spectra import LINES, amplitude_spectrum, envelope_spectrum

STEPS = np.arange(4096)


LINE = 1 / len(STEPS)


@pytest.mark.parametrize("frequency", [0.0025, 0.05, 0.2, 0.4])
def test_a_tone_is_where_it_is_with_its_own_size(frequency: float) -> None:
    found = amplitude_spectrum(7 + 2 * np.sin(2 * np.pi * frequency * STEPS))
    place = int(found.amplitudes.argmax())
    # To a line of the whole spectrum, whatever is drawn of it.
    assert found.places[place] * found.width == pytest.approx(frequency, abs=LINE)
    assert found.width == LINE
    assert found.amplitudes[place] == pytest.approx(2, rel=0.16)
    # The level of 7 is not in it, and little of a slow tone.
    assert found.amplitudes[0] < 0.1
    assert len(found.amplitudes) == len(found.places) <= LINES


def test_padding_does_not_count() -> None:
    tone = np.sin(2 * np.pi * 0.125 * np.arange(512))
    padded = np.concatenate([tone, np.full(300, np.nan)])
    np.testing.assert_array_equal(amplitude_spectrum(padded).amplitudes, amplitude_spectrum(tone).amplitudes)


def test_a_gap_does_not_join_its_ends() -> None:
    tone = np.sin(2 * np.pi * 0.01 * STEPS)
    gap = tone.copy()
    # Half a period: without these steps the second part would be out of phase with the first.
    gap[2000:2050] = np.nan
    whole, found = amplitude_spectrum(tone), amplitude_spectrum(gap)
    assert found.width == whole.width
    assert found.amplitudes.max() == pytest.approx(whole.amplitudes.max(), rel=0.05)
    assert found.places[found.amplitudes.argmax()] == whole.places[whole.amplitudes.argmax()]
    assert not amplitude_spectrum(np.full(9, np.nan)).amplitudes.any()


def test_impacts_repeat_in_the_envelope_and_not_in_the_spectrum() -> None:
    since = STEPS % 128
    found = envelope_spectrum(np.exp(-since / 10) * np.sin(2 * np.pi * 0.3 * since) + 5)
    assert found.places[found.amplitudes.argmax()] * found.width == pytest.approx(1 / 128, abs=LINE)
    # A slow wave, however loud, is not in it.
    slow = envelope_spectrum(10 * np.sin(2 * np.pi * 8 * STEPS / 4096))
    assert slow.amplitudes.max() < 0.05


def test_what_is_too_short_has_nothing() -> None:
    for of in (amplitude_spectrum, envelope_spectrum):
        assert not of([1.0, 2.0, np.nan]).amplitudes.any()
