import dataclasses

import pytest

from crest.experiments.runner import run
from crest.report.curves import curves_figure
from sweeping import tiny


def test_every_look_is_drawn_twice_once_per_split() -> None:
    records = [run(tiny(name, epochs=2, observe_every=1)) for name in ("mean", "crest")]
    figure = curves_figure(records)
    (axes,) = figure.axes
    lines = axes.get_lines()
    assert len(lines) == 4
    for record, line in zip(records, lines[::2], strict=True):
        assert line.get_xdata().tolist() == [0, 1, 2]
        assert line.get_ydata().tolist() == [look.score.id for look in record.looks]
    assert lines[1].get_ydata().tolist() == [look.score.ood for look in records[0].looks]
    assert axes.get_title() == "pointwise"
    assert "gear" in axes.get_ylabel()


def test_records_without_looks_are_refused() -> None:
    record = run(tiny())
    with pytest.raises(ValueError, match="records must hold looks during training"):
        curves_figure([dataclasses.replace(record, looks=[])])
