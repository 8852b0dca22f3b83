"""Places in a picture."""

import math

import pytest

from crest._pages.drawing import Scale, band_path, dot_path, line_path, scale_of


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.3), (-2.0, 3.0), (1e-4, 3e-4), (0.0, 7e6), (-0.51, 0.49)])
def test_ticks_are_few_round_and_on_the_scale(low: float, high: float) -> None:
    ticks = Scale(low, high).ticks
    assert 2 <= len(ticks) <= 6
    assert all(low - 1e-9 * abs(high) <= value <= high * (1 + 1e-9) for value, _ in ticks)
    assert len({text for _, text in ticks}) == len(ticks)
    for value, text in ticks:
        assert float(text.replace("−", "-")) == pytest.approx(value, rel=0.1, abs=1e-9 * high)


def test_a_step_of_a_quarter_is_written_with_its_digits() -> None:
    assert [text for _, text in Scale(0.0, 1.0).ticks] == ["0", "0.25", "0.50", "0.75", "1.00"]


def test_a_number_beyond_is_at_the_end() -> None:
    assert (Scale(0.0, 1.0).at(5.0), Scale(0.0, 1.0).at(-5.0)) == (1.0, 0.0)
    assert Scale(0.0, 3.0).percent(1.0) == 33.33


def test_a_scale_holds_all_with_room_and_knows_nothing_of_what_is_not_there() -> None:
    scale = scale_of([1.0, None, math.nan, math.inf, 3.0])
    assert 0.5 < scale.low < 1.0
    assert 3.0 < scale.high < 3.5
    assert scale_of([], from_zero=True).high > 0
    assert scale_of([0.2], least=1.0, from_zero=True).high == pytest.approx(1.04)
    assert scale_of([0.0]).low < 0.0 < scale_of([0.0]).high


def test_a_long_line_keeps_its_peaks_and_its_gaps() -> None:
    values: list[float | None] = [0.0] * 10_000
    values[4321] = 1.0
    values[7000:7100] = [None] * 100
    path = line_path(values, Scale(0.0, 1.0))
    assert len(path) < 12_000
    assert "432 0L" in path
    assert path.count("M") == 2


def test_a_line_that_is_short_is_drawn_step_by_step() -> None:
    assert line_path([0.0, math.nan, 1.0], Scale(0.0, 1.0)) == "M0 1000M1000 0"
    assert line_path([0.5], Scale(0.0, 1.0)) == "M0 500"
    assert dot_path(0.5, 0.0) == "M500 1000h0"


def test_bands_are_seen_however_long_the_line_and_joined_where_they_touch() -> None:
    assert band_path([]) == band_path([False] * 9) == ""
    assert band_path([True] * 3) == "M0 0H1000V1000H0z"
    assert band_path([True, False, False, True]) == "M0 0H167V1000H0zM833 0H1000V1000H833z"
    # A single step of a hundred thousand is a unit wide.
    flags = [False] * 100_000
    flags[50_050] = flags[50_060] = True
    assert band_path(flags) == "M500 0H501V1000H500z"
