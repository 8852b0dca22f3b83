"""`crest report`: the evidence on one page, from the records alone."""

# ruff: noqa: PLC0415

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from crest.lab.cli.console import TRIAL, console, print_json, words_aside
from crest.lab.cli.output import replaced_note, require_output
from crest.lab.cli.runs import (
    ELSEWHERE,
    RESULTS,
    ExperimentName,
    experiments,
    holds_trial,
    require_experiments,
)
from crest.lab.cli.wording import Behind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crest.lab.evidence.shown import Piece

Format = Literal["html", "md"]

VERDICT_STYLES = {"holds": "green", "partly": "yellow", "does not hold": "red", "not measured": "dim"}
TITLE = "crest: where pooled models read, and what re-anchoring them does"
INTRO = """
Seeds 0 to 9 are reported. The simulators' regimes were designed on development seeds with OOD errors in sight and frozen, with every constant,
before a reported seed was run; no OOD label of a reported seed chose a method, a constant or a checkpoint. The range of CREST's budget and its
pooling over batches came from prototypes whose OOD errors were visible, and were set again without. Exceptions: group DRO's step was settled on a
development seed after one reported run with another step; the severe settings were chosen for an error of seed 0; and the rule of the remedies was changed, for
what a development seed showed, when its results on reported seeds were known.
"""


def report(
    *names: Annotated[ExperimentName | str, Behind("name")],
    folder: Path = RESULTS,
    format: Format | None = None,  # noqa: A002
    output: Path | None = None,
    quick: bool = False,
    json: bool = False,
) -> None:
    """Write the evidence, or your own study: verdicts on claims, every table and figure, and an explorer. Trains nothing.

    Parameters
    ----------
    names
        Experiments of the catalog, or files of studies. Default: the whole catalog. `all` with files shows both on one page.
    folder
        Where the records are.
    format
        html: one page that opens offline and that a browser can print; md: tables and verdicts. Default: by the ending of the
        output, else html.
    output
        Where to write. Default: outputs/report with the format's ending, or outputs/trial for a trial.
    quick
        Report the trial that `crest run --quick` made. Its numbers mean nothing, so the report has no verdicts on them.
        `crest` recognises a folder that holds only trial runs.
    json
        Print the verdicts as JSON, beside the report.
    """
    words_aside(json)
    format = _format_of(format, output)  # noqa: A001
    require_experiments(names)

    from crest.lab.study_keys import ENDING

    # Nobody else has the records of a study of one's own.
    make = f"name another folder with --folder, or make them with `crest run {' '.join(names)}`"
    what_to_do = make if any(name.endswith(ENDING) for name in names) else ELSEWHERE
    if not folder.is_dir():
        raise ValueError(f"folder must have the records of runs, but {folder} is not a folder: {what_to_do}")

    from crest._base.files import whole_file
    from crest.lab.report import formats
    from crest.lab.runs.store import Store

    store = Store(folder)
    chosen = experiments(list(names), quick)
    if not quick and holds_trial(chosen, store.ids()):
        quick, chosen = True, experiments(list(names), quick=True)
    pieces = [one.piece(store) for one in chosen]
    own = [one for one in chosen if one.called]
    if not any(piece.found for piece in pieces):
        raise ValueError(
            f"folder must have records of {', '.join(names) or 'the catalog'}, got none in {folder}: {what_to_do}"
        )
    stem = "trial" if quick else "report"
    place = output or Path("outputs") / f"{stem}.{format}"
    place.parent.mkdir(parents=True, exist_ok=True)
    replaced = replaced_note(place)
    if format == "md":
        formats.write_markdown(pieces, place)
    else:
        from crest.lab.report.page import page

        traced = [spec for one in chosen for spec in one.runs if "traces" in spec.measures]
        explored = [store.record(spec) for spec in dict.fromkeys(traced) if spec.id in store]
        alone = len(own) == len(chosen)
        title = f"crest: {', '.join(one.name for one in own)}" if alone else TITLE
        content = page(
            pieces, explored, title=title, intro="" if alone else INTRO, note=TRIAL if quick else ""
        )
        with whole_file(place) as file:
            file.write(content.encode())
    studies = [piece for piece, one in zip(pieces, chosen, strict=True) if one.called]
    if json:
        print_json(
            {
                "report": place,
                "trial": quick,
                "claims": verdicts(pieces),
                "findings": {piece.name: piece.shown.headline for piece in studies},
                "studies": tables_of(studies),
            }
        )
    else:
        if len(own) < len(chosen):
            print_verdicts(pieces)
        print_tables(studies)
    if quick:
        console.print(TRIAL)
    console.print(f"Report: {place}{replaced}", markup=False)


def _format_of(format: Format | None, output: Path | None) -> Format:  # noqa: A002
    """The format that was asked for, or that the ending of the file asks for; a ValueError where they differ."""
    endings: dict[str, Format] = {".html": "html", ".md": "md"}
    if output is None:
        return format or "html"
    require_output("output", output, list(endings) if format is None else [f".{format}"])
    return endings[output.suffix.lower()]


def verdicts(pieces: "Sequence[Piece]") -> list[dict[str, str | int]]:
    """The claims as a script reads them: how each came out, and of how many runs."""
    return [
        {
            "evidence": piece.name,
            "found": piece.found,
            "declared": piece.declared,
            "claim": claim.text,
            "ours": claim.measured,
            "verdict": claim.verdict,
        }
        for piece in pieces
        for claim in piece.shown.claims
    ]


def tables_of(studies: "Sequence[Piece]") -> dict[str, dict[str, list[dict[str, str]]]]:
    """The tables of studies as a script reads them: rows by heading, by study and table."""
    return {
        piece.name: {
            table.name: [dict(zip(table.header, row, strict=True)) for row in table.rows]
            for table in piece.shown.tables
        }
        for piece in studies
    }


def print_tables(studies: "Sequence[Piece]") -> None:
    """What studies found, and their tables, each under its name."""
    from rich.table import Table

    for piece in studies:
        console.print(f"{piece.name}: {piece.shown.headline}", markup=False, soft_wrap=True)
        for table in piece.shown.tables:
            console.print(
                f"{piece.name}, {table.name} ({piece.found} of {piece.declared} runs)", markup=False
            )
            shown = Table(*table.header, box=None, pad_edge=False)
            for row in table.rows:
                shown.add_row(*row)
            console.print(shown, markup=False)


def print_verdicts(pieces: "Sequence[Piece]") -> None:
    """The claims with their verdicts; pieces that lack records say how many they have."""
    from rich.table import Table

    table = Table("evidence", "claim", "ours", "verdict", box=None, pad_edge=False)
    for piece in pieces:
        label = (
            piece.name if piece.found == piece.declared else f"{piece.name} ({piece.found}/{piece.declared})"
        )
        for claim in piece.shown.claims:
            style = VERDICT_STYLES[claim.verdict]
            table.add_row(label, claim.text, claim.measured, f"[{style}]{claim.verdict}[/{style}]")
    console.print(table)
