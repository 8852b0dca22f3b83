"""What README and manual show of the records, made by `make pictures`. A test fails when it is stale."""

import dataclasses
import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PIL import Image

from crest.lab.evidence import CATALOG
from crest.lab.evidence.shown import Chart, Piece, Table
from crest.lab.evidence.stats import Number
from crest.lab.report.formats import table_markdown
from crest.lab.report.pictures import picture
from crest.lab.report.told_claims import claims_that, first_claims
from crest.lab.runs.store import Store

Pieces = Mapping[str, Piece]
"""What the catalog shows of some records, by the name of the experiment."""

FOUR = ("SG-Drive, pointwise", "Impact, pointwise", "SG-Drive, GRU", "CWRU, pointwise")
"""Rows of the README's table: the two places where CREST helps on ten seeds, and of those where it does not the
two with the most seeds."""
ABOUT_EVEN = 5
"""A change of the OOD error below this, in percent, is no help: the bar of the limitations in the evidence too."""
PICTURES = {
    "docs/teaser.png": ("teaser", "teaser"),
    "docs/cross.png": ("cross", "cross"),
    "docs/convergence.png": ("convergence", "convergence"),
    "docs/shares.png": ("remedies", "shares"),
}
"""Files, and the chart of each: an experiment of the catalog, and the chart's name."""
MADE_FROM = "Made from"
"""The picture's metadata entry that identifies the values it shows. Pixels cannot: they differ between machines."""


# -- tables


def place_table(pieces: Pieces, chosen: Sequence[str] | None = None) -> str:
    """CREST against attention in these places (system and encoder), or in all, as a table."""
    table = _table(pieces, "cross", "cross")
    there = {row["system, encoder"]: row for row in _rows(table)}
    lines = []
    for place in chosen or tuple(there):
        if place not in there:
            raise _missing(pieces["cross"])
        row = there[place]
        system, encoder = place.split(", ")
        lines.append(
            (
                system,
                encoder,
                f"{_mean(row['ID, attention'])} / {_mean(row['OOD, attention'])}",
                f"{_mean(row['ID, CREST'])} / {_mean(row['OOD, CREST'])}",
                _change(row["ΔOOD"]),
                f"{row['lower on'].replace('/', ' of ')} seeds",
            )
        )
    header = ("system", "encoder", "attention, ID / OOD", "CREST, ID / OOD", "CREST is", "OOD lower on")
    return _markdown(header, lines)


def regimes_without_help(pieces: Pieces) -> str:
    """The simulators' regimes in which CREST does not lower the OOD error by 5 % or more, as a table."""
    lines = [
        (
            row["system"],
            f"`{row['regime'].removesuffix(' (outside)')}`",
            f"{row['ID, attention']} / {row['OOD, attention']}",
            f"{row['ID, CREST']} / {row['OOD, CREST']}",
            row["ΔOOD"],
        )
        for row in _rows(_table(pieces, "regimes", "regimes"))
        # A regime whose runs are missing has no change.
        if isinstance(change := row["ΔOOD"], Number) and _percent(change) > -ABOUT_EVEN
    ]
    header = ("system", "regime", "attention, ID / OOD", "CREST, ID / OOD", "change of the OOD error")
    return _markdown(header, lines)


def held_load(pieces: Pieces) -> str:
    """The errors on the bearings' held load, readers of the level alone beside the readouts, as a table."""
    lines = [
        (row["readout"].removesuffix(" *"), row["ID"], row["OOD"], _mean(row["seeds"], 0))
        for row in _rows(_table(pieces, "cwru", "cwru"))
        if row["split"] == "held load"
    ]
    return _markdown(("reader", "ID", "OOD", "seeds"), lines)


def remedies_by_place(pieces: Pieces) -> str:
    """ID and OOD error of every remedy with every system and encoder, as a table; * what the rule picks."""
    cells: dict[str, dict[str, str]] = {}
    for name in ("remedies", "elsewhere"):
        for row in _rows(_table(pieces, "remedies", name)):
            star = "*" if row["remedy"].endswith(" *") else ""
            errors = f"{_mean(row['ID'])} / {_mean(row['OOD'])}{star}"
            cells.setdefault(row["system, encoder"], {})[row["remedy"].removesuffix(" *")] = errors
    if not cells:
        raise _missing(pieces["remedies"])
    remedies = tuple(next(iter(cells.values())))
    lines = [(place, *(there[name] for name in remedies)) for place, there in cells.items()]
    return _markdown(("system, encoder", *remedies), lines)


def picks_by_place(pieces: Pieces) -> str:
    """What the rule picks for an ordinary encoder, what that does to plain attention, and what the best would, as a table."""
    lines = []
    for row in _rows(_table(pieces, "remedies", "rule")):
        place, _, encoder = row["system, encoder"].rpartition(", ")
        lines.append(
            (
                place,
                encoder,
                row["OOD, plain"],
                row["pick"],
                row["OOD, pick"],
                _change(row["ΔOOD"]),
                f"{row['best in hindsight']}, {row['OOD, best']}",
                row["seeds"],
            )
        )
    header = (
        "system",
        "encoder",
        "attention, OOD",
        "pick",
        "its OOD",
        "the pick is",
        "best in hindsight",
        "seeds",
    )
    return _markdown(header, lines)


def _whole(experiment: str, name: str) -> Callable[[Pieces], str]:
    """A function that gives a table of an experiment as the report has it."""

    def shown(pieces: Pieces) -> str:
        table = _table(pieces, experiment, name)
        return _markdown(table.header, table.rows) if table.rows else "None so far."

    return shown


def _table(pieces: Pieces, experiment: str, name: str) -> Table:
    for table in pieces[experiment].shown.tables:
        if table.name == name:
            return table
    raise _missing(pieces[experiment])


def _rows(table: Table) -> list[dict[str, str]]:
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def _markdown(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return table_markdown(Table(name="", caption="", header=header, rows=tuple(rows))).strip()


def _mean(cell: str, digits: int = 3) -> str:
    """The number of a cell, without its deviation; a dash stays."""
    return f"{cell.value:.{digits}f}" if isinstance(cell, Number) else cell


def _percent(change: Number) -> int:
    """As it is shown: a change that rounds to the bar is at the bar."""
    return round(100 * change.value)


def _change(cell: str) -> str:
    if not isinstance(cell, Number):
        return cell
    size = _percent(cell)
    word = "even" if abs(size) < ABOUT_EVEN else "better" if size < 0 else "**worse**"
    return f"{word}, {cell}"


def _missing(piece: Piece) -> ValueError:
    return ValueError(f"store must have the records of {piece.name}: {piece.command}")


# -- pages and pictures

PAGES: dict[str, dict[str, Callable[[Pieces], str]]] = {
    "README.md": {
        "table": lambda pieces: place_table(pieces, FOUR),
        "bearings": _whole("vibration", "means"),
        "remedies": picks_by_place,
        "claims": first_claims,
    },
    "docs/claims.md": {
        verdict: claims_that(verdict) for verdict in ("does not hold", "partly", "holds", "not measured")
    },
    "docs/audit.md": {
        name: _whole("audit", name)
        for name in ("so far", "thresholds", "verdicts", "elsewhere", "foretold", "attributions")
    }
    | {"limits": _whole("calibration", "limits")},
    "docs/vibration.md": {name: _whole("vibration", name) for name in ("repairs", "candidates", "calm")},
    "docs/which_remedy.md": {
        name: _whole("remedies", name) for name in ("which", "by encoder", "without help")
    },
    "docs/remedies.md": {
        "remedies": remedies_by_place,
        "rule": _whole("remedies", "rule"),
    },
    "docs/limits.md": {"places": place_table, "regimes": regimes_without_help, "held load": held_load},
}
"""Pages, and what stands between the markers of each name."""


def pieces_of(store: Store) -> dict[str, Piece]:
    """What every experiment of the catalog shows of these records."""
    return {name: experiment.piece(store) for name, experiment in CATALOG.items()}


def with_results(page: str, text: str, pieces: Pieces) -> str:
    """The text of a page with what stands between its markers as the records have it."""
    for name, made in PAGES[page].items():
        start, end = f"<!-- {name} start -->", f"<!-- {name} end -->"
        if start not in text or end not in text:
            raise ValueError(f"{page} must have the lines {start} and {end}")
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n{made(pieces)}\n{end}{rest.partition(end)[2]}"
    return text


def charts(pieces: Pieces) -> dict[str, Chart]:
    """The charts of the pictures, by file."""
    found = {}
    for file, (experiment, name) in PICTURES.items():
        there = {chart.name: chart for chart in pieces[experiment].shown.charts}
        if name not in there:
            raise _missing(pieces[experiment])
        found[file] = there[name]
    return found


def chart_digest(chart: Chart) -> str:
    """Sixteen hexadecimal digits that identify the values of a chart."""
    return hashlib.sha256(json.dumps(dataclasses.asdict(chart)).encode()).hexdigest()[:16]


def stale(root: Path, pieces: Pieces) -> list[str]:
    """The pages and pictures that no longer show the records."""
    texts = {page: (root / page).read_text() for page in PAGES}
    old = [page for page, text in texts.items() if with_results(page, text, pieces) != text]
    return old + [
        file for file, chart in charts(pieces).items() if _made_from(root / file) != chart_digest(chart)
    ]


def _made_from(path: Path) -> str | None:
    if not path.exists():
        return None
    with Image.open(path) as image:
        return image.info.get(MADE_FROM)


def write(root: Path, pieces: Pieces) -> None:
    """Write what the records show into the pages, and the pictures anew."""
    for page in PAGES:
        (root / page).write_text(with_results(page, (root / page).read_text(), pieces))
    for file, chart in charts(pieces).items():
        picture(chart).savefig(root / file, dpi=110, metadata={MADE_FROM: chart_digest(chart)})


if __name__ == "__main__":
    here = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    write(here, pieces_of(Store(here / "results")))
