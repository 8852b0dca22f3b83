"""Series as plotly traces, for the page. Needs plotly."""

import dataclasses
import html
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from crest._pages.colours import SYMBOLS, colour
from crest.lab.evidence.shown import Panel, Series
from crest.lab.report.axes import in_lines, places, words

TEXT = "#808080"
"""Readable on a light and on a dark page; the page's script replaces it by the page's own colour."""
DENSE = 100
"""Points beyond which they have no text of their own: it would be most of the page."""


def series_traces(series: Series, panel: Panel, suffix: str, *, first: bool) -> list[Any]:
    """The series as traces: bars and lines of several seeds, hollow points of single ones beside them."""
    single = [count == 1 for count in series.counts or ()]
    if not any(single):
        return [_trace(series, panel, suffix, first=first)]
    many = [place for place, alone in enumerate(single) if not alone]
    traces = []
    # A line goes on through a single seed; a bar has none.
    if series.look in ("line", "dashed") or many:
        kept = list(range(len(single))) if series.look in ("line", "dashed") else many
        traces.append(_trace(_at(series, kept), panel, suffix, first=first))
    if series.look in ("bars", "points"):
        alone = _at(series, [place for place, one in enumerate(single) if one])
        traces.append(_single_seeds(alone, panel, suffix, first=first and not many))
    return traces


def _at(series: Series, kept: Sequence[int]) -> Series:
    """The series at some of its places."""
    parts: dict[str, Any] = {
        name: [values[place] for place in kept]
        for name in ("x", "y", "spread", "counts", "hover")
        if (values := getattr(series, name)) is not None
    }
    return dataclasses.replace(series, **parts)


def _single_seeds(series: Series, panel: Panel, suffix: str, *, first: bool) -> Any:
    trace = _trace(
        dataclasses.replace(series, spread=None, look="points"), panel, suffix, first=first, grouped=True
    )
    symbol = f"{SYMBOLS.get(series.colour, 'circle')}-open"
    trace.update(mode="markers", marker={"symbol": symbol, "size": 9, "line": {"width": 2}})
    # One word for all of them if there are many: the caption and the box beside the pointer say it too.
    if len(series.x) <= 12 and not panel.horizontal:
        trace.update(mode="markers+text", text=["n=1"] * len(series.x), textposition="top center")
        trace.update(textfont={"size": 10})
    return trace


def _trace(series: Series, panel: Panel, suffix: str, *, first: bool, grouped: bool = False) -> Any:
    ink = colour(series.colour)
    named = words(panel) is not None
    x = [category(word, panel) for word in places(series)] if named else list(series.x)
    y = [_short(value) for value in series.y]
    common: dict[str, Any] = {
        "name": plain_text(series.name),
        "legendgroup": series.name,
        "showlegend": first,
        "x": y if panel.horizontal else x,
        "y": x if panel.horizontal else y,
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        **_told(series, panel),
    }
    bars = series.look == "bars"
    if bars or grouped:
        common |= {"offsetgroup": series.name, "orientation": "h" if panel.horizontal else "v"}
    if series.spread is not None and any(series.spread):
        # Without a standard deviation there is no whisker: a cap of length zero would look like certainty.
        spread = [_short(value) if value else None for value in series.spread]
        whisker = "error_x" if panel.horizontal else "error_y"
        common[whisker] = {"type": "data", "array": spread, "thickness": 1.2, "width": 3}
        common[whisker]["color"] = TEXT if bars else ink
    if bars:
        return go.Bar(**common, marker={"color": ink})
    lone = series.look == "points" and len(series.x) == 1 and not grouped
    marker = {
        "color": ink,
        "symbol": "star" if lone else SYMBOLS.get(series.colour, "circle"),
        "size": 13 if lone else 7,
    }
    mode = "markers" if series.look == "points" else "lines+markers" if _sparse(series) else "lines"
    dash = "dash" if series.look == "dashed" else "solid"
    return go.Scatter(**common, mode=mode, marker=marker, line={"color": ink, "width": 2, "dash": dash})


def _sparse(series: Series) -> bool:
    """Whether there are few enough points that their symbols leave the line visible."""
    return series.look == "line" and len(series.x) <= 16


def _short(value: float) -> float:
    """Five significant digits: finer than a pixel."""
    return float(f"{value:.5g}")


def _told(series: Series, panel: Panel) -> dict[str, Any]:
    """What the box beside the pointer says: a text for each point, or one form for all if there are many."""
    if series.hover is None and series.spread is None and len(series.x) > DENSE:
        form = f"<b>{plain_text(series.name)}</b><br>{plain_text(panel.x_label)}: %{{x}}<br>{plain_text(panel.y_label)}: %{{y:.4g}}"
        return {"hovertemplate": f"{form}<extra></extra>"}
    return {"hovertext": _hover(series, panel), "hoverinfo": "text"}


def _hover(series: Series, panel: Panel) -> list[str]:
    texts = []
    for place, (x, y) in enumerate(zip(places(series), series.y, strict=True)):
        value = f"{y:.4g}"
        if series.spread is not None and series.spread[place]:
            value += f" ± {series.spread[place]:.2g}"
        lines = [f"<b>{plain_text(series.name)}</b>", f"{plain_text(panel.x_label)}: {plain_text(x)}"]
        lines.append(f"{plain_text(panel.y_label)}: {value}")
        if series.counts is not None:
            lines.append("one seed" if series.counts[place] == 1 else f"{series.counts[place]} seeds")
        if series.hover is not None:
            lines.append(plain_text(series.hover[place]))
        texts.append("<br>".join(lines))
    return texts


def category(word: str, panel: Panel) -> str:
    """A word along an axis as plotly shows it; on the upright axis, a long one in lines."""
    return "<br>".join(plain_text(line) for line in (in_lines(word) if panel.horizontal else [word]))


def plain_text(text: str) -> str:
    """The text with its tags escaped, because plotly would interpret some of them."""
    return html.escape(text, quote=False)
