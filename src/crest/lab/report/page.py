"""The report as one HTML file that needs no server and no network. Needs jinja2 and plotly."""

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence

from crest._pages.environment import page_environment
from crest.lab.evidence.paper_claims import beyond, paper_rows
from crest.lab.evidence.shown import Chart, Claim, Piece, Table, Verdict
from crest.lab.report.explored import explorer_data
from crest.lab.report.glossary import GLOSSARY, term_id, with_terms
from crest.lab.report.lead import lead_of
from crest.lab.report.plotly_charts import plotly_figure
from crest.lab.report.told_claims import (
    bar_table,
    beyond_table,
    beyond_text,
    count_in_full,
    nearest_text,
    paper_table,
)
from crest.lab.runs.record import Record

LEAD_PANEL = 190
"""Pixels."""
CHAPTERS: dict[str, tuple[str, ...]] = {
    "On real recordings": ("field", "vibration", "cwru"),
    "The paper's tables and figures": (
        "teaser", "main", "cross", "dynamics", "isolation", "budget", "direction", "adaptive", "readouts", "baselines",
        "deletion", "theory", "splitting", "regimes", "severe", "nearest",
    ),
    "Remedies, audit and settings": ("remedies", "audit", "calibration", "convergence", "constants", "steady", "longer"),
}  # fmt: skip
"""Chapters of the page, and the pieces of each."""
FIRST_CHAPTER = "On real recordings"
"""What stands before the paper's claims."""
VERDICTS: tuple[Verdict, ...] = ("holds", "partly", "does not hold", "not measured")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chapter:
    """Pieces under one heading; without a title they stand alone."""

    title: str
    pieces: Sequence[Piece]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Paper:
    """The chapter of the paper's claims."""

    count: str
    nearest: str
    claims: Table
    bars: Table
    beyond_count: str
    beyond: Table


def page(
    pieces: Sequence[Piece], explored: Sequence[Record], *, title: str, intro: str = "", note: str = ""
) -> str:
    """The page: does it help, real recordings, the paper's claims, the explorer, then piece by piece.

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
        "plain": _plain,
    }
    lead = lead_of(pieces)
    claims = [(piece, claim) for piece in pieces for claim in piece.shown.claims]
    counts = Counter(claim.verdict for _, claim in claims)
    return environment.get_template("page.html.j2").render(
        title=title,
        intro=[part.strip() for part in intro.split("\n\n") if part.strip()],
        note=note,
        lead=lead,
        first=lead.first,
        # Studies beside other pieces open with their own screens.
        screens={
            piece.name: piece.shown.first for piece in pieces if piece.shown.first not in (None, lead.first)
        },
        glossary=GLOSSARY,
        chapters=chapters_of(pieces),
        pieces=pieces,
        claims=claims,
        paper=_paper(pieces),
        counts=[(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]],
        first_chapter=FIRST_CHAPTER,
        explorer=explorer_data(explored) if explored else None,
        figure=plotly_figure,
        # Four panels in a row, low enough that the explorer begins on the first screen.
        lead_figure=lambda chart: plotly_figure(chart, columns=4, panel_height=LEAD_PANEL),
        charts=lambda piece: _charts(piece, lead.picture),
    )


def chapters_of(pieces: Sequence[Piece]) -> list[Chapter]:
    """The pieces by chapter, in the order of the page; a study of one's own has none."""
    placed = {name for names in CHAPTERS.values() for name in names}
    own = [piece for piece in pieces if piece.name not in placed]
    chapters = [
        Chapter(title=title, pieces=there)
        for title, names in CHAPTERS.items()
        if (there := [piece for name in names for piece in pieces if piece.name == name])
    ]
    return [*chapters, *([Chapter(title="", pieces=own)] if own else [])]


def _paper(pieces: Sequence[Piece]) -> Paper | None:
    by_name = {piece.name: piece for piece in pieces}
    rows = paper_rows(by_name)
    if not rows:
        return None
    return Paper(
        count=count_in_full(rows),
        nearest=nearest_text(by_name).replace("**", ""),
        claims=paper_table(rows),
        bars=bar_table(rows),
        beyond_count=beyond_text(by_name),
        beyond=beyond_table(beyond(by_name)),
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


def _plain(cell: str) -> str:
    """A cell without the marks of Markdown."""
    return cell.replace("`", "").replace("**", "")


def _unbroken(text: str) -> str:
    """The text with values and their spreads or units on one line."""
    return re.sub(" (± |%)", lambda found: found[0].replace(" ", "\u00a0"), text)
