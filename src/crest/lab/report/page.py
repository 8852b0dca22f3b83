"""The report as one HTML file that needs no server and no network. Needs jinja2 and plotly."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import jinja2
import markupsafe
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from crest.lab.evidence.shown import Piece, Verdict
from crest.lab.report.colours import COLOURS
from crest.lab.report.explored import explorer_data
from crest.lab.report.plotly_charts import plotly_figure
from crest.lab.runs.record import Record

VERDICTS: tuple[Verdict, ...] = ("holds", "partly", "does not hold", "not measured")


def page(pieces: Sequence[Piece], explored: Sequence[Record], *, title: str, intro: str = "") -> str:
    """The page: verdicts on all claims, the explorer, then piece by piece.

    Args:
        pieces: in their order on the page.
        explored: records with traces, for the explorer; empty for a page without one.
        title: its heading.
        intro: paragraphs under it, with an empty line between them.
    """
    repeated = [name for name, count in Counter(piece.name for piece in pieces).items() if count > 1]
    if repeated:
        raise ValueError(f"pieces must have a name of their own each, got {', '.join(repeated)} twice")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("crest.lab.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"data": _data, "slug": slug, "number": _number, "unbroken": _unbroken}
    claims = [(piece, claim) for piece in pieces for claim in piece.shown.claims]
    counts = Counter(claim.verdict for _, claim in claims)
    return environment.get_template("page.html.j2").render(
        title=title,
        intro=[part.strip() for part in intro.split("\n\n") if part.strip()],
        pieces=pieces,
        claims=claims,
        counts=[(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]],
        explorer=explorer_data(explored) if explored else None,
        colours=COLOURS,
        figure=plotly_figure,
        plotly=markupsafe.Markup(get_plotlyjs()),
        include=lambda name: _as_it_is(environment, name),
    )


def slug(text: str) -> str:
    """Words as part of an address.

    Example:
        >>> slug("does not hold")
        'does-not-hold'
    """
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")


def _data(value: Any) -> markupsafe.Markup:
    """The value as JSON. Text in it cannot end the script tag that surrounds it."""
    if isinstance(value, go.Figure):
        text: str = value.to_json()
    else:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return markupsafe.Markup(text.replace("<", "\\u003c"))


def _number(cell: str) -> bool:
    """Whether a cell of a table begins with a number. Such cells are aligned to the right."""
    return re.match("[-+\u2212±~<>≤≥]?\\s*[.\\d]", cell) is not None


def _unbroken(text: str) -> str:
    """The text with values and their spreads or units on one line."""
    return re.sub(" (± |%)", lambda found: found[0].replace(" ", "\u00a0"), text)


def _as_it_is(environment: jinja2.Environment, name: str) -> markupsafe.Markup:
    """A style sheet or script of ours, copied into the page. It is not read as a template."""
    if environment.loader is None:
        raise ValueError(f"environment must have a loader to read {name}")
    return markupsafe.Markup(environment.loader.get_source(environment, name)[0])
