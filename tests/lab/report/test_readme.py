"""README, manual and pictures show the records that are kept."""

import dataclasses
import re
from pathlib import Path

import pytest
from PIL import Image

from crest.lab.evaluation import Score
from crest.lab.evidence import CATALOG
from crest.lab.evidence.compare import percent
from crest.lab.evidence.field_readers import FIELD_READERS
from crest.lab.evidence.paper_claims import PAPER_CLAIMS, row_of
from crest.lab.evidence.remedy_runs import REMEDY_NAMES
from crest.lab.evidence.shown import Piece, Shown, Table
from crest.lab.evidence.stats import Number
from crest.lab.report.readme import (
    MADE_FROM,
    NOT_IN_THE_FIELD,
    PAGES,
    PICTURES,
    STORY,
    chart_digest,
    charts,
    first_table,
    held_load,
    pieces_of,
    place_table,
    regimes_without_help,
    remedies_by_place,
    stale,
    story_digest,
    with_results,
    write,
)
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from evidence_made import CREST, Numbers, duel
from evidence_made import write as write_records
from places import ROOT
from report_made import chart, piece
from report_made import fall_signals as signals

# Thousands of specs and records, whose types other tests check: with each call checked it takes four to twenty times as long.
pytestmark = pytest.mark.unchecked

BEFORE, AFTER = "# crest\n\n| a | b |\n| --- | --- |\n\n", "\n\nafter\n"
SHOWN = [
    "main",
    "nearest",
    "cross",
    "regimes",
    "cwru",
    "vibration",
    *(experiment for experiment, _ in PICTURES.values()),
]


def page(name: str) -> str:
    """A page with nothing but its markers, between two lines of its own."""
    marked = [f"<!-- {marker} start -->\nold\n<!-- {marker} end -->" for marker in PAGES[name]]
    return BEFORE + "\n\nbetween\n\n".join(marked) + AFTER


def between(name: str, marker: str, pieces: dict[str, Piece]) -> str:
    """What a page shows between two of its markers."""
    text = with_results(name, page(name), pieces)
    found = re.search(rf"<!-- {marker} start -->\n(.*?)\n<!-- {marker} end -->", text, flags=re.DOTALL)
    assert found is not None
    return found[1]


def pairs(spec: RunSpec) -> Numbers:
    """CREST is twice as good with the pointwise encoder, and half as good with others and on the bearings."""
    worse = spec.encoder != "pointwise" or spec.system == "cwru" or spec.regime == "steady_load"
    crest = dataclasses.replace(CREST, ood=0.8) if worse else CREST
    return duel(crest=crest)(spec)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """All records that the pages' tables and the pictures show."""
    folder = tmp_path_factory.mktemp("records")
    readers = [{"system": "mitbih", "reader": "drift alone", "id": 0.1, "ood": 0.6}]
    dataclasses.replace(FIELD_READERS, compute=lambda **_: readers).ensure(folder)
    return write_records(folder, [CATALOG[name] for name in dict.fromkeys(SHOWN)], pairs)


@pytest.fixture(scope="module")
def pieces(records: Store) -> dict[str, Piece]:
    """What the catalog makes of them."""
    return pieces_of(records)


@pytest.fixture(scope="module")
def written(pieces: dict[str, Piece], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree whose pages and pictures show these records."""
    root = tmp_path_factory.mktemp("tree")
    for name in PAGES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(page(name))
    write(root, pieces, signals())
    return root


# -- what is kept


@pytest.mark.slow
def test_readme_and_manual_show_the_kept_records() -> None:
    """Fails after a record has changed: `make pictures`."""
    assert stale(ROOT, pieces_of(Store(ROOT / "results"))) == []


# -- between the markers


@pytest.mark.parametrize("name", PAGES)
def test_only_what_stands_between_the_markers_is_replaced(name: str, pieces: dict[str, Piece]) -> None:
    text = with_results(name, page(name), pieces)
    assert text.startswith(BEFORE + f"<!-- {next(iter(PAGES[name]))} start -->\n")
    assert text.count("\n\nbetween\n\n") == len(PAGES[name]) - 1
    assert text.endswith(f" end -->{AFTER}")
    assert "old" not in re.findall(r"\w+", text.replace("does not hold", ""))
    assert with_results(name, text, pieces) == text


@pytest.mark.parametrize(("name", "marker"), [(name, one) for name, all_ in PAGES.items() for one in all_])
@pytest.mark.parametrize("end", ["start", "end"])
def test_missing_markers_are_an_error(name: str, marker: str, end: str, pieces: dict[str, Piece]) -> None:
    text = page(name).replace(f"<!-- {marker} {end} -->", "")
    with pytest.raises(ValueError, match=f"{name} must have the lines <!-- {marker} start -->"):
        with_results(name, text, pieces)


# -- the tables


def test_the_readme_shows_recordings_first_and_where_nothing_is_gained(pieces: dict[str, Piece]) -> None:
    header, _, *rows = between("README.md", "table", pieces).splitlines()
    assert header == "| data | as trained | what an expert does first | `crest.repair` | in the field it is |"
    names = ["MIT-BIH", "SisFall", "SisFall", "HIT-SM", "CWRU", "Impact"]
    assert [re.split("[:,]", row.strip("| "))[0] for row in rows] == names
    assert rows[0].startswith(
        "| MIT-BIH: premature beats, wander tied | 0.10 / 0.80 | 0.10 / 0.80 (each window"
    )
    errors = r"\d\.\d\d / \d\.\d\d"
    for row in rows[4:]:
        assert re.search(rf" \| {errors} \| {errors} \((AC coupling|high-pass)\) \| {errors} \| \S", row), row


def test_the_first_table_takes_the_better_expert_and_the_rule_s_pick() -> None:
    made = {"attention": 0.4, "AC coupling": 0.3, "high-pass": 0.2, "exchange *": 0.1, "CREST": 0.05}
    header = ("system, encoder", "remedy", "ID", "OOD")
    tables = tuple(
        Table(
            name=name,
            caption="",
            header=header,
            rows=tuple((place, remedy, Number("0.10", 0.1), Number("", ood)) for remedy, ood in made.items()),
        )
        for name, place in (("elsewhere", next(iter(NOT_IN_THE_FIELD))), ("remedies", "Impact, CNN"))
    )
    worth = Table(name="worth", caption="", header=("data", "a", "b", "c", "d"), rows=(("ECG", *"1234"),))
    shown = first_table(
        {
            name: piece(name, shown=Shown(tables=some))
            for name, some in (("field", (worth,)), ("remedies", tables))
        }
    )
    rows = shown.splitlines()[2:]
    assert rows[0] == "| ECG | 1 | 2 | 3 | 4 |"
    assert len(rows) == 3
    told = " | 0.10 / 0.40 | 0.10 / 0.20 (high-pass) | 0.10 / 0.10 | better |"
    assert all(row.endswith(told) for row in rows[1:])


def test_the_readme_needs_the_places_that_it_shows(pieces: dict[str, Piece]) -> None:
    without = {
        **pieces,
        "remedies": dataclasses.replace(pieces["remedies"], shown=_without_rows(pieces["remedies"].shown)),
    }
    with pytest.raises(ValueError, match="store must have the records of remedies: crest run remedies"):
        first_table(without)


@pytest.mark.slow
def test_a_change_of_a_few_percent_is_neither_better_nor_worse(tmp_path: Path) -> None:
    for name, ood in (("lower", 0.39), ("higher", 0.41), ("low", 0.37)):
        crest = Numbers(id=0.1, ood=ood)
        store = write_records(tmp_path / name, [CATALOG["cross"]], duel(crest=crest))
        table = place_table({"cross": CATALOG["cross"].piece(store)})
        places = len(table.splitlines()) - 2
        assert table.count("better") == (places if name == "low" else 0)
        assert table.count("even") == (0 if name == "low" else places)


def test_places_without_records_are_an_error(tmp_path: Path) -> None:
    store = write_records(tmp_path, [CATALOG["main"]], duel())
    piece = CATALOG["cross"].piece(store)
    without = dataclasses.replace(piece, shown=dataclasses.replace(piece.shown, tables=()))
    with pytest.raises(ValueError, match="store must have the records of cross: crest run cross"):
        place_table({"cross": without})


def test_the_manual_has_every_place_and_only_regimes_without_help(pieces: dict[str, Piece]) -> None:
    every = place_table(pieces).splitlines()
    assert len(every) == 2 + len(pieces["cross"].shown.tables[0].rows)
    listed = regimes_without_help(pieces).splitlines()[2:]
    assert len(listed) == 1
    assert f"| `steady_load` | 0.100 / 0.400 | 0.100 / 0.800 | {percent(1.0)} |" in listed[0]


def test_the_manual_shows_the_level_beside_the_readouts(pieces: dict[str, Piece]) -> None:
    rows = held_load(pieces).splitlines()[2:]
    assert len(rows) > 3
    assert not any("held bearing" in row or "paper" in row for row in rows)


def test_the_manual_has_every_remedy_in_every_place_and_one_pick_in_each(pieces: dict[str, Piece]) -> None:
    header, _, *rows = remedies_by_place(pieces).splitlines()
    assert header.count("|") == 2 + len(REMEDY_NAMES)
    assert len(rows) == 15
    assert all(row.count("*") == 1 for row in rows)
    assert rows[0].startswith("| SG-Drive, pointwise | 0.100 / 0.400")
    assert len(PAGES["docs/user/helps.md"]["rule"](pieces).splitlines()) == 2 + 15


def test_the_manual_says_which_remedy_when(pieces: dict[str, Piece]) -> None:
    shown = PAGES["docs/user/helps.md"]
    header, _, *rows = shown["which"](pieces).splitlines()
    assert "AC coupling" in header
    assert "high-pass" in header
    assert len(rows) == 15
    assert len(shown["by encoder"](pieces).splitlines()) == 2 + 5
    helped = dataclasses.replace(pieces["remedies"], shown=_without_rows(pieces["remedies"].shown))
    assert shown["without help"]({"remedies": helped}) == "None so far."


def _without_rows(shown: Shown) -> Shown:
    return dataclasses.replace(
        shown, tables=tuple(dataclasses.replace(table, rows=()) for table in shown.tables)
    )


def test_the_manual_shows_how_often_the_audit_is_right(pieces: dict[str, Piece]) -> None:
    shown = PAGES["docs/user/audit.md"]
    rows = shown["verdicts"](pieces).splitlines()
    assert len(rows) == 2 + 10
    assert rows[2].startswith("| SG-Drive, pointwise | 40 |")
    assert shown["so far"](pieces).splitlines()[4].startswith("| both |")
    orders = shown["attributions"](pieces).splitlines()
    assert len(orders) == 2 + 8
    assert orders[-1].startswith("| tslens, WinTSR")


def test_remedies_without_records_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="store must have the records of remedies: crest run remedies"):
        remedies_by_place({"remedies": CATALOG["remedies"].piece(Store(tmp_path))})


def test_no_claim_is_left_out_and_none_is_shown_twice(pieces: dict[str, Piece]) -> None:
    shown = PAGES["docs/evidence/claims.md"]
    rows = shown["paper"](pieces).splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == [
        f"{number}. {claim.text} ({claim.where})" for number, claim in enumerate(PAPER_CLAIMS, start=1)
    ]
    assert len(shown["bars"](pieces).splitlines()) == 2 + len(PAPER_CLAIMS)
    texts = [claim.text for piece in pieces.values() for claim in piece.shown.claims]
    assert len(texts) > 80
    others = shown["beyond"](pieces).splitlines()[2:]
    assert [row.split("|")[1].strip() for row in others] == [text for text in texts if row_of(text) is None]


# -- the pictures


@pytest.mark.slow
def test_what_was_written_is_not_stale(written: Path, pieces: dict[str, Piece]) -> None:
    assert stale(written, pieces) == []
    digests = {file: chart_digest(shown) for file, shown in charts(pieces).items()}
    for file, digest in {**digests, STORY: story_digest(pieces)}.items():
        with Image.open(written / file) as image:
            assert image.info[MADE_FROM] == digest
            assert min(image.size) > 200


@pytest.mark.slow
def test_a_picture_that_is_missing_or_says_nothing_is_stale(written: Path, pieces: dict[str, Piece]) -> None:
    path = written / "docs" / "cross.png"
    kept = path.read_bytes()
    path.unlink()
    assert stale(written, pieces) == ["docs/cross.png"]
    Image.new("RGB", (300, 300)).save(path)
    assert stale(written, pieces) == ["docs/cross.png"]
    path.write_bytes(kept)
    assert stale(written, pieces) == []


@pytest.mark.slow
def test_without_its_recordings_the_first_picture_stays_as_it_is(
    written: Path, pieces: dict[str, Piece]
) -> None:
    path = written / STORY
    kept = path.read_bytes()
    write(written, pieces, None)
    assert path.read_bytes() == kept
    path.unlink()
    write(written, pieces, None)
    assert stale(written, pieces) == [STORY]
    path.write_bytes(kept)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_changed_by_hand_is_stale(name: str, written: Path, pieces: dict[str, Piece]) -> None:
    place = written / name
    kept = place.read_text()
    place.write_text(re.sub(r"(?<=start -->\n)", "A word. ", kept, count=1))
    assert stale(written, pieces) == [name]
    place.write_text(kept)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "files"),
    [
        (
            "main",
            [
                "README.md",
                "docs/evidence/claims.md",
                "docs/user/helps.md",
                "docs/teaser.png",
                "docs/cross.png",
            ],
        ),
        ("regimes", ["docs/user/helps.md"]),
        ("cwru", ["README.md", "docs/evidence/claims.md", "docs/user/helps.md", "docs/cross.png"]),
        ("convergence", ["docs/evidence/claims.md"]),
    ],
)
def test_a_changed_record_makes_what_shows_it_stale(
    experiment: str, files: list[str], written: Path, records: Store, pieces: dict[str, Piece]
) -> None:
    default = [
        spec
        for spec in CATALOG[experiment].runs
        if experiment == "regimes" or (spec.regime == "default" and not spec.system_options)
    ]
    # No page shows four times the epochs of a GRU.
    changed = next(
        spec for spec in reversed(default) if spec.readout == "crest" and spec.training.epochs < 160
    )
    record = records.read(changed.id)
    looks = [dataclasses.replace(look, score=Score(id=0.3, ood=0.5)) for look in record.looks]
    other = dataclasses.replace(record, score=Score(id=record.score.id, ood=0.5), looks=looks)

    class Changed(Store):
        def record(self, spec: RunSpec) -> Record:
            return other if spec == changed else super().record(spec)

    store = Changed(records.folder)
    touched = {name: piece.piece(store) for name, piece in CATALOG.items() if changed in piece.runs}
    assert stale(written, {**pieces, **touched}) == files


def test_pictures_need_their_records(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="store must have the records of teaser: crest run teaser"):
        charts(pieces_of(Store(tmp_path)))


# -- the name of a chart's values


def test_the_digest_changes_with_every_value_and_word() -> None:
    names = {chart_digest(chart())}
    one = chart()
    panel = one.panels[0]
    series = dataclasses.replace(panel.series[0], y=[0.5, 0.4, 0.3000001])
    moved = dataclasses.replace(panel, series=(series, *panel.series[1:]))
    names.add(chart_digest(dataclasses.replace(one, panels=(moved, *one.panels[1:]))))
    names.add(chart_digest(dataclasses.replace(one, caption="other")))
    names.add(chart_digest(dataclasses.replace(one, panels=one.panels[:1])))
    marks = dataclasses.replace(panel, marks=panel.marks[1:])
    names.add(chart_digest(dataclasses.replace(one, panels=(marks, *one.panels[1:]))))
    assert len(names) == 5
    assert chart_digest(chart()) == chart_digest(one)
