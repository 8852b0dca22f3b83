"""What both ways of drawing a chart need to know about the axes of a panel."""

import math
import textwrap
from collections.abc import Sequence

from crest.lab.evidence.shown import Mark, Panel, Series


def words(panel: Panel) -> list[str] | None:
    """The words along an axis of words, in their order; None for an axis of numbers.

    The numbers below bars count as words too, so that all bars are equally wide and equally far apart.

    Example:
        >>> bars = Series(name="", x=[8, 64], y=[1.0, 2.0], look="bars")
        >>> words(Panel(title="", x_label="", y_label="", series=(bars,)))
        ['8', '64']
    """
    all_numbers = all(not isinstance(x, str) for series in panel.series for x in series.x)
    if all_numbers and all(series.look != "bars" for series in panel.series):
        return None
    return list(dict.fromkeys(word for series in panel.series for word in places(series)))


def places(series: Series) -> list[str]:
    """The x of a series as words."""
    return [x if isinstance(x, str) else f"{x:.6g}" for x in series.x]


LETTERS = 24
"""In a line of a word on the upright axis: more would leave a narrow page without room for bars."""


def in_lines(word: str, letters: int = LETTERS) -> list[str]:
    """A long name in lines, broken at spaces and after colons, and inside of a word that is too long itself.

    Example:
        >>> in_lines("attention (MLP) + exchange of surroundings"), in_lines("my_encoder.py:make_encoder")
        (['attention (MLP) +', 'exchange of surroundings'], ['my_encoder.py:', 'make_encoder'])
    """
    # The mark says which spaces are ours.
    lines = textwrap.wrap(word.replace(":", ":\x1f "), letters, break_on_hyphens=False)
    return [line.replace("\x1f ", "").removesuffix("\x1f") for line in lines] or [word]


def crowded(categories: Sequence[str]) -> bool:
    """Whether these words would overlap under a panel of half a page if they were not slanted."""
    return sum(len(word) for word in categories) > 32


def lines_above(mark: Mark, panel: Panel) -> int:
    """How many labels are above the label of a mark on x: those of the marks before it."""
    along = [other for other in panel.marks if other.axis == "x"]
    return along.index(mark) if mark in along else 0


def mark_is_late(mark: Mark, panel: Panel) -> bool:
    """Whether a mark is in the second half of its axis. Its label is then placed before it instead of after it.

    Example:
        >>> line = Series(name="", x=[0, 10], y=[0.0, 1.0])
        >>> panel = Panel(title="", x_label="", y_label="", series=(line,))
        >>> [mark_is_late(Mark(name="", axis="x", at=at), panel) for at in (2, 8)]
        [False, True]
    """
    log = panel.log_x if mark.axis == "x" else panel.log_y
    values = [
        float(value)
        for series in panel.series
        for value in (series.x if mark.axis == "x" else series.y)
        if not isinstance(value, str)
    ]
    values = [value for value in [*values, mark.at] if math.isfinite(value) and (value > 0 or not log)]
    if not values or (log and mark.at <= 0):
        return False
    least, most, at = min(values), max(values), mark.at
    if log:
        least, most, at = math.log(least), math.log(most), math.log(at)
    return at > (least + most) / 2
