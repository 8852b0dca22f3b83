from crest._pages.panels import BarPanel, FindingLine, FirstScreen
from crest.lab.evidence.paper_claims import PAPER_CLAIMS
from crest.lab.evidence.shown import Comparison, Help, Shown, Table
from crest.lab.report.lead import SENTENCE, lead_of
from paper_made import pieces
from report_made import chart, piece


def main_table(*changes: str) -> Table:
    rows = tuple(
        (system, "CREST", change if change == "trial" else Comparison(change, -0.5))
        for system, change in zip(("SG-Drive", "Impact"), changes, strict=False)
    )
    return Table(name="main", caption="", header=("system", "readout", "ΔOOD"), rows=rows)


def test_numbers_come_from_the_tables_and_the_claims() -> None:
    cross = Table(
        name="cross",
        caption="",
        header=("place", "lower on"),
        rows=(("a", Comparison("5/5", 1)), ("b", Comparison("1/3", 1 / 3))),
    )
    pieces = [
        piece("main", shown=Shown(tables=(main_table("−51 %", "−66 %"),))),
        piece("cross", shown=Shown(tables=(cross,))),
        piece("other"),
    ]
    assert [number.value for number in lead_of(pieces).numbers] == ["−51 % and −66 %", "1 of 2", "1 of 1"]
    assert "1 more are not measured" in lead_of(pieces).numbers[2].words


def test_a_number_that_is_missing_gives_way() -> None:
    for changes in (("trial", "trial"), ("−51 %",)):
        lead = lead_of([piece("main", found=3, shown=Shown(tables=(main_table(*changes),)))])
        assert [number.value for number in lead.numbers] == ["3 of 4"]


def test_studies_of_ones_own_begin_with_what_they_found() -> None:
    line, bars = (
        FindingLine(mark="bad", word="fails", sentence="It fails."),
        BarPanel(title="", rows=(), models=()),
    )
    own = [
        piece(name, shown=Shown(first=FirstScreen(findings=(line,), left=(bars,)))) for name in ("one", "two")
    ]
    lead = lead_of(own)
    assert (lead.sentence, lead.numbers, lead.picture) == ("", (), None)
    assert lead.first is not None
    assert [found.of for found in lead.first.findings] == ["one", "two"]
    # Pictures of several studies would be told apart by nothing: each study has its own.
    assert not lead.first.left
    assert lead_of(own[:1]).first == own[0].shown.first
    # Beside the catalog, which has no first screen, the page is about the catalog.
    beside = lead_of([*own, piece("main")])
    assert (beside.sentence, beside.first) == (SENTENCE, None)


def test_the_picture_is_that_of_the_teaser() -> None:
    shown = Shown(charts=(chart("other"), chart("teaser")))
    lead = lead_of([piece("one"), piece("two", shown=shown)])
    assert lead.picture is shown.charts[1]
    assert lead.piece == "two"
    assert lead_of([piece("one")]).picture is None


def test_what_it_does_for_you_stands_before_the_teaser() -> None:
    helps = Shown(
        helps=(
            Help(place="ECG", real=True, unit="error rate", plain=0.4, repaired=0.1, expert=0.3, first=True),
        )
    )
    lead = lead_of([piece("one", shown=Shown(charts=(chart("teaser"),))), piece("two", shown=helps)])
    assert (lead.picture is not None and lead.picture.name, lead.piece) == ("helps", "")
    assert lead.found[0].endswith("ECG 0.40 → 0.10 (expert 0.30).")
    assert lead.table is not None


def test_the_papers_claims_are_counted_where_they_are_judged() -> None:
    numbers = lead_of(
        list(pieces({"CREST lowers the OOD error in every system and encoder": "partly"}).values())
    ).numbers
    words = {number.words.partition(";")[0]: number.value for number in numbers}
    assert words["of the paper's claims hold"] == f"{len(PAPER_CLAIMS) - 1} of {len(PAPER_CLAIMS)}"
