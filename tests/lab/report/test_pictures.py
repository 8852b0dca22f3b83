import dataclasses
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from crest._pages.colours import COLOURS, SYMBOLS
from crest.lab.evidence.shown import Chart
from crest.lab.report.pictures import MARKERS, picture
from report_made import bar_panel, chart, line_panel


def legend_words(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_lines_keep_numbers_colours_and_spreads() -> None:
    figure = picture(chart(panels=(line_panel(log_x=True, log_y=True),)))
    axes = figure.axes[0]
    line = axes.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), [16, 64, 256])
    np.testing.assert_array_equal(line.get_ydata(), [0.5, 0.4, 0.3])
    assert to_hex(line.get_color()) == COLOURS["crest"].lower()
    upright = axes.collections[0].get_segments()[1]
    np.testing.assert_allclose(upright[:, 1], [0.35, 0.45])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert {"chance", "trained", "\ndefault"} <= {text.get_text() for text in axes.texts}


def test_bars_stand_side_by_side_on_their_words() -> None:
    axes = picture(chart(panels=(bar_panel(),))).axes[0]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == [0.1, 0.2, 0.6, 0.25]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["mean", "crest"]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    assert ends[0][1] == pytest.approx(ends[2][0])
    assert ends[2][1] < ends[1][0]


def test_panels_wrap_and_names_come_once_in_the_legend() -> None:
    figure = picture(chart(panels=(line_panel("a"), line_panel("b"), bar_panel("c"))))
    places = [axes.get_subplotspec().get_geometry()[:2] for axes in figure.axes]
    assert places[0] == (2, 2)
    assert [axes.get_visible() for axes in figure.axes] == [True, True, True, False]
    assert legend_words(figure) == ["crest", "law", "seeds", "ID", "OOD"]


def test_every_symbol_has_a_letter() -> None:
    assert set(SYMBOLS.values()) <= set(MARKERS)


def test_dollars_are_no_formulas(tmp_path: Path) -> None:
    shown = chart(panels=(line_panel("costs $1 and $2_"),))
    picture(dataclasses.replace(shown, caption="$x_$ {")).savefig(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").stat().st_size > 5_000


def test_a_chart_without_series_can_be_drawn() -> None:
    empty = Chart(name="empty", caption="Nothing yet.", panels=(line_panel(series=(), marks=()),))
    assert not picture(empty).legends
