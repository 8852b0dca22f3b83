"""Charts as plotly figures, for the page. Needs plotly."""

import math
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from crest._pages.colours import colour, faded
from crest.lab.evidence.shown import Chart, Mark, Panel
from crest.lab.report.axes import crowded, in_lines, lines_above, mark_is_late, words
from crest.lab.report.plotly_traces import TEXT, category, plain_text, series_traces

# Pixels. The page's script keeps a panel at its height, however much room the legend takes.
PANEL, GAP, TOP, BOTTOM = 280, 100, 48, 100
TITLE_LETTERS = 24
"""Letters in a line of a small panel's title."""
WORD = 22
"""Height of a word on the upright axis."""
LINE = 17
"""Height of each further line of such a word."""
LONG_TITLE = 40
"""Letters in a line of a title over a panel that is as wide as a narrow page."""
SLANTED = 56
"""Additional room below panels whose words are slanted."""
GRID = "rgba(128, 128, 128, 0.25)"
"""Readable on a light and on a dark page; the page's script replaces it by the page's own colour."""


def plotly_figure(chart: Chart, columns: int = 2, panel_height: int = PANEL) -> go.Figure:
    """The chart, as wide as its place.

    `layout.meta` holds changes of the layout for the page's script: "wide", as drawn, "middle", two panels to a row at
    most, and "narrow", one panel to a row. Beside them "panels", the height of all rows without margins, for each.

    Args:
        chart: what to draw.
        columns: how many panels are in a row where there is room.
        panel_height: in pixels; panels with many words on the upright axis are higher.
    """
    figure = go.Figure(layout=_layout(chart, columns, panel_height))
    named: set[str] = set()
    for number, panel in enumerate(chart.panels, start=1):
        suffix = "" if number == 1 else str(number)
        for series in panel.series:
            for trace in series_traces(series, panel, suffix, first=series.name not in named):
                figure.add_trace(trace)
            named.add(series.name)
        for mark in panel.marks:
            figure.add_shape(**_shape(mark, panel, suffix))
    return figure


def _layout(chart: Chart, columns: int, panel_height: int) -> dict[str, Any]:
    wide, middle, narrow = (
        _arrangement(chart, count, panel_height) for count in (columns, min(columns, 2), 1)
    )
    layout: dict[str, Any] = {
        "template": go.layout.Template(),
        "paper_bgcolor": "rgba(0, 0, 0, 0)",
        "plot_bgcolor": "rgba(0, 0, 0, 0)",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": TEXT},
        "margin": {"l": 64, "r": 12, "t": TOP, "b": BOTTOM},
        "legend": {
            "orientation": "h",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "x": 0,
            "xanchor": "left",
            "bgcolor": "rgba(0, 0, 0, 0)",
        },
        "showlegend": True,
        "barmode": "group",
        # Hollow points of single seeds stand where their bars would; lines stay where their numbers are.
        "scattermode": "group" if _bars_alone(chart) else "overlay",
        "scattergap": 0.25,
        "bargap": 0.25,
        "hovermode": "closest",
        "annotations": [],
        "meta": {"wide": wide, "middle": middle, "narrow": narrow},
        "height": wide["height"],
    }
    for number, panel in enumerate(chart.panels, start=1):
        suffix = "" if number == 1 else str(number)
        labels = [(panel.x_label, panel.log_x), (panel.y_label, panel.log_y)]
        for letter, (label, log) in zip("xy", labels[:: -1 if panel.horizontal else 1], strict=True):
            layout[f"{letter}axis{suffix}"] = {
                **_axis(label, log),
                "anchor": f"{'y' if letter == 'x' else 'x'}{suffix}",
                "domain": wide["change"][f"{letter}axis{suffix}.domain"],
            }
        if (categories := words(panel)) is not None:
            layout[f"{'y' if panel.horizontal else 'x'}axis{suffix}"] |= {
                "type": "category",
                "categoryorder": "array",
                "categoryarray": [category(word, panel) for word in categories],
                "showgrid": panel.horizontal,
                "tickangle": -30 if crowded(categories) and not panel.horizontal else 0,
                **({"autorange": "reversed", "dtick": 1} if panel.horizontal else {}),
            }
            if panel.horizontal:
                layout[f"xaxis{suffix}"]["zeroline"] = True
        layout["annotations"].append(_title(panel, suffix, TITLE_LETTERS if columns > 2 else LONG_TITLE))
    return layout


def _axis(label: str, log: bool) -> dict[str, Any]:
    scale = {"type": "log", "tickformat": "~g", "nticks": 3} if log else {}
    return {
        "title": {"text": plain_text(label), "standoff": 8, "font": {"size": 13}},
        "gridcolor": GRID,
        "linecolor": GRID,
        "showline": True,
        "zeroline": False,
        "automargin": True,
        **scale,
    }


def _title(panel: Panel, suffix: str, letters: int) -> dict[str, Any]:
    """The title over a panel, in lines of at most `letters` letters."""
    lines = in_lines(panel.title, letters)
    return {
        "text": f"<b>{'<br>'.join(plain_text(line) for line in lines)}</b>",
        "align": "left",
        "xref": f"x{suffix} domain",
        "yref": f"y{suffix} domain",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 6,
        "showarrow": False,
    }


def _bars_alone(chart: Chart) -> bool:
    return all(series.look == "bars" for panel in chart.panels for series in panel.series)


def _panel_height(panel: Panel, usual: int) -> int:
    if not panel.horizontal:
        return usual
    named = words(panel) or []
    # All words have the same room, so the one with the most lines decides.
    most = max((len(in_lines(word)) for word in named), default=1)
    return max(usual, (WORD + LINE * (most - 1)) * len(named))


def _arrangement(chart: Chart, columns: int, panel_height: int) -> dict[str, Any]:
    """The places of the panels with this many in a row, as a change of the layout, and the height that it needs."""
    columns = min(columns, len(chart.panels))
    rows = math.ceil(len(chart.panels) / columns)
    slanted = any(crowded(words(panel) or []) and not panel.horizontal for panel in chart.panels)
    gap = GAP + SLANTED * slanted
    tallest = max((_panel_height(panel, panel_height) for panel in chart.panels), default=panel_height)
    panels = rows * tallest + (rows - 1) * gap
    # Words on the upright axis need room beside the panel before.
    between = (
        0.0 if columns == 1 else 0.3 / columns if columns > 2 else 0.12 if not _upright_words(chart) else 0.22
    )
    width = (1 - between * (columns - 1)) / columns
    change = {}
    for number in range(len(chart.panels)):
        row, column = divmod(number, columns)
        suffix = "" if number == 0 else str(number + 1)
        left, top = column * (width + between), 1 - row * (tallest + gap) / panels
        change[f"xaxis{suffix}.domain"] = [left, min(left + width, 1.0)]
        change[f"yaxis{suffix}.domain"] = [max(top - tallest / panels, 0.0), top]
    return {"change": change, "panels": panels, "height": panels + TOP + BOTTOM + SLANTED * slanted}


def _upright_words(chart: Chart) -> bool:
    return any(panel.horizontal for panel in chart.panels)


def _shape(mark: Mark, panel: Panel, suffix: str) -> Mapping[str, Any]:
    across = "y" if mark.axis == "x" else "x"
    late = mark_is_late(mark, panel)
    shape: dict[str, Any] = {
        "layer": "below",
        f"{mark.axis}ref": f"{mark.axis}{suffix}",
        f"{across}ref": f"{across}{suffix} domain",
        f"{mark.axis}0": mark.at,
        f"{mark.axis}1": mark.at if mark.to is None else mark.to,
        f"{across}0": 0,
        f"{across}1": 1,
    }
    # Labels at the top edge stand one below the other: neighbours would run into each other.
    text = "<br>" * lines_above(mark, panel) + plain_text(mark.name)
    label = {"text": text, "font": {"size": 11, "color": colour(mark.colour)}, "textangle": 0}
    if mark.to is not None:
        place = "top left" if mark.axis == "y" or not late else "top right"
        return {
            **shape,
            "type": "rect",
            "line": {"width": 0},
            "fillcolor": faded(mark.colour, 0.15),
            "label": {**label, "textposition": place},
        }
    anchors = {"xanchor": "right" if late else "left", "yanchor": "top"}
    if mark.axis == "y":
        anchors = {"xanchor": "right", "yanchor": "top" if late else "bottom"}
    return {
        **shape,
        "type": "line",
        "line": {"color": colour(mark.colour), "width": 1.4, "dash": "dot"},
        "label": {**label, "textposition": "end", "padding": 3, **anchors},
    }
