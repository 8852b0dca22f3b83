"""The page of a repair."""

import dataclasses
from pathlib import Path

import pytest

import crest
from crest._pages.panels import ScatterPanel
from crest._repair import AS_IT_IS
from crest._repair.page import (
    candidate_panel,
    repair_error_panel,
    repair_line,
    repaired_page,
    repaired_screen,
)
from crest.remedies import CONTROL
from pages_made import CONDITIONS, EVIL, repaired


def test_a_remedy_that_helps_is_green_with_its_numbers() -> None:
    found = repaired()
    line = repair_line(found)
    assert (line.mark, line.word) == ("good", "repaired")
    assert f"{found.before.expected_error:.3g} → {found.after.expected_error:.3g}" in line.sentence
    assert "field error 1.5 → 0.2" in line.sentence


def test_what_longer_training_gives_too_is_amber() -> None:
    found = repaired()
    rows = {**found.candidates, CONTROL: found.after}
    beside = dataclasses.replace(found, candidates=rows)
    assert (repair_line(beside).mark, repair_line(beside).word) == ("doubt", "not clearly repaired")
    alone = repair_line(dataclasses.replace(beside, name=CONTROL))
    assert alone.sentence.startswith("Training longer helps, and no remedy is clearly better")
    assert alone.mark == "doubt"


def test_a_model_that_stays_is_green_if_the_rule_says_so_and_amber_if_it_cannot_tell() -> None:
    found = repaired(name=None)
    kept = dataclasses.replace(found, choice=dataclasses.replace(found.choice, name=AS_IT_IS))
    assert repair_line(kept).mark == "good"
    unknown = repair_line(dataclasses.replace(found, choice=dataclasses.replace(found.choice, name=None)))
    assert (unknown.mark, unknown.word) == ("doubt", "not repaired")


def test_bars_are_the_errors_of_the_candidates() -> None:
    found = repaired()
    panel = repair_error_panel({"before": found.before, "after": found.after})
    bars = {row.name: [bar.value for bar in row.bars] for row in panel.rows}
    assert bars["as in training"] == [0.7, 0.1]
    assert bars["in the field"] == [1.5, 0.2]
    assert "even" not in bars
    tried = candidate_panel(found)
    assert [row.name for row in tried.rows] == [AS_IT_IS, "AC coupling"]
    assert [row.strong for row in tried.rows] == [False, True]
    assert tried.models == ("as in training", "expected", "in the field")
    assert isinstance(repaired_screen(found).right[0], ScatterPanel)


def test_predictions_are_coloured_by_condition_if_there_are_conditions() -> None:
    found = repaired()
    (panel,) = repaired_screen(found).right
    assert isinstance(panel, ScatterPanel)
    assert panel.groups == ("600 rpm", "1200 rpm", EVIL)
    pairs = found.before.exchange.predictions
    for view in panel.views:
        assert [panel.groups[dot.group] for dot in view.dots] == [
            CONDITIONS[row] for row in pairs.rows.tolist()
        ]
    (plain,) = repaired_screen(dataclasses.replace(found, conditions=())).right
    assert isinstance(plain, ScatterPanel)
    assert (plain.groups, {dot.group for view in plain.views for dot in view.dots}) == ((), {0})


def test_where_the_even_error_decides_the_constant_is_that_of_the_even_error() -> None:
    """A model can be far below the constant of own signals and above that of the even error, which decides."""
    plain = repaired()
    rows = {
        name: dataclasses.replace(row, even_error=0.3, even_constant=0.25)
        for name, row in plain.candidates.items()
    }
    choice = crest.choose({name: row.candidate() for name, row in rows.items()}, keep=AS_IT_IS)
    found = dataclasses.replace(plain, name=AS_IT_IS, choice=choice, candidates=rows)
    panel = repair_error_panel({"a": found.before})
    assert panel.line == candidate_panel(found).line == 0.25
    assert panel.caption.startswith(
        "The even error decides: 0.3. A constant prediction has 0.25 by that error, "
    )
    assert f"{found.before.exchange.constant_error:.3g} by the others." in panel.caption
    assert {row.name for row in panel.rows if row.strong} == {"even"}
    assert next(row for row in panel.rows if row.name == "even").bars[0].above
    assert "whose error is 0.25 there" in repaired_page(found, title="T")
    kept = dataclasses.replace(found, choice=dataclasses.replace(choice, name=AS_IT_IS))
    assert "its even error is 0.3" in repair_line(kept).sentence
    # Numbers of earlier versions have no constant for it: then there is no line.
    unknown = repair_error_panel({"a": dataclasses.replace(found.before, even_constant=None)})
    assert unknown.line is None
    assert unknown.caption == "The even error decides: 0.3."
    exchanged = repair_error_panel({"a": plain.before})
    assert exchanged.line == plain.before.exchange.constant_error
    assert {row.name for row in exchanged.rows if row.strong} == {"expected"}


def test_the_page_is_small_and_its_text_is_text(tmp_path: Path) -> None:
    place = repaired().to_html(tmp_path / "repair.html", title="Mine")
    text = place.read_text()
    assert len(text) < 200_000
    assert EVIL not in text
    assert "<title>Mine</title>" in text
    assert "A note." in text
    with pytest.raises(ValueError, match=r"path must end in \.html"):
        repaired().to_html(tmp_path / "repair")


def test_a_repair_without_predictions_has_a_page() -> None:
    found = repaired()
    rows = {
        name: dataclasses.replace(row, exchange=dataclasses.replace(row.exchange, predictions=None))
        for name, row in found.candidates.items()
    }
    assert "Predicted against true" not in repaired_page(
        dataclasses.replace(found, candidates=rows), title="T"
    )
    assert "Predicted against true" in repaired_page(found, title="T")
