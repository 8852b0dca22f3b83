"""Bars of nuisances, and predicted against true."""

import dataclasses

import pytest
import torch

import crest
from crest._audit.screen import audit_error_panel
from crest._pages.exchange_panels import nuisance_panel, per_model, prediction_panel, values_of
from crest._pages.panels import MatrixPanel, ScatterPanel
from pages_made import CONDITIONS, audited, audited_classes


def test_declared_ones_come_first_and_what_is_above_the_limit_is_marked() -> None:
    before, after = audited(0.8).exchange, audited(0.0).exchange
    panel = nuisance_panel({"before": before, "after": after})
    assert panel is not None
    names = [row.name for row in panel.rows]
    assert names[:3] == ["all declared", "offset", "drift"]
    assert {row.name for row in panel.rows if row.faint} == set(names[names.index("gain") :])
    offset = panel.rows[1].bars
    assert (offset[0].value, offset[0].low) == (
        before.nuisances["offset"].moved,
        before.nuisances["offset"].moved_interval[0],
    )
    assert [bar.above for bar in offset] == [True, False]
    # What was not declared is a question and no alarm.
    loud = dataclasses.replace(before, nuisances={**before.nuisances, "gain": before.nuisances["offset"]})
    found = nuisance_panel({"one": loud})
    assert found is not None
    (gain,) = (row.bars[0] for row in found.rows if row.name == "gain")
    assert gain.value > 0.4
    assert not gain.above
    assert panel.line == 0.4
    assert "Before: offset moves it most" in panel.caption


def test_what_moves_it_most_of_all_is_told_beside_what_was_declared() -> None:
    """The advice of an audit may be about what was not declared: then the picture must not say otherwise."""
    one = audited(0.8).exchange
    offset = one.nuisances["offset"]
    rate = dataclasses.replace(offset, moved=offset.moved + 1)
    panel = nuisance_panel({"one": dataclasses.replace(one, nuisances={**one.nuisances, "rate": rate})})
    assert panel is not None
    told = f"Of what was declared, offset moves it most, by {offset.moved:.2f}, and of all rate, by {rate.moved:.2f}."
    assert told in panel.caption


def test_nothing_varies_and_nothing_is_declared() -> None:
    constant = crest.audit(lambda x: torch.zeros(len(x)), torch.randn(8, 60, 1)).exchange
    assert nuisance_panel({"one": constant}) is None
    # Beside one that varies it is named, and moved by nothing.
    both = nuisance_panel({"before": audited(0.8).exchange, "after": constant})
    assert both is not None
    assert "nan" not in both.caption
    assert "; after: it is the same for every signal." in both.caption
    undeclared = dataclasses.replace(audited(0.8).exchange, invariant=(), together=None)
    panel = nuisance_panel({"one": undeclared})
    assert panel is not None
    assert all(row.faint for row in panel.rows)
    assert "Nothing was declared" in panel.caption


def test_dots_are_the_predictions_with_their_conditions_and_names() -> None:
    audit = audited(0.8)
    pairs = audit.exchange.predictions
    assert pairs is not None
    panel = prediction_panel(
        {"one": audit.exchange}, errors={"one": audit.error}, names=audit.names, conditions=audit.conditions
    )
    assert isinstance(panel, ScatterPanel)
    own, swapped = panel.views
    assert [dot.y for dot in own.dots] == pairs.own.flatten().tolist()
    assert [dot.y for dot in swapped.dots] == pairs.exchanged.flatten().tolist()
    assert set(panel.groups) == set(CONDITIONS)
    assert panel.groups.index("600 rpm") < panel.groups.index("1200 rpm")
    for dot, row in zip(own.dots, pairs.rows.tolist(), strict=True):
        assert dot.name.startswith(f"machine {row}, ")
        assert dot.name.endswith(panel.groups[dot.group])
    assert own.note == f"error {audit.error:.3g}"
    assert swapped.note == f"error {audit.expected_error:.3g}"


def test_classes_are_a_table_of_shares() -> None:
    audit = audited_classes()
    panel = prediction_panel({"one": audit.exchange}, errors={"one": audit.error}, classes=audit.classes)
    assert isinstance(panel, MatrixPanel)
    own, swapped = panel.matrices
    assert own.columns == ("new", "worn", "gone")
    for _, cells in own.rows:
        assert sum(cell.shade for cell in cells) == pytest.approx(1)
    # The same numbers as the bars beside: over all swaps, of which the table shows one.
    assert own.title == f"own signals: error {audit.error:.3g}"
    assert swapped.title == f"swapped: error {audit.expected_error:.3g}"
    assert panel.caption.endswith(f" {audit.error:.3g} and {audit.expected_error:.3g}.")
    bars = audit_error_panel({"one": audit})
    assert bars is not None
    assert [row.bars[0].value for row in bars.rows[:2]] == [audit.error, audit.expected_error]
    assert [cells[row].good for row, (_, cells) in enumerate(own.rows)] == [True] * 3


def test_without_targets_or_predictions_there_is_no_picture() -> None:
    exchange = audited(0.8).exchange
    assert prediction_panel({"one": dataclasses.replace(exchange, predictions=None)}, errors={}) is None
    assert exchange.predictions is not None
    unknown = dataclasses.replace(exchange.predictions, targets=None)
    assert prediction_panel({"one": dataclasses.replace(exchange, predictions=unknown)}, errors={}) is None


def test_sentences_of_one_model_and_of_two() -> None:
    assert per_model([]) == ""
    assert per_model([("a", "it moves"), ("b", "it rests")]) == "A: it moves; b: it rests."
    assert values_of([("a", "1"), ("b", "2")]) == "a 1; b 2."
