"""The report as one HTML file that needs no server and no network. Needs jinja2 and plotly."""

import re
from collections import Counter
from collections.abc import Sequence

from crest.lab.evidence.shown import Piece, Verdict
from crest.lab.report.explored import explorer_data
from crest.lab.report.plotly_charts import plotly_figure
from crest.lab.runs.record import Record
from crest.pages.environment import page_environment

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
    environment = page_environment()
    environment.filters |= {"slug": slug, "number": _number, "unbroken": _unbroken}
    claims = [(piece, claim) for piece in pieces for claim in piece.shown.claims]
    counts = Counter(claim.verdict for _, claim in claims)
    return environment.get_template("page.html.j2").render(
        title=title,
        intro=[part.strip() for part in intro.split("\n\n") if part.strip()],
        pieces=pieces,
        claims=claims,
        counts=[(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]],
        explorer=explorer_data(explored) if explored else None,
        figure=plotly_figure,
    )


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
