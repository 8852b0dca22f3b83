"""Charts as matplotlib figures, for the pictures of README and manual; the page draws its own. Needs matplotlib."""

import math
import textwrap
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import LogFormatter

from crest._pages.colours import COLOURS, SYMBOLS, colour
from crest.lab.evidence.shown import Chart, Mark, Panel, Series
from crest.lab.report.axes import crowded, lines_above, mark_is_late, places, words

INK, QUIET = "#1B1F24", COLOURS["quiet"]
MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
}
"""matplotlib's letters for plotly's words."""


def picture(chart: Chart) -> Figure:
    """The chart, at most two panels to a row, with its caption above."""
    columns = min(2, len(chart.panels))
    rows = math.ceil(len(chart.panels) / columns)
    width = 6.4 if columns == 1 else 9.6
    caption = _wrapped(chart.caption, width, 10)
    height = 3.3 * rows + 0.2 * caption.count("\n") + 0.8
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, panel in zip(grid, chart.panels, strict=False):
        _draw(axes, panel)
    for axes in grid[len(chart.panels) :]:
        axes.set_visible(False)
    figure.suptitle(caption, x=0.01, ha="left", fontsize=10, color=INK)
    _legend(figure, width)
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    categories = words(panel)
    if categories is not None:
        slant: dict[str, Any] = {}
        if crowded(categories):
            slant = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
        axes.set_xticks(range(len(categories)), [_plain(word) for word in categories], **slant)
    bars = [series for series in panel.series if series.look == "bars"]
    for series in panel.series:
        x = (
            [float(value) for value in series.x]
            if categories is None
            else [float(categories.index(word)) for word in places(series)]
        )
        if series.look == "bars":
            _bars(axes, series, x, bars.index(series), len(bars))
        else:
            _line(axes, series, x)
    for mark in panel.marks:
        _mark(axes, mark, panel)
    _dressed(axes, panel, categories)


def _dressed(axes: Axes, panel: Panel, categories: list[str] | None) -> None:
    """Scales, title, labels and grid."""
    if panel.log_x and categories is None:
        axes.set_xscale("log", nonpositive="clip")
        _number_ticks(axes.xaxis)
    if panel.log_y:
        axes.set_yscale("log", nonpositive="clip")
        _number_ticks(axes.yaxis)
    axes.set_title(_plain(panel.title), loc="left", fontsize=10, fontweight="bold", color=INK)
    axes.set_xlabel(_plain(panel.x_label), fontsize=9)
    axes.set_ylabel(_plain(panel.y_label), fontsize=9)
    axes.tick_params(which="both", labelsize=8, color=QUIET)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#E3E6E9", lw=0.6)
    axes.set_axisbelow(True)


def _number_ticks(axis: Axis) -> None:
    """Write plain numbers on a logarithmic axis, and only the powers of ten if there are enough of them."""
    axis.set_major_formatter(LogFormatter())
    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.2, 0.5)))


def _bars(axes: Axes, series: Series, x: list[float], place: int, count: int) -> None:
    width = 0.75 / count
    centres = [value + (place - (count - 1) / 2) * width for value in x]
    ink = colour(series.colour)
    # A single seed is a hollow point: a bar would look like a mean.
    counts = series.counts or [2] * len(x)
    solid = [value if seeds > 1 else 0.0 for value, seeds in zip(series.y, counts, strict=True)]
    axes.bar(centres, solid, width, color=ink, label=_plain(series.name))
    for centre, value, seeds in zip(centres, series.y, counts, strict=True):
        if seeds == 1:
            shape = MARKERS[SYMBOLS.get(series.colour, "circle")]
            axes.plot(centre, value, shape, color=ink, mfc="white", markersize=6)
            axes.annotate("n=1", (centre, value), (0, 5), textcoords="offset points", ha="center", fontsize=7)
    if series.spread is not None and any(series.spread):
        axes.errorbar(
            centres,
            list(series.y),
            yerr=[spread or float("nan") for spread in series.spread],
            fmt="none",
            ecolor=INK,
            elinewidth=0.9,
            capsize=2,
        )


def _line(axes: Axes, series: Series, x: list[float]) -> None:
    with_points = series.look == "points" or (series.look == "line" and len(x) <= 16)
    axes.errorbar(
        x,
        list(series.y),
        yerr=None if series.spread is None else [spread or float("nan") for spread in series.spread],
        color=colour(series.colour),
        linestyle={"line": "-", "dashed": "--", "points": "none"}[series.look],
        marker=MARKERS[SYMBOLS.get(series.colour, "circle")] if with_points else "none",
        markersize=5,
        lw=1.6,
        elinewidth=0.9,
        capsize=2,
        label=_plain(series.name),
    )


def _mark(axes: Axes, mark: Mark, panel: Panel) -> None:
    ink, late, along_x = colour(mark.colour), mark_is_late(mark, panel), mark.axis == "x"
    if mark.to is not None:
        (axes.axvspan if along_x else axes.axhspan)(mark.at, mark.to, color=ink, alpha=0.15, lw=0)
    else:
        (axes.axvline if along_x else axes.axhline)(mark.at, color=ink, lw=1.2, ls=":")
    # One coordinate is measured from the edge of the panel, the other from the mark.
    if along_x:
        place, offset, across = (mark.at, 0.99), (-3 if late else 3, 0), axes.get_xaxis_transform()
    else:
        place, offset, across = (0.99, mark.at), (0, -2 if late else 2), axes.get_yaxis_transform()
    axes.annotate(
        "\n" * lines_above(mark, panel) + _plain(mark.name),
        place,
        offset,
        xycoords=across,
        textcoords="offset points",
        fontsize=8,
        color=ink,
        ha="left" if along_x and not late else "right",
        va="top" if along_x or late else "bottom",
    )


def _legend(figure: Figure, width: float) -> None:
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if not entries:
        return
    widest = max(_inches(label, 9) for label in entries) + 0.6
    columns = max(1, min(len(entries), int(width / widest)))
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=9,
    )


def _inches(text: str, size: float) -> float:
    """Width of a line of bold text."""
    if not text.strip():
        return 0.0
    path = TextPath((0, 0), _plain(text), size=size, prop=FontProperties(weight="bold"))
    return float(path.get_extents().width) / 72


def _wrapped(text: str, width: float, size: float) -> str:
    """The text broken into lines that fit a figure of this width in inches. A letter is about half as wide as high."""
    return _plain("\n".join(textwrap.wrap(text, int((width - 0.3) * 72 / (0.56 * size)))))


def _plain(text: str) -> str:
    """The text with its dollars escaped, because matplotlib reads formulas between dollars."""
    return text.replace("$", r"\$")
