"""A finding as one piece of HTML that stands alone: what notebooks show of an object. No script, no network, no package.

Text keeps the colour of the notebook around it, so that one form serves light and dark. What comes from outside is escaped.
"""

import html
import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

FindingMark: TypeAlias = Literal["good", "doubt", "bad"]
"""How a finding is meant: green, amber or red."""

MARKS: dict[FindingMark, str] = {"good": "#3E8E41", "doubt": "#C48400", "bad": "#D1434B"}
"""Each has a contrast of three or more with a white and with a dark background."""

# Sizes in pixels.
_WIDTH, _ROW, _BAR = 180, 18, 8


class IntervalBar(NamedTuple):
    """One row of a chart: a number with its interval."""

    name: str
    value: float
    low: float
    high: float
    strong: bool = False
    """Whether the row is one of those that decide."""


def finding(
    headline: str,
    mark: FindingMark,
    *,
    sentences: Sequence[str] = (),
    parts: Sequence[str] = (),
    todo: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """The whole piece: a mark and a headline, then sentences, tables and charts, what to do, and notes.

    Args:
        headline: the finding in a few words.
        mark: how it is meant.
        sentences: why.
        parts: HTML from `table` and `bars`.
        todo: what to do.
        notes: what was assumed; folded away.

    Example:
        >>> "&lt;b&gt; reads the events</p>" in finding("<b> reads the events", "good")
        True
    """
    dot = (
        f'<svg width="12" height="12" role="img" aria-label="{mark}"><circle cx="6" cy="6" r="6" '
        f'fill="{MARKS[mark]}"/></svg>'
    )
    lines = [
        '<div style="font-family: system-ui, sans-serif; line-height: 1.4; max-width: 50rem">',
        f'<p style="font-size: 1.1em; margin: 0.3em 0; font-weight: 600">{dot} {text(headline)}</p>',
    ]
    lines += [_list(sentences)] if sentences else []
    lines += parts
    lines += [f'<p style="margin: 0.5em 0 0"><b>What to do</b></p>{_list(todo)}'] if todo else []
    lines += [f"<details><summary>Assumed</summary>{_list(notes)}</details>"] if notes else []
    return "\n".join([*lines, "</div>"])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, the first column of which has names, and the others numbers as text.

    Example:
        >>> "<td" in table(["", "error"], [["as it is", "0.1"]])
        True
    """

    def row(tag: str, cells: Sequence[str]) -> str:
        style = "padding: 0.1em 0.7em; border-bottom: 1px solid rgba(128, 128, 128, 0.35); background: none"
        made = "".join(
            f'<{tag} style="{style}; text-align: {"right" if place else "left"}">{text(cell)}</{tag}>'
            for place, cell in enumerate(cells)
        )
        return f'<tr style="background: none">{made}</tr>'

    return (
        '<table style="border-collapse: collapse; margin: 0.5em 0; font-size: 0.9em">'
        f"<thead>{row('th', head)}</thead><tbody>{''.join(row('td', one) for one in rows)}</tbody></table>"
    )


def bars(title: str, rows: Sequence[IntervalBar], *, limit: float | None = None) -> str:
    """A chart of bars with their intervals as inline SVG; rows without a number are left out. "" if none has one.

    Args:
        title: what the bars are.
        rows: from the top.
        limit: a line, such as the value from which a verdict changes.

    Example:
        >>> bars("moves by", [IntervalBar("offset", 1.4, 1.2, 1.6)], limit=0.4).count("<rect")
        1
    """
    shown = [row for row in rows if math.isfinite(row.value)]
    if not shown:
        return ""
    ends = [end for row in shown for end in (row.value, row.high) if math.isfinite(end)]
    scale = _WIDTH / max(*ends, limit or 0.0, 1e-12)
    names = 8 * max(len(row.name) for row in shown) + 12
    height, width = _ROW * len(shown) + 4, names + _WIDTH + 130
    drawn = []
    for place, row in enumerate(shown):
        middle = _ROW * place + _ROW / 2 + 2
        colour = MARKS["bad" if limit is not None and row.strong and row.value >= limit else "good"]
        colour = colour if row.strong else "#808080"
        at = names + scale * max(row.value, 0.0)
        drawn.append(
            f'<text x="{names - 6}" y="{middle + 4}" text-anchor="end">{text(row.name)}</text>'
            f'<rect x="{names}" y="{middle - _BAR / 2}" width="{at - names:.1f}" height="{_BAR}" fill="{colour}"/>'
        )
        if math.isfinite(row.low) and math.isfinite(row.high):
            low, high = (names + scale * max(end, 0.0) for end in (row.low, row.high))
            drawn.append(
                f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" stroke="currentColor" stroke-width="1.5"/>'
            )
        drawn.append(
            f'<text x="{names + _WIDTH + 8}" y="{middle + 4}">{row.value:.2f} ({row.low:.2f} to {row.high:.2f})</text>'
        )
    if limit is not None:
        at = names + scale * limit
        drawn.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{height}" stroke="currentColor" stroke-dasharray="3 3"/>'
        )
    line = "" if limit is None else f"; dashed: the limit, {limit:g}"
    return (
        f'<p style="margin: 0.5em 0 0">{text(title)}{line}</p>'
        f'<svg width="{width}" height="{height}" role="img" aria-label="{text(title)}" font-size="12" '
        f'fill="currentColor" style="max-width: 100%">{"".join(drawn)}</svg>'
    )


def text(value: object) -> str:
    """A value as text of HTML: nothing in it is a tag, an entity or an attribute's end.

    Example:
        >>> text("<script>")
        '&lt;script&gt;'
    """
    return html.escape(str(value))


def _list(sentences: Sequence[str]) -> str:
    items = "".join(f"<li>{text(one)}</li>" for one in sentences)
    return f'<ul style="margin: 0.3em 0; padding-left: 1.4em">{items}</ul>'
