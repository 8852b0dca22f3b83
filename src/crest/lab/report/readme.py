"""What README and manual show of the records, made by `make pictures`. A test fails when it is stale."""

import dataclasses
import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PIL import Image

from crest.lab.evidence import CATALOG
from crest.lab.evidence.compare import ABOUT_EVEN, change_in_words
from crest.lab.evidence.paper_claims import beyond, paper_rows
from crest.lab.evidence.shown import Chart, Piece, Table
from crest.lab.evidence.stats import Number
from crest.lab.report.formats import table_markdown
from crest.lab.report.glossary import MANUAL_WORDS
from crest.lab.report.pictures import picture
from crest.lab.report.story import FallSignals, fall_signals, story, story_errors
from crest.lab.report.told_claims import (
    bar_table,
    beyond_table,
    beyond_text,
    count_in_full,
    first_claims,
    nearest_text,
    not_holding,
    paper_table,
)
from crest.lab.runs.store import Store
from crest.remedies import REMEDIES

Pieces = Mapping[str, Piece]
"""What the catalog shows of some records, by the name of the experiment."""

NOT_IN_THE_FIELD = {
    "CWRU (standardised windows), CNN": "CWRU: size of a bearing's fault, another load in the field",
    "Impact, CNN": "Impact, a simulator: amplitude of a vibration tied",
}
"""Places of the remedies that the README's table shows beside those of the field, by how it calls them: recordings whose cue does not
break, and a simulator, each with the network that is most like those of practice."""
_FIRST_STEPS = ("AC coupling", "high-pass")
PICTURES = {
    "docs/teaser.png": ("teaser", "teaser"),
    "docs/field.png": ("field", "field"),
    "docs/cross.png": ("cross", "cross"),
    "docs/convergence.png": ("convergence", "convergence"),
    "docs/shares.png": ("remedies", "shares"),
}
"""Files, and the chart of each: an experiment of the catalog, and the chart's name."""
STORY = "docs/falls.png"
"""The README's first picture. Its signals are not among the records: it is drawn where the recordings are."""
MADE_FROM = "Made from"
"""The picture's metadata entry that identifies the values it shows. Pixels cannot: they differ between machines."""


# -- tables


def place_table(pieces: Pieces) -> str:
    """CREST against attention in every place (system and encoder), as a table."""
    lines = []
    for row in _rows(_table(pieces, "cross", "cross")):
        system, encoder = row["system, encoder"].split(", ")
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


def first_table(pieces: Pieces) -> str:
    """What the README shows: real recordings first, then a simulator, with what an expert does first and what the repair makes of it."""
    worth = _table(pieces, "field", "worth")
    places: dict[str, dict[str, dict[str, str]]] = {}
    for name in ("remedies", "elsewhere"):
        for row in _rows(_table(pieces, "remedies", name)):
            remedy = row["remedy"].removesuffix(" *")
            places.setdefault(row["system, encoder"], {})[remedy] = row
    lines = []
    for place, told in NOT_IN_THE_FIELD.items():
        if place not in places:
            raise _missing(pieces["remedies"])
        rows = places[place]
        (pick,) = (row for row in rows.values() if row["remedy"].endswith(" *"))
        expert = min((rows[name] for name in _FIRST_STEPS), key=lambda row: _value(row["OOD"]))
        plain = next(iter(rows.values()))
        words = change_in_words(_value(plain["OOD"]), _value(pick["OOD"]))
        lines.append(
            (
                told,
                _both(plain),
                f"{_both(expert)} ({expert['remedy'].removesuffix(' *')})",
                _both(pick),
                words,
            )
        )
    return _markdown(worth.header, [*worth.rows, *lines])


def _both(row: dict[str, str]) -> str:
    return f"{_mean(row['ID'], 2)} / {_mean(row['OOD'], 2)}"


def _value(cell: str) -> float:
    if not isinstance(cell, Number):
        raise TypeError(f"cell must be a Number, got {cell!r}")
    return cell.value


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
        if isinstance(change := row["ΔOOD"], Number) and _percent(change) > -100 * ABOUT_EVEN
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


def remedy_table(_: Pieces) -> str:
    """Every remedy that `crest.repair` knows: what it needs and what it does, as a table."""
    lines = []
    for name, one in REMEDIES.items():
        needs = ["`fit`"] if one.needs_fit else []
        needs += ["a place where the model pools"] if one.needs_pooling else []
        needs += ["a linear head"] if one.needs_pooling and not one.needs_fit else []
        needs += ["conditions"] if one.needs_conditions else []
        lines.append((name, ", ".join(needs), one.sentence))
    return _markdown(("remedy", "needs", "what it does"), lines)


def word_table(_: Pieces) -> str:
    """The manual's words, each with its meaning, as a table."""
    return _markdown(("word", "meaning"), [(f"**{word}**", told) for word, told in MANUAL_WORDS.items()])


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


def _markdown_of(table: Table) -> str:
    return _markdown(table.header, table.rows)


def _mean(cell: str, digits: int = 3) -> str:
    """The number of a cell, without its standard deviation; a dash stays."""
    return f"{cell.value:.{digits}f}" if isinstance(cell, Number) else cell


def _percent(change: Number) -> int:
    """As it is shown: a change that rounds to the bar is at the bar."""
    return round(100 * change.value)


def _change(cell: str) -> str:
    if not isinstance(cell, Number):
        return cell
    size = _percent(cell)
    word = "even" if abs(size) < 100 * ABOUT_EVEN else "better" if size < 0 else "**worse**"
    return f"{word}, {cell}"


def _missing(piece: Piece) -> ValueError:
    return ValueError(f"store must have the records of {piece.name}: {piece.command}")


# -- pages and pictures

PAGES: dict[str, dict[str, Callable[[Pieces], str]]] = {
    "README.md": {
        "table": first_table,
        "claims": first_claims,
    },
    "docs/evidence/claims.md": {
        "count": lambda pieces: count_in_full(paper_rows(pieces)),
        "does not hold": not_holding,
        "nearest": nearest_text,
        "nearest table": _whole("nearest", "nearest"),
        "paper": lambda pieces: _markdown_of(paper_table(paper_rows(pieces))),
        "bars": lambda pieces: _markdown_of(bar_table(paper_rows(pieces))),
        "beyond count": beyond_text,
        "beyond": lambda pieces: _markdown_of(beyond_table(beyond(pieces))),
    },
    "docs/user/audit.md": {
        name: _whole("audit", name)
        for name in ("so far", "thresholds", "verdicts", "elsewhere", "foretold", "attributions")
    }
    | {"limits": _whole("calibration", "limits")},
    "docs/evidence/field.md": {
        name: _whole("field", name)
        for name in ("repairs", "methods", "verdicts", "control", "contest", "credit", "readers", "dial")
    },
    "docs/user/vibration.md": {
        name: _whole("vibration", name) for name in ("means", "repairs", "candidates", "calm")
    },
    "docs/user/words.md": {"words": word_table},
    "docs/user/helps.md": {
        name: _whole("remedies", name) for name in ("which", "by encoder", "without help", "rule")
    }
    | {
        "registry": remedy_table,
        "remedies": remedies_by_place,
        "places": place_table,
        "regimes": regimes_without_help,
        "held load": held_load,
    },
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
    return _digest(dataclasses.asdict(chart))


def story_digest(pieces: Pieces) -> str:
    """The same of the errors in the first picture. Recordings do not change."""
    return _digest(story_errors(charts(pieces)["docs/field.png"]))


def _digest(values: object) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def stale(root: Path, pieces: Pieces) -> list[str]:
    """The pages and pictures that no longer show the records."""
    texts = {page: (root / page).read_text() for page in PAGES}
    old = [page for page, text in texts.items() if with_results(page, text, pieces) != text]
    made_from = {
        **{file: chart_digest(chart) for file, chart in charts(pieces).items()},
        STORY: story_digest(pieces),
    }
    return old + [file for file, digest in made_from.items() if _made_from(root / file) != digest]


def _made_from(path: Path) -> str | None:
    if not path.exists():
        return None
    with Image.open(path) as image:
        return image.info.get(MADE_FROM)


def write(root: Path, pieces: Pieces, signals: FallSignals | None) -> None:
    """Write what the records show into the pages, and the pictures anew; the first one only if its signals are there."""
    for page in PAGES:
        (root / page).write_text(with_results(page, (root / page).read_text(), pieces))
    for file, chart in charts(pieces).items():
        picture(chart).savefig(root / file, dpi=110, metadata={MADE_FROM: chart_digest(chart)})
    if signals is not None:
        drawn = story(signals, story_errors(charts(pieces)["docs/field.png"]))
        drawn.savefig(root / STORY, dpi=160, metadata={MADE_FROM: story_digest(pieces)})


if __name__ == "__main__":
    here = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    found = fall_signals()
    if found is None:
        sys.stderr.write(
            f"{STORY} stays as it is, because the recordings of SisFall are missing: crest data list\n"
        )
    write(here, pieces_of(Store(here / "results")), found)
