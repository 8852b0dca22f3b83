import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crest.recordings.time_axis import (
    counts_samples,
    rate_of_times,
    rises_evenly,
    same_rate,
    seconds_by_name,
)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        *((name, 1.0) for name in ("time", "T [s]", "t", "Timestamp", "seconds", "Zeit (s)", "elapsed time", " TIME_s ")),
        *((name, 1e-3) for name in ("time_ms", "t[ms]", "ms", "milliseconds", "Time / ms")),
        *((name, 1e-6) for name in ("time (µs)", "t_us", "timestamp-micros")),
        ("timestamp_ns", 1e-9),
        ("time (min)", 60.0),
        *((name, None) for name in ("T", "s", "min", "h", "x", "", "torque", "response time", "time constant", "ms1")),
    ],
)  # fmt: skip
def test_names_say_what_they_mean(name: str, unit: float | None) -> None:
    assert seconds_by_name(name) == unit


@given(
    st.sampled_from([1, 8, 50, 300, 1000, 12_000, 44_100]),
    st.integers(3, 400),
    st.sampled_from([1.0, 1e-3]),
    st.sampled_from([0.0, 7.25]),
)
def test_printed_times_tell_the_rate(rate: int, count: int, unit: float, start: float) -> None:
    """Six decimals of a second, as a program prints them."""
    times = (start + np.arange(count) / rate) / unit
    assert same_rate(rate_of_times(times, unit, "t"), rate)
    printed = np.round(start + np.arange(count) / rate, 6)
    assert rate_of_times(printed, 1.0, "t") == pytest.approx(rate, rel=0.1 / count)


def test_the_rate_has_the_digits_that_the_times_carry() -> None:
    assert rate_of_times(np.round(np.arange(100) / 12_000, 6), 1.0, "t") == 12_000
    assert rate_of_times(np.arange(500) / 12_207.03, 1.0, "t") == 12_207.03
    assert rate_of_times(1.7e9 + np.arange(1000) / 1000, 1.0, "t") == 1000


@pytest.mark.parametrize(
    ("times", "reason"),
    [
        ([0, 1, 2, 4, 5, 6], "must rise by equal steps, got 2 from sample 2 to 3 where 1 is usual"),
        ([0, 1, 2, 2, 3, 4], "got 0 from sample 2 to 3"),
        ([0, 1, 2, 0, 1, 2], "got -2 from sample 2 to 3"),
        ([0, 1, 3, 4, 6, 7, 8], "got 2 from sample 1 to 2 where 1 is usual; 2 such steps"),
        ([3, 2, 1], "got -1 from sample 0 to 1"),
        ([1, 1, 1], "must rise by steps that have a rate"),
        ([0, np.nan, 2], "must be finite, got nan at sample 1"),
        ([0], "must have at least 2 samples, got 1"),
        ([-1.7e308, 1.7e308], "equal steps"),
    ],
)
def test_uneven_times_are_refused_where_they_are_uneven(times: list[float], reason: str) -> None:
    with pytest.raises(ValueError, match=f"its time column 'clock' .*{reason}"):
        rate_of_times(np.array(times, dtype=np.float64), 1.0, "'clock'")


@pytest.mark.parametrize("usual", [1.0, 0.25])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_step_may_differ_by_half_of_the_usual_one(usual: float, sign: int) -> None:
    """Both sides of the tolerance: docs/evidence/choices.md#time-column."""
    for share, even in ((0.49, True), (0.5, True), (0.51, False)):
        steps = np.full(20, usual)
        steps[7] += sign * share * usual
        times = np.concatenate([[0.0], np.cumsum(steps)])
        if even:
            # The digits that such times can tell.
            assert rate_of_times(times, 1.0, "t") == pytest.approx(1 / usual, rel=0.06)
        else:
            with pytest.raises(ValueError, match=r"must rise by equal steps, got .* from sample 7 to 8"):
                rate_of_times(times, 1.0, "t")


@pytest.mark.parametrize(("share", "even"), [(0.09, True), (0.11, False), (-0.09, True), (-0.11, False)])
def test_a_column_may_leave_its_line_by_a_tenth_of_a_step(share: float, even: bool) -> None:
    for step in (1.0, 0.01):
        column = step * np.arange(20)
        column[7] += share * step
        assert rises_evenly(column) is even
    assert rises_evenly(np.arange(8.0))
    assert not rises_evenly(np.arange(7.0))


@pytest.mark.parametrize(("ratio", "same"), [(1.0009, True), (1.0011, False)])
def test_rates_within_a_thousandth_are_one(ratio: float, same: bool) -> None:
    assert same_rate(1000.0, 1000.0 * ratio) is same_rate(1000.0 * ratio, 1000.0) is same


def test_jitter_is_not_uneven() -> None:
    times = np.arange(1000) + np.random.default_rng(0).uniform(-0.1, 0.1, 1000)
    assert rate_of_times(times, 1e-3, "t") == pytest.approx(1000, rel=1e-3)
    assert not rises_evenly(times)


def test_a_line_upwards_rises_evenly_and_a_signal_does_not() -> None:
    draws = np.random.default_rng(0)
    assert rises_evenly(np.round(np.arange(100) / 12_000, 6))
    for other in (
        draws.normal(size=50),
        np.ones(50),
        -np.arange(50.0),
        np.arange(7.0),
        np.arange(50.0) ** 1.1,
    ):
        assert not rises_evenly(other)
    assert not rises_evenly(np.array([0.0, np.inf] * 5))
    assert counts_samples(np.arange(3, 9))
    assert not counts_samples(0.5 + np.arange(9))
