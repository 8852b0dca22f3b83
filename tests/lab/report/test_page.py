import dataclasses
import html.parser
import json
import re
from typing import Any

import pytest

from crest._pages.panels import BarPanel, BarRow, FindingLine, FirstScreen, PanelBar
from crest.lab.evidence import CATALOG
from crest.lab.evidence.paper_claims import PAPER_CLAIMS
from crest.lab.evidence.shown import Help, Shown
from crest.lab.report.page import CHAPTERS, FIRST_CHAPTER, chapters_of, page
from paper_made import pieces
from report_made import chart, line_panel, piece, record, records, table


class Reader(html.parser.HTMLParser):
    """Checks that tags are closed in order, and keeps ids, links, text and the data of scripts."""

    VOID = ("meta", "link", "br", "img", "hr", "input")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.data: list[Any] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            if self.tags[-1][1].get("type") == "application/json":
                self.data.append(json.loads(data))
        elif not self.open or self.open[-1] != "style":
            self.words.append(data)

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        return [
            attributes
            for name, attributes in self.tags
            if name == tag and all(attributes.get(key.rstrip("_")) == value for key, value in wanted.items())
        ]

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def test_the_page_is_whole_and_asks_for_nothing_from_outside() -> None:
    text = page([piece("one"), piece("two")], records(), title="All")
    reader = Reader(text)
    assert text.startswith("<!doctype html>")
    for tag, attributes in reader.tags:
        assert not (attributes.get("src") or "").startswith(("http", "//")), tag
        if tag == "link":
            assert (attributes["href"] or "").startswith("data:")
    assert text.count("plotly.js (basic - minified) v") == 1
    policy = reader.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    assert policy is not None
    assert "default-src 'none'" in policy


def test_links_lead_somewhere_and_ids_are_there_once() -> None:
    reader = Reader(page([piece("one"), piece("two")], records(), title="All"))
    ids = [attributes["id"] for _, attributes in reader.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for attributes in reader.all("a")]
    assert {"#verdicts", "#explorer", "#piece-one", "#piece-two"} <= set(links)
    assert all(link is not None and link[1:] in ids for link in links)


def test_claims_stand_in_the_verdicts_alone() -> None:
    reader = Reader(page([piece("one")], [], title="All"))
    assert reader.text.count("one: CREST errs less") == 1
    for part in ("0.12 against 0.41", "0.15 against 0.44", "0.0039", "smallest possible 0.00098", "A note."):
        assert part in reader.text
    # Its row and its filter.
    assert len(reader.all("span", class_="verdict holds")) == 2
    assert len(reader.all("span", class_="verdict not-measured")) == 2
    assert [row["data-verdict"] for row in reader.all("li") if "data-verdict" in row] == [
        "holds",
        "not-measured",
    ]
    assert "Claims: 1 holds, 1 not measured" in reader.text


def test_headers_have_a_scope_and_selects_a_label() -> None:
    reader = Reader(page([piece()], records(), title="All"))
    assert all(attributes.get("scope") in ("row", "col") for attributes in reader.all("th"))
    assert len(reader.all("select")) == len(reader.all("label")) == 4
    assert [tag for tag, _ in reader.tags].count("h1") == 1


def test_missing_runs_are_marked() -> None:
    assert "incomplete: 3 of 4 runs" in Reader(page([piece(found=3)], [], title="All")).text
    whole = Reader(page([piece()], [], title="All")).text
    assert "4 of 4 runs" in whole
    assert "incomplete" not in whole


def test_without_records_there_is_no_explorer_and_without_claims_no_verdicts() -> None:
    reader = Reader(page([piece(shown=Shown(tables=(table(),)))], [], title="All", intro="One.\n\nTwo."))
    ids = [attributes.get("id") for _, attributes in reader.tags]
    assert not {"explorer", "verdicts"} & set(ids)
    assert reader.data == []
    assert "One." in reader.text
    assert "Two." in reader.text


def test_words_and_data_cannot_break_out() -> None:
    evil = "</script><script>alert(1)</script><b>"
    shown = Shown(
        tables=(dataclasses.replace(table(), rows=((evil, "1", "2"),)),),
        charts=(chart(panels=(line_panel(evil),)),),
        notes=(evil,),
    )
    made = piece(evidence=evil, summary=evil, command=evil, shown=shown)
    seen = record("gear", "mean")
    assert seen.traces is not None
    seen = dataclasses.replace(seen, traces=dataclasses.replace(seen.traces, channels=[evil, "load"]))
    reader = Reader(page([made], [seen], title=evil, intro=evil))
    assert len(reader.all("script")) == len(Reader(page([piece()], records(), title="All")).all("script"))
    assert reader.data[0]["systems"][0]["channels"] == [evil, "load"]
    assert reader.all("b") == []
    assert reader.text.count(evil) >= 6


def test_figures_are_there_as_data() -> None:
    reader = Reader(page([piece()], [], title="All"))
    (figure,) = reader.data
    assert figure["data"][0]["y"] == [0.5, 0.4, 0.3]
    assert figure["layout"]["meta"]["narrow"]["height"] > 0


def test_pieces_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="pieces must have a name of their own each, got main twice"):
        page([piece(), piece()], [], title="All")


def test_the_explorer_has_the_signals_of_a_trajectory_once() -> None:
    text = page([], records(), title="All")
    assert text.count('"signals"') == 6


def test_the_page_begins_with_a_sentence_numbers_and_the_picture_which_is_drawn_once() -> None:
    first = piece("teaser", shown=Shown(charts=(chart("teaser"),)))
    reader = Reader(page([piece("one"), first], [], title="All", intro="Made so.", note="A trial."))
    assert reader.text.index("A trial.") < reader.text.index("may read a smooth")
    assert reader.text.index("1 of 1") < reader.text.index("What teaser shows.")
    assert (
        reader.text.index("What teaser shows.")
        < reader.text.index("so does ID")
        < reader.text.index("Made so.")
    )
    assert len(reader.data) == 2


def test_words_lead_to_their_meaning() -> None:
    reader = Reader(page([], [], title="All"))
    ids = {attributes.get("id") for _, attributes in reader.tags}
    words = {attributes["href"] for attributes in reader.all("a", class_="term")}
    assert "#term-crest" in words
    assert {word[1:] for word in words if word} <= ids


def test_the_page_is_small() -> None:
    assert len(page([piece()], records(), title="All").encode()) < 1_500_000


def test_the_page_is_printed_by_a_style_sheet_of_its_own() -> None:
    shown = page([piece()], [], title="A report")
    printed = shown[shown.index("@media print {") :]
    hidden = printed[: printed.index("{ display: none; }")]
    assert all(name in hidden for name in (".toc", ".theme", ".choices", ".steps", ".filters"))
    assert "figure" in printed[: printed.index("{ break-inside: avoid; }")]
    assert ".scroll, .scroll[data-right] { overflow: visible;" in printed
    assert 'addEventListener("beforeprint"' in shown


def test_help_and_recordings_come_before_the_papers_claims_and_the_rest() -> None:
    some = pieces()
    there = [
        piece("main"),
        piece(
            "field",
            shown=Shown(helps=(Help(place="ECG", real=True, unit="error rate", plain=0.4, repaired=0.1),)),
        ),
        *some.values(),
    ]
    reader = Reader(page(there, [], title="All"))
    places = [
        reader.text.index(words)
        for words in (
            "Does it help me?  ".strip() + " Recordings with",
            f"Of the paper's {len(PAPER_CLAIMS)} claims",
            "Every check by itself",
        )
    ]
    assert places == sorted(places)
    ids = [attributes.get("id") for _, attributes in reader.tags]
    order = [
        ids.index(one)
        for one in (
            "helps",
            "chapter-On-real-recordings",
            "piece-field",
            "verdicts",
            "piece-main",
            "piece-some",
        )
    ]
    assert order == sorted(order)
    assert len(reader.all("table", class_="prose")) == 3


def test_every_piece_of_the_catalog_has_a_chapter() -> None:
    assert {name for names in CHAPTERS.values() for name in names} == set(CATALOG)
    assert [chapter.title for chapter in chapters_of([piece("own"), piece("main"), piece("field")])] == [
        FIRST_CHAPTER,
        "The paper's tables and figures",
        "",
    ]


def test_a_study_opens_with_its_first_screen_and_beside_the_catalog_at_its_own_place() -> None:
    evil = "<b>mine</b>"
    line = FindingLine(mark="bad", word="the pick fails in the field", sentence=f"{evil} fails.")
    bars = BarPanel(
        title="Errors of the models",
        rows=(BarRow(name=evil, bars=(PanelBar(value=0.5, low=0.4, high=0.6), None)),),
        models=("ID", "expected"),
    )
    study = piece("mine", shown=Shown(first=FirstScreen(findings=(line,), left=(bars,))))
    alone = Reader(page([study], [], title="All"))
    assert len(alone.all("section", class_="screen")) == 1
    assert alone.all("section", class_="first") == []
    assert [found["href"] for found in alone.all("a")][1] == "#main"
    assert alone.text.count(f"{evil} fails.") == 1
    for pieces_there, above in (
        ([piece("one"), study], 0),
        ([study, dataclasses.replace(study, name="two")], 1),
    ):
        reader = Reader(page(pieces_there, [], title="All"))
        sections = [found.get("class") for tag, found in reader.tags if tag == "section"]
        assert sections.count("screen") == above + sum(one.shown.first is not None for one in pieces_there)
        assert (sections[0] == "screen") == bool(above)
    assert ".finding-line" not in page([piece("one")], [], title="All")
