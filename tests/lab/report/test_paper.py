import re
from pathlib import Path

import pytest

from crest.lab.evidence.shown import Shown, Table
from crest.lab.report.paper import MOST_PRINTED_ROWS, write_paper
from report_made import chart, piece, table


def pages(path: Path) -> int:
    return len(re.findall(rb"/Type /Page\b", path.read_bytes()))


def test_two_pieces_are_a_paper_of_a_page_or_two(tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    write_paper([piece("one"), piece("two")], path)
    assert path.read_bytes().startswith(b"%PDF")
    assert 1 <= pages(path) <= 3


def test_a_long_table_is_told_and_not_printed(tmp_path: Path) -> None:
    short, long = tmp_path / "short.pdf", tmp_path / "long.pdf"
    rows = tuple((f"row {number}", "0.1") for number in range(40 * MOST_PRINTED_ROWS))
    write_paper([piece(shown=Shown(tables=(table("errors"),)))], short)
    write_paper(
        [piece(shown=Shown(tables=(Table(name="t", caption="All.", header=("a", "b"), rows=rows),)))], long
    )
    assert pages(long) == pages(short) == 1


def test_words_of_claims_cells_and_captions_are_not_markup(tmp_path: Path) -> None:
    odd = Table(name="<b>", caption="R² < 1 & Δ > 0 <i>", header=("|E| <", "±"), rows=(("<para>", "−1 & 2"),))
    write_paper([piece("a < b & <c>", shown=Shown(tables=(odd,), notes=("x < y",)))], tmp_path / "odd.pdf")
    assert pages(tmp_path / "odd.pdf") == 1


def test_a_figure_of_many_panels_and_many_claims_still_fit(tmp_path: Path) -> None:
    many = chart("many")
    many = type(many)(name="many", caption=many.caption, panels=many.panels * 5)
    full = piece("one").shown
    write_paper(
        [piece(shown=Shown(tables=full.tables, charts=(many, chart("other")), claims=full.claims * 60))],
        tmp_path / "many.pdf",
    )
    assert pages(tmp_path / "many.pdf") > 2


def test_a_paper_about_nothing_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="pieces must hold a claim, a table or a chart"):
        write_paper([piece(shown=Shown())], tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []
