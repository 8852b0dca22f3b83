"""Charts as plotly figures, for the page. Needs plotly."""

import html
import math
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from crest.lab.evidence.shown import Chart, Mark, Panel, Series
from crest.lab.report.axes import crowded, lines_above, mark_is_late, places, words
from crest.pages.colours import SYMBOLS, colour, faded

# Pixels. The page's script keeps a panel at its height, however much room the legend takes.
PANEL, GAP, TOP, BOTTOM = 280, 100, 34, 100
SLANTED = 56
"""Additional room below panels whose words are slanted."""
TEXT, GRID = "#808080", "rgba(128, 128, 128, 0.25)"
"""Readable on a light and on a dark page; the page's script replaces them by the page's own colours."""


def plotly_figure(chart: Chart) -> go.Figure:
    """The chart, two panels to a row, as wide as its place.

    `layout.meta` holds two changes of the layout for the page's script: "wide", as drawn, and "narrow", one
    panel to a row. Beside them "panels", the height of all rows without margins, for each.
    """
    figure = go.Figure(layout=_layout(chart))
    named: set[str] = set()
    for number, panel in enumerate(chart.panels, start=1):
        suffix = "" if number == 1 else str(number)
        for series in panel.series:
            figure.add_trace(_trace(series, panel, suffix, first=series.name not in named))
            named.add(series.name)
        for mark in panel.marks:
            figure.add_shape(**_shape(mark, panel, suffix))
    return figure


def _layout(chart: Chart) -> dict[str, Any]:
    wide, narrow = (_arrangement(chart, columns) for columns in (2, 1))
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
        "bargap": 0.25,
        "hovermode": "closest",
        "annotations": [],
        "meta": {"wide": wide, "narrow": narrow},
        "height": wide["height"],
    }
    for number, panel in enumerate(chart.panels, start=1):
        suffix = "" if number == 1 else str(number)
        for letter, label, log in (("x", panel.x_label, panel.log_x), ("y", panel.y_label, panel.log_y)):
            layout[f"{letter}axis{suffix}"] = {
                **_axis(label, log),
                "anchor": f"{'y' if letter == 'x' else 'x'}{suffix}",
                "domain": wide["change"][f"{letter}axis{suffix}.domain"],
            }
        if (categories := words(panel)) is not None:
            layout[f"xaxis{suffix}"] |= {
                "type": "category",
                "categoryorder": "array",
                "categoryarray": [_text(word) for word in categories],
                "showgrid": False,
                "tickangle": -30 if crowded(categories) else 0,
            }
        layout["annotations"].append(_title(panel, suffix))
    return layout


def _axis(label: str, log: bool) -> dict[str, Any]:
    scale = {"type": "log", "tickformat": "~g", "nticks": 3} if log else {}
    return {
        "title": {"text": _text(label), "standoff": 8, "font": {"size": 13}},
        "gridcolor": GRID,
        "linecolor": GRID,
        "showline": True,
        "zeroline": False,
        "automargin": True,
        **scale,
    }


def _title(panel: Panel, suffix: str) -> dict[str, Any]:
    return {
        "text": f"<b>{_text(panel.title)}</b>",
        "xref": f"x{suffix} domain",
        "yref": f"y{suffix} domain",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 6,
        "showarrow": False,
    }


def _arrangement(chart: Chart, columns: int) -> dict[str, Any]:
    """The places of the panels with this many in a row, as a change of the layout, and the height that it needs."""
    columns = min(columns, len(chart.panels))
    rows = math.ceil(len(chart.panels) / columns)
    slanted = any(crowded(words(panel) or []) for panel in chart.panels)
    gap = GAP + SLANTED * slanted
    panels = rows * PANEL + (rows - 1) * gap
    between = 0.12 if columns > 1 else 0.0
    width = (1 - between * (columns - 1)) / columns
    change = {}
    for number in range(len(chart.panels)):
        row, column = divmod(number, columns)
        suffix = "" if number == 0 else str(number + 1)
        left, top = column * (width + between), 1 - row * (PANEL + gap) / panels
        change[f"xaxis{suffix}.domain"] = [left, min(left + width, 1.0)]
        change[f"yaxis{suffix}.domain"] = [max(top - PANEL / panels, 0.0), top]
    return {"change": change, "panels": panels, "height": panels + TOP + BOTTOM + SLANTED * slanted}


def _trace(series: Series, panel: Panel, suffix: str, *, first: bool) -> Any:
    ink = colour(series.colour)
    x = [_text(word) for word in places(series)] if words(panel) is not None else list(series.x)
    common: dict[str, Any] = {
        "name": _text(series.name),
        "legendgroup": series.name,
        "showlegend": first,
        "x": x,
        "y": [float(value) for value in series.y],
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "hovertext": _hover(series, panel),
        "hoverinfo": "text",
    }
    if series.spread is not None:
        spread = [float(value) for value in series.spread]
        common["error_y"] = {"type": "data", "array": spread, "color": ink, "thickness": 1.2, "width": 3}
    if series.look == "bars":
        if series.spread is not None:
            common["error_y"]["color"] = TEXT
        return go.Bar(**common, marker={"color": ink})
    marker = {"color": ink, "symbol": SYMBOLS.get(series.colour, "circle"), "size": 7}
    mode = "markers" if series.look == "points" else "lines+markers" if _sparse(series) else "lines"
    dash = "dash" if series.look == "dashed" else "solid"
    return go.Scatter(**common, mode=mode, marker=marker, line={"color": ink, "width": 2, "dash": dash})


def _sparse(series: Series) -> bool:
    """Whether there are few enough points that their symbols leave the line visible."""
    return series.look == "line" and len(series.x) <= 16


def _hover(series: Series, panel: Panel) -> list[str]:
    texts = []
    for place, (x, y) in enumerate(zip(places(series), series.y, strict=True)):
        value = f"{y:.4g}" if series.spread is None else f"{y:.4g} ± {series.spread[place]:.2g}"
        lines = [f"<b>{_text(series.name)}</b>", f"{_text(panel.x_label)}: {_text(x)}"]
        lines.append(f"{_text(panel.y_label)}: {value}")
        if series.hover is not None:
            lines.append(_text(series.hover[place]))
        texts.append("<br>".join(lines))
    return texts


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
    text = "<br>" * lines_above(mark, panel) + _text(mark.name)
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


def _text(text: str) -> str:
    """The text with its tags escaped, because plotly would interpret some of them."""
    return html.escape(text, quote=False)
