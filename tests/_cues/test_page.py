"""The page of cues."""

import dataclasses
from pathlib import Path

from crest._cues.page import cue_panel, cues_line, cues_page, cues_screen, cues_tie_panel
from pages_made import EVIL, cues


def test_a_nuisance_that_tells_the_target_is_red_with_what_to_do() -> None:
    found = cues()
    assert found.shortcuts[0] == "offset"
    line = cues_line(found)
    assert (line.mark, line.word) == (found.mark, "a shortcut")
    assert line.sentence.startswith("A network can read the target from the offset alone: it explains ")
    assert 'invariant=("offset"' in line.todo
    bars = {row.name: row.bars[0] for row in cue_panel(found).rows}
    assert bars["offset"].above
    assert bars["offset"].value == found["offset"].score
    assert not bars["surroundings"].above
    assert min(bar.value for bar in bars.values()) >= 0
    faint = {row.name: row.faint for row in cue_panel(found).rows}
    strong = [row.name for row in cue_panel(found).rows if row.strong]
    # What cannot be a shortcut is pale, but for what is brief, which is bold.
    assert not faint["offset"]
    assert faint["surroundings"]
    assert [faint[name] for name in strong] == [False]


def test_what_is_of_the_events_is_no_shortcut() -> None:
    found = cues()
    rows = tuple(
        dataclasses.replace(row, score=0.9, interval=(0.8, 1.0), beats_constant=True, around=0.0)
        if row.name == "colour"
        else row
        for row in found.rows
    )
    assert "colour" not in dataclasses.replace(found, rows=rows).shortcuts
    bare = tuple(dataclasses.replace(row, around=None) for row in rows)
    assert "colour" in dataclasses.replace(found, rows=bare).shortcuts


def test_without_a_nuisance_it_is_green() -> None:
    found = cues()
    rows = tuple(dataclasses.replace(row, score=0.0, interval=(-0.1, 0.1)) for row in found.rows)
    clean = dataclasses.replace(found, rows=rows)
    assert (clean.mark, cues_line(clean).word) == ("good", "no shortcut")
    assert not any(row.bars[0].above for row in cue_panel(clean).rows)


def test_classes_are_told_with_their_chance() -> None:
    found = cues()
    rows = tuple(dataclasses.replace(row, chance=0.25) for row in found.rows)
    line = cues_line(dataclasses.replace(found, rows=rows, classes=("a", "b", "c", "d")))
    assert "of the classes right (chance 25 %)" in line.sentence
    assert cue_panel(dataclasses.replace(found, rows=rows)).line == 0.25 + 0.1 * 0.75


def test_target_and_condition_are_counted() -> None:
    found = cues()
    panel = cues_tie_panel(found.tie, ())
    assert panel is not None
    counts = [[int(cell.text) for cell in cells] for _, cells in panel.matrices[0].rows]
    assert counts == found.tie.counts.tolist()
    many = dataclasses.replace(found.tie, conditions=tuple(map(str, range(13))))
    assert cues_tie_panel(many, ()) is None
    assert len(cues_screen(dataclasses.replace(found, tie=None)).right) == 0


def test_the_page_is_small_and_its_text_is_text(tmp_path: Path) -> None:
    found = cues()
    text = found.to_html(tmp_path / "cues.html", intro="Mine.").read_text()
    assert len(text) < 100_000
    assert EVIL not in text
    for sentence in found.sentences:
        assert sentence.split("%", maxsplit=1)[0].split('"', maxsplit=1)[0].split(":")[0] in text
    assert "by condition" not in cues_page(dataclasses.replace(found, rows=found.rows[:0]), title="T")
