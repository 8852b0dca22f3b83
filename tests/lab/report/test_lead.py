from crest.lab.evidence.shown import Comparison, Shown, Table
from crest.lab.report.lead import lead_of
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


def test_the_picture_is_that_of_the_teaser() -> None:
    shown = Shown(charts=(chart("other"), chart("teaser")))
    lead = lead_of([piece("one"), piece("two", shown=shown)])
    assert lead.picture is shown.charts[1]
    assert lead.piece == "two"
    assert lead_of([piece("one")]).picture is None
