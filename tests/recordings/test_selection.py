from pathlib import Path

import numpy as np
import pytest

from crest.recordings.selection import (
    ColumnSelection,
    Content,
    chosen_columns,
    planned,
)
from crest.recordings.signal_files import read_signal

COUNT = 12
TIMES = np.arange(COUNT) / 200
NOISE = np.random.default_rng(0).normal(size=(COUNT, 2))
NAMED = ("time", "x", "y")


def both() -> np.ndarray:
    return np.column_stack([TIMES, NOISE])


def test_a_time_column_gives_the_rate_and_is_no_channel() -> None:
    found = chosen_columns(Content(both(), names=NAMED), ColumnSelection())
    assert (found.sample_rate, found.channels, found.time) == (200.0, ("x", "y"), "'time'")
    np.testing.assert_array_equal(found.samples, NOISE)


def test_a_name_may_stand_anywhere_and_say_milliseconds() -> None:
    array = np.column_stack([NOISE, TIMES * 1000])
    found = chosen_columns(Content(array, names=("x", "y", "t_ms")), ColumnSelection())
    assert found.sample_rate == 200
    np.testing.assert_array_equal(found.samples, NOISE)


def test_without_a_name_the_first_column_is_the_time_by_its_steps() -> None:
    found = chosen_columns(Content(both()), ColumnSelection())
    assert (found.sample_rate, found.channels, found.time) == (200.0, None, "0")
    assert found.samples.shape == (COUNT, 2)
    # Not where it is elsewhere, where two columns rise, where there is one column only, or where somebody says so.
    for array, selection in (
        (both()[:, ::-1], ColumnSelection()),
        (np.column_stack([TIMES, TIMES * 3]), ColumnSelection()),
        (TIMES, ColumnSelection()),
        (both(), ColumnSelection(time=False)),
        (both(), ColumnSelection(columns=(0, 1))),
    ):
        assert chosen_columns(Content(array), selection).sample_rate is None


def test_a_counter_is_not_taken_for_seconds() -> None:
    array = np.column_stack([np.arange(COUNT), NOISE])
    with pytest.raises(ValueError, match=r"time must say what the first column is .* time=0 .* time=False"):
        chosen_columns(Content(array), ColumnSelection())
    assert chosen_columns(Content(array), ColumnSelection(time=0)).sample_rate == 1
    assert chosen_columns(Content(array), ColumnSelection(time=False)).samples.shape == (COUNT, 3)
    assert chosen_columns(Content(array), ColumnSelection(columns=(1, 2))).sample_rate is None


def test_columns_are_chosen_by_name_or_number_in_their_order() -> None:
    for columns in (("y", "x"), (2, 1), ("2", "x")):
        found = chosen_columns(Content(both(), names=NAMED), ColumnSelection(columns=columns))
        assert (found.sample_rate, found.channels) == (200.0, ("y", "x"))
        np.testing.assert_array_equal(found.samples, NOISE[:, ::-1])
    # The time is a channel where it is asked for as one.
    found = chosen_columns(Content(both(), names=NAMED), ColumnSelection(columns=("time",)))
    assert (found.sample_rate, found.channels) == (None, ("time",))


@pytest.mark.parametrize(
    ("names", "selection", "reason"),
    [
        (("time",), ColumnSelection(), "it must have a channel, got only the time column 'time'"),
        (("time", "t_ms", "x"), ColumnSelection(), "time must say which .* if there are several, got 'time' and 't_ms'"),
        (NAMED, ColumnSelection(columns=("z",)), "columns must name a column of the file, got 'z'; it has time, x, y"),
        (NAMED, ColumnSelection(time="z"), "time must name a column of the file, got 'z'; it has time, x, y"),
        (NAMED, ColumnSelection(columns=(3,)), "columns must be numbers below 3, got 3; the file has 3 columns: time"),
        (NAMED, ColumnSelection(columns=("x",), time="x"), "columns must not have the time column, got 'x' in both"),
        (("x", "x"), ColumnSelection(columns=("x",)), "got 'x'; it has x, x several times"),
        (None, ColumnSelection(columns=("x",)), "columns must be numbers if the file does not name its columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_is_refused(
    names: tuple[str, ...] | None, selection: ColumnSelection, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        planned(selection, names, 3 if names is None else len(names))


def test_of_two_time_columns_one_is_named_and_neither_is_a_channel() -> None:
    plan = planned(ColumnSelection(time="t_ms"), ("time", "t_ms", "x"), 3)
    assert (plan.channels, plan.time) == ((2,), 1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"columns": []}, r"columns must be a list of names or numbers, got \[\]"),
        ({"columns": "x"}, "columns must be a list of names or numbers, got 'x'"),
        ({"columns": [-1]}, "columns must be a whole number, 0 or more, got -1"),
        ({"columns": [True]}, "columns must be a whole number, 0 or more, got True"),
        ({"columns": [1, 1]}, "columns must not repeat one"),
        ({"time": -1}, "time must be a whole number, 0 or more, got -1"),
    ],
)
def test_wrong_arguments_are_named(tmp_path: Path, options: dict, reason: str) -> None:
    np.save(tmp_path / "a.npy", both())
    with pytest.raises(ValueError, match=reason):
        read_signal(tmp_path / "a.npy", **options)


@pytest.mark.unchecked
def test_an_array_is_no_name_of_a_column() -> None:
    with pytest.raises(ValueError, match=r"columns must be a list of names or numbers, got \[array\(0\)\]"):
        ColumnSelection.checked(None, [np.array(0)], True, None)
