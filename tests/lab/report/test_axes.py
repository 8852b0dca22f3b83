import math

import pytest

from crest.lab.evidence.shown import Mark, Panel, Series
from crest.lab.report.axes import LETTERS, crowded, in_lines, lines_above, mark_is_late, places, words


def panel(*series: Series, marks: tuple[Mark, ...] = (), log_x: bool = False) -> Panel:
    return Panel(title="", x_label="", y_label="", series=series, marks=marks, log_x=log_x)


def line(*x: float) -> Series:
    return Series(name="a", x=list(x), y=[1.0] * len(x))


def bars(*x: str) -> Series:
    return Series(name="a", x=list(x), y=[1.0] * len(x), look="bars")


def at(x: float) -> Mark:
    return Mark(name="here", axis="x", at=x)


def test_an_axis_of_numbers_has_no_words() -> None:
    assert words(panel(line(1, 2), line(3))) is None


def test_words_come_once_each_in_the_order_of_the_series() -> None:
    assert words(panel(bars("mean", "CREST"), bars("CREST", "max"))) == ["mean", "CREST", "max"]
    # One series of words makes the whole axis one of words.
    assert words(panel(line(1, 2.5), bars("3"))) == ["1", "2.5", "3"]


def test_numbers_as_words_are_short() -> None:
    assert places(line(8, 0.1, 1 / 3)) == ["8", "0.1", "0.333333"]


def test_words_are_crowded_by_their_letters_not_by_their_number() -> None:
    assert not crowded(["a"] * 32)
    assert crowded(["a"] * 33)
    assert crowded(["a" * 20, "b" * 20])


def test_labels_of_marks_stand_one_below_the_other() -> None:
    marks = (at(1), Mark(name="level", axis="y", at=3), at(2))
    shown = panel(line(0, 4), marks=marks)
    assert [lines_above(mark, shown) for mark in marks] == [0, 0, 1]


@pytest.mark.parametrize(("log", "late"), [(False, False), (True, True)])
def test_the_middle_of_a_logarithmic_axis_is_further_left(log: bool, late: bool) -> None:
    assert mark_is_late(at(20), panel(line(1, 100), log_x=log)) is late


def test_marks_that_no_axis_can_show_are_not_late() -> None:
    assert not mark_is_late(at(0), panel(line(1, 100), log_x=True))
    assert not mark_is_late(at(5), panel(Series(name="a", x=[math.nan], y=[1.0])))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("CREST", ["CREST"]),
        ("a:b", ["a:b"]),
        ("attention (MLP) + re-anchored", ["attention (MLP) +", "re-anchored"]),
        ("my_encoder.py:make_an_encoder", ["my_encoder.py:", "make_an_encoder"]),
        ("x" * 30, ["x" * LETTERS, "x" * 6]),
        ("", [""]),
    ],
)
def test_a_long_name_is_broken_where_it_reads_best(name: str, lines: list[str]) -> None:
    assert in_lines(name) == lines
