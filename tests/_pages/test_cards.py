"""Model cards."""

from pathlib import Path

import pytest

from crest._pages.cards import Section, bullets, card, markdown_table, plain


class Part:
    def card_sections(self) -> list[Section]:
        return [Section("One", bullets(["a * b", "two\nlines"]))]


def test_a_card_has_all_in_order_and_is_written_as_it_is_returned(tmp_path: Path) -> None:
    place = tmp_path / "card.md"
    text = card([Part(), Part()], title="Pump <3>", about="A *small* model.", date="May", path=place)
    assert place.read_text() == text
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == ["# Pump \\<3>", "## One", "## One", "## Versions"]
    assert "A *small* model." in text
    assert "- two lines" in text
    assert text.endswith("- date: May\n")


def test_without_a_date_the_same_finding_gives_the_same_card() -> None:
    assert card([Part()], title="a") == card([Part()], title="a")
    assert "date" not in card([Part()], title="a")


def test_a_card_ends_in_md(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^path must end in .md, got '.*card.html'"):
        card([], title="a", path=tmp_path / "card.html")
    assert not list(tmp_path.iterdir())


def test_cells_cannot_leave_their_cell() -> None:
    lines = markdown_table(["a", "b"], [["x|y", "<script>\nz"]]).splitlines()
    assert lines == ["| a | b |", "| --- | ---: |", "| x\\|y | \\<script> z |"]
    assert plain("[a](b)`c`") == "\\[a\\](b)\\`c\\`"
