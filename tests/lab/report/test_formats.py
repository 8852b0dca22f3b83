import dataclasses
import re
from pathlib import Path

from crest.lab.report.formats import (
    markdown,
    table_markdown,
    verdict_table,
    write_markdown,
)
from report_made import piece, table


def test_a_table_in_markdown_has_as_many_cells_in_every_row() -> None:
    shown = dataclasses.replace(table(), rows=(("a|b", "1\n2", "\u22123"), ("c", "", "4")))
    lines = table_markdown(shown).splitlines()
    assert lines[0] == "Errors over seeds."
    assert lines[2:] == [
        r"| readout | ID | P\|E\| |",
        "| --- | ---: | ---: |",
        "| a\\|b | 1 2 | \u22123 |",
        "| c |  | 4 |",
    ]


def test_a_piece_in_markdown_says_what_is_there_and_what_is_missing() -> None:
    text = markdown(piece())
    for part in (
        "## Table 1: main",
        "Who errs less?",
        "4 of 4 runs",
        "`crest run main`",
        "A note.",
        "`credit`",
    ):
        assert part in text
    assert (
        "| main: CREST errs less | 0.12 against 0.41 | 0.15 against 0.44 | 10 | 0.0039 | 0.00098 | holds |"
        in text
    )
    assert "Incomplete" not in text
    assert "**Incomplete: 3 of 4 runs**" in markdown(piece(found=3))


def test_all_pieces_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write_markdown([piece("one"), piece("two")], path)
    text = path.read_text()
    verdicts, *sections = re.split("^## ", text, flags=re.MULTILINE)
    assert len(sections) == 2
    assert "one: CREST errs less" in verdicts
    assert "two: CREST errs less" in verdicts


def test_verdicts_of_all_pieces_are_in_one_table() -> None:
    found = verdict_table([piece(str(number)) for number in range(5)])
    assert found is not None
    assert len(found.rows) == 10
    assert found.rows[1] == ("0: so does ID", "0.08", "—", "—", "—", "—", "not measured", "Table 1")
    assert verdict_table([]) is None
