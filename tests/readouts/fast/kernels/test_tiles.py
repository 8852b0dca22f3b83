import numpy as np
import pytest

from crest.readouts.fast.kernels.lanes import LANES, put
from crest.readouts.fast.kernels.tiles import channels, compiled, first_valid


@compiled
def read(series, index, width):
    spare, out = np.zeros(LANES, series.dtype), np.empty(LANES, series.dtype)
    put(out, 0, channels(series, index, width, spare))
    return out


@pytest.mark.parametrize("width", [1, 5, 8])
def test_a_narrow_tile_has_zeros_beyond_its_channels(width: int) -> None:
    series = np.arange(1.0, 21.0)
    expected = np.zeros(LANES)
    expected[:width] = series[3 : 3 + width]
    np.testing.assert_array_equal(read(series, 3, width), expected)


def test_the_first_valid_step_is_found_and_none_is_behind_the_last() -> None:
    valid = np.array([False, False, True, False])
    assert first_valid(valid, True, 4) == 2
    assert first_valid(valid[:2], True, 2) == 2
    assert first_valid(valid, False, 4) == 0
