"""Pieces as Markdown."""

import re
from collections.abc import Sequence
from pathlib import Path

from crest._base.files import whole_file
from crest.lab.evidence.shown import Piece, Table

VERDICT_HEADER = ("claim", "paper", "ours", "seeds", "p", "smallest p", "verdict", "evidence")


def write_markdown(pieces: Sequence[Piece], path: Path) -> None:
    """Write the verdicts and all pieces to one Markdown file."""
    text = "\n".join([*_verdicts(pieces), *(markdown(piece) for piece in pieces)])
    with whole_file(path) as file:
        file.write(text.encode())


def markdown(piece: Piece) -> str:
    """The piece as a section: the finding of a study, claims, tables, the names of its charts, notes."""
    runs = f"{piece.found} of {piece.declared} runs"
    parts = [
        f"## {piece.evidence}: {piece.name}\n",
        f"{piece.summary}\n",
        f"{runs if piece.found >= piece.declared else f'**Incomplete: {runs}**'}; `{piece.command}`\n",
        *([f"**{piece.shown.headline}**\n"] if piece.shown.headline else []),
        *_verdicts([piece]),
        *(table_markdown(table) for table in piece.shown.tables),
        *(f"Chart `{chart.name}` (on the page): {chart.caption}\n" for chart in piece.shown.charts),
        *(f"{note}\n" for note in piece.shown.notes),
    ]
    return "\n".join(parts)


def table_markdown(table: Table) -> str:
    r"""The table with its caption above, numbers to the right.

    Example:
        >>> print(table_markdown(Table(name="t", caption="Credit.", header=("by", "|E|"), rows=(("mean", "0.1"),))))
        Credit.
        <BLANKLINE>
        | by | \|E\| |
        | --- | ---: |
        | mean | 0.1 |
        <BLANKLINE>
    """
    ends = [
        "---:" if column and all(re.match(r"\W?\s*\d|^$|^—$", row[column]) for row in table.rows) else "---"
        for column in range(len(table.header))
    ]
    rows = [_row(table.header), _row(ends), *(_row(row) for row in table.rows)]
    return "\n".join([table.caption, "", *rows, ""])


def verdict_table(pieces: Sequence[Piece]) -> Table | None:
    """The claims of all pieces beside what was measured; None without a claim."""
    rows = [
        (
            claim.text,
            claim.paper,
            (claim.measured or "—") + (f" (holds if {claim.bar})" if claim.bar else ""),
            "—" if claim.seeds is None else str(claim.seeds),
            "—" if claim.p is None else f"{claim.p:.2g}",
            "—" if claim.smallest_p is None else f"{claim.smallest_p:.2g}",
            claim.verdict,
            piece.evidence,
        )
        for piece in pieces
        for claim in piece.shown.claims
    ]
    caption = "Claims of the paper beside what was measured here."
    return Table(name="verdicts", caption=caption, header=VERDICT_HEADER, rows=tuple(rows)) if rows else None


def _verdicts(pieces: Sequence[Piece]) -> list[str]:
    table = verdict_table(pieces)
    return [] if table is None else [table_markdown(table)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"\s*\n\s*", " ", cell).replace("|", r"\|") for cell in cells) + " |"
