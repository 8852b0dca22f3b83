"""Target x condition as a table."""

from crest._pages.panels import MatrixCell
from crest._pages.tie_panel import tie_panel

CELLS = {
    "before": [[MatrixCell(text="1"), MatrixCell(text="2")]],
    "after": [[MatrixCell(text="3"), MatrixCell(text="4")]],
}


def test_a_table_for_each_model_with_the_names_as_they_are_given() -> None:
    panel = tie_panel("Tie", CELLS, targets=["7"], conditions=["slow", "fast"], caption="Words.")
    assert panel is not None
    assert (panel.title, panel.caption) == ("Tie", "Words.")
    assert [one.title for one in panel.matrices] == ["before", "after"]
    first = panel.matrices[0]
    assert (first.corner, first.across, first.columns) == ("target", "condition", ("slow", "fast"))
    assert [(name, [cell.text for cell in cells]) for name, cells in first.rows] == [("7", ["1", "2"])]


def test_a_table_that_is_too_large_is_not_drawn() -> None:
    row = [MatrixCell(text="1")] * 13
    names = list(map(str, range(13)))
    assert tie_panel("Tie", {"": [row]}, targets=["a"], conditions=names, caption="") is None
    assert tie_panel("Tie", {"": [[one] for one in row]}, targets=names, conditions=["a"], caption="") is None
    assert tie_panel("Tie", {"": [row[:12]]}, targets=["a"], conditions=names[:12], caption="") is not None
