"""What the page of an audit opens with."""

import dataclasses

import torch

import crest
from crest._audit.screen import (
    audit_error_panel,
    audit_line,
    audit_screen,
    audit_tie_panel,
    curve_panel,
    separated_panel,
)
from crest._pages.panels import BarPanel, CurvePanel, MatrixPanel, ScatterPanel, TracePanel
from pages_made import CONDITIONS, SMALL, audited, audited_classes, signals


def test_all_pictures_of_before_and_after() -> None:
    before, after = audited(0.8), audited(0.0)
    screen = audit_screen({"before": before, "after": after})
    assert [type(one) for one in (*screen.left, *screen.right, *screen.below)] == [
        BarPanel,
        BarPanel,
        ScatterPanel,
        TracePanel,
        CurvePanel,
        MatrixPanel,
    ]
    assert [one.mark for one in screen.findings] == ["bad", "good"]
    # What to do is about the last.
    assert [bool(one.todo) for one in screen.findings] == [False, True]
    assert screen.models == ("before", "after")


def test_a_constant_has_a_finding_and_no_bars() -> None:
    audit = crest.audit(lambda x: torch.zeros(len(x)), torch.randn(8, 60, 1))
    screen = audit_screen({"as it is": audit})
    assert audit_line(audit).mark == "doubt"
    assert not screen.left
    assert not screen.right


def test_errors_are_those_of_the_audit_and_red_above_a_constant() -> None:
    audit = dataclasses.replace(audited(0.8), id_error=99.0)
    panel = audit_error_panel({"one": audit})
    assert panel is not None
    values = {row.name: row.bars[0] for row in panel.rows}
    assert values["on these data"].value == audit.error
    assert (values["expected"].value, values["expected"].low) == (
        audit.expected_error,
        audit.exchange.together.error_interval[0],
    )
    assert values["as in training"].above
    assert panel.line == audit.exchange.constant_error
    assert audit_error_panel({"one": dataclasses.replace(audit, error=None)}) is None


def test_curves_are_those_of_the_audit_and_the_limit_is_for_what_was_declared() -> None:
    audit = audited(0.8)
    panel = curve_panel({"one": audit})
    assert panel is not None
    offset, gain, _ = panel.views
    assert offset.curves[0].values == audit.curves["offset"].moved
    assert offset.ticks == ("−2", "−1", "0", "+1", "+2")
    assert (offset.line, gain.line) == (0.4, None)
    assert f"{audit.curves['offset'].moved[-1]:.2f}" in panel.caption
    # Sizes have no sign, and bars are for what differs in the data: readers took one for the other.
    assert "how far predictions move, up or down" in panel.caption
    assert "as they differ in your data" in panel.caption


def test_the_matrix_has_errors_counts_and_names_of_classes() -> None:
    audit = audited(0.8)
    panel = audit_tie_panel({"one": audit})
    assert panel is not None
    (matrix,) = panel.matrices
    assert matrix.columns == audit.tie.conditions
    for (_, cells), counts, errors in zip(matrix.rows, audit.tie.counts, audit.tie.errors, strict=True):
        for cell, count, error in zip(cells, counts, errors, strict=True):
            assert cell.text == ("–" if error is None else f"{error:.2g}")
            assert cell.note == ("" if error is None else f"{count}")
    assert max(cell.shade for _, cells in matrix.rows for cell in cells) <= 1
    many = dataclasses.replace(audit.tie, conditions=tuple(map(str, range(13))))
    assert audit_tie_panel({"one": dataclasses.replace(audit, tie=many)}) is None
    assert audit_tie_panel({"one": audited_classes()}) is None


def test_rows_have_the_names_of_classes_as_they_were_given() -> None:
    # Names that are numbers themselves are not read as places.
    audit = crest.audit(
        lambda x: torch.nn.functional.pad(x.mean(1), (0, 2)),
        (signals()[0], torch.arange(24) % 3),
        conditions=CONDITIONS,
        exchange=SMALL,
    )
    panel = audit_tie_panel({"one": audit.named(classes=("1", "2", "3"))})
    assert panel is not None
    assert [name for name, _ in panel.matrices[0].rows] == ["1", "2", "3"]


def test_the_example_is_one_picture_of_own_and_swapped_signal_with_its_core_shaded() -> None:
    audit = audited(0.8)
    panel = separated_panel({"one": audit})
    assert panel is not None
    found = audit.separated
    assert (panel.step, panel.unit) == (1 / 3200, "s")
    assert f"of {audit.names[found.row]} as recorded" in panel.caption
    assert f"of {audit.names[found.donor]}." in panel.caption
    values = {strand.kind: torch.tensor(strand.values) for strand in panel.strands}
    assert list(values) == ["own", "swapped", "own-slow", "swapped-slow"]
    for kind, wanted in (("own", found.signal), ("swapped", found.exchanged)):
        torch.testing.assert_close(values[kind], wanted)
    # What makes one believe it: the shaded steps hold the knock, and keep their shape above another's background.
    assert panel.shaded_name == "core"
    assert panel.shaded[83]
    assert sum(panel.shaded) < len(panel.shaded) / 5
    above = [values[name] - values[f"{name}-slow"] for name in ("own", "swapped")]
    torch.testing.assert_close(above[0][83], above[1][83], atol=0.1, rtol=0.05)
    assert (values["own"] - values["swapped"]).abs().mean() > 0.3
    plain = separated_panel({"one": audited(0.8, rate=None)})
    assert plain is not None
    assert (plain.step, plain.unit) == (1.0, "steps")
    assert separated_panel({"one": dataclasses.replace(audit, separated=None)}) is None
