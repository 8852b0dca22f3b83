"""`crest report`: the evidence on one page, from the records alone."""

# ruff: noqa: PLC0415

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from crest.cli.console import TRIAL, console
from crest.cli.runs import RESULTS, experiments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crest.report.shown import Piece

Format = Literal["html", "md", "pdf", "png"]

VERDICT_STYLES = {"holds": "green", "partly": "yellow", "does not hold": "red", "not measured": "dim"}
TITLE = "crest: where pooled models read, and what re-anchoring them does"
INTRO = (
    "Every table and figure of the paper, measured here. Seeds 0 to 9 are reported. The simulators' regimes were "
    "designed on development seeds with OOD errors in sight and frozen, with every constant, before a reported seed was "
    "run; no OOD label of a reported seed chose a method, a constant or a checkpoint. Two exceptions: the range of "
    "CREST's budget and its pooling over batches come from prototypes whose OOD errors were visible, and group DRO's "
    "step was settled on a development seed after one reported run with another step. Where a claim does not hold here, "
    "its number stands all the same."
)


def report(
    *names: str,
    folder: Path = RESULTS,
    format: Format = "html",  # noqa: A002
    output: Path | None = None,
    quick: bool = False,
) -> None:
    """Write the evidence: verdicts on the paper's claims, every table and figure, and an explorer. Trains nothing.

    Parameters
    ----------
    names
        Experiments of the catalog; all of them unless given.
    folder
        Where the records are.
    format
        html: one page that opens offline; md and pdf: one file; png: a folder of pictures.
    output
        Where to write; outputs/report with the format's ending unless given.
    quick
        Of the trial, whose numbers mean nothing.
    """
    from crest.experiments.store import Store
    from crest.files import whole_file
    from crest.report import formats

    if not folder.is_dir():
        raise ValueError(f"folder must have the records of runs, but {folder} does not exist")
    store = Store(folder)
    chosen = experiments(list(names), quick)
    pieces = [one.piece(store) for one in chosen]
    if not any(piece.found for piece in pieces):
        raise ValueError(
            f"folder must have records of {', '.join(names) or 'the catalog'}, got none in {folder}"
        )
    place = output or Path("outputs") / ("report" if format == "png" else f"report.{format}")
    place.parent.mkdir(parents=True, exist_ok=True)
    if format == "md":
        formats.write_markdown(pieces, place)
    elif format == "pdf":
        formats.write_pdf(pieces, place)
    elif format == "png":
        formats.write_png(pieces, place)
    else:
        from crest.report.page import page

        ids = [spec.id for one in chosen for spec in one.runs if "traces" in spec.measures]
        explored = [store.read(name) for name in dict.fromkeys(ids) if name in store]
        intro = f"{TRIAL}\n\n{INTRO}" if quick else INTRO
        with whole_file(place) as file:
            file.write(page(pieces, explored, title=TITLE, intro=intro).encode())
    print_verdicts(pieces)
    if quick:
        console.print(TRIAL)
    console.print(f"Report: {place}", markup=False)


def print_verdicts(pieces: "Sequence[Piece]") -> None:
    """The claims with their verdicts, and how many records each piece has."""
    from rich.table import Table

    table = Table("evidence", "records", "claim", "paper", "ours", "verdict", box=None, pad_edge=False)
    for piece in pieces:
        counts = f"{piece.found}/{piece.declared}"
        for claim in piece.shown.claims:
            style = VERDICT_STYLES[claim.verdict]
            table.add_row(
                piece.name,
                counts,
                claim.text,
                claim.paper,
                claim.measured + (f" (holds if {claim.bar})" if claim.bar and claim.measured else ""),
                f"[{style}]{claim.verdict}[/{style}]",
            )
        if not piece.shown.claims:
            table.add_row(piece.name, counts, "", "", "", "")
    console.print(table)
