"""The report as one HTML file that needs no server and no network. Needs jinja2 and plotly."""

import re
from collections import Counter
from collections.abc import Sequence

from crest._pages.environment import page_environment
from crest.lab.evidence.shown import Chart, Claim, Piece, Verdict
from crest.lab.report.explored import explorer_data
from crest.lab.report.glossary import GLOSSARY, term_id, with_terms
from crest.lab.report.lead import lead_of
from crest.lab.report.plotly_charts import plotly_figure
from crest.lab.runs.record import Record

LEAD_PANEL = 190
"""Pixels."""
VERDICTS: tuple[Verdict, ...] = ("holds", "partly", "does not hold", "not measured")


def page(
    pieces: Sequence[Piece], explored: Sequence[Record], *, title: str, intro: str = "", note: str = ""
) -> str:
    """The page: a sentence, three numbers and a picture, the explorer, verdicts on all claims, then piece by piece.

    Args:
        pieces: in their order on the page.
        explored: records with traces, for the explorer; empty for a page without one.
        title: its heading.
        intro: paragraphs on how the evidence was made, with an empty line between them.
        note: a warning above everything else.
    """
    repeated = [name for name, count in Counter(piece.name for piece in pieces).items() if count > 1]
    if repeated:
        raise ValueError(f"pieces must have a name of their own each, got {', '.join(repeated)} twice")
    environment = page_environment()
    environment.filters |= {
        "slug": slug,
        "number": _number,
        "unbroken": _unbroken,
        "terms": with_terms,
        "term_id": term_id,
        "counted": _counted,
    }
    lead = lead_of(pieces)
    claims = [(piece, claim) for piece in pieces for claim in piece.shown.claims]
    counts = Counter(claim.verdict for _, claim in claims)
    return environment.get_template("page.html.j2").render(
        title=title,
        intro=[part.strip() for part in intro.split("\n\n") if part.strip()],
        note=note,
        lead=lead,
        glossary=GLOSSARY,
        pieces=pieces,
        claims=claims,
        counts=[(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]],
        explorer=explorer_data(explored) if explored else None,
        figure=plotly_figure,
        # Four panels in a row, low enough that the explorer begins on the first screen.
        lead_figure=lambda chart: plotly_figure(chart, columns=4, panel_height=LEAD_PANEL),
        charts=lambda piece: _charts(piece, lead.picture),
    )


def _charts(piece: Piece, lead: Chart | None) -> list[Chart]:
    """The charts of a piece, without the one that the page begins with."""
    return [chart for chart in piece.shown.charts if chart is not lead]


def _counted(claims: Sequence[Claim]) -> str:
    """How many claims have which verdict, in words."""
    counts = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def slug(text: str) -> str:
    """Words as part of an address.

    Example:
        >>> slug("does not hold")
        'does-not-hold'
    """
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")


def _number(cell: str) -> bool:
    """Whether a cell of a table begins with a number. Such cells are aligned to the right."""
    return re.match("[-+\u2212±~<>≤≥]?\\s*[.\\d]", cell) is not None


def _unbroken(text: str) -> str:
    """The text with values and their spreads or units on one line."""
    return re.sub(" (± |%)", lambda found: found[0].replace(" ", "\u00a0"), text)
