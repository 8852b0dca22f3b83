import dataclasses
from pathlib import Path

import numpy as np
import pytest

from crest.lab.report.systems import system_figure
from crest.lab.systems import Sizes, regime


@pytest.mark.parametrize("system", ["gear", "impact"])
def test_rows_rise_in_label_and_hold_the_signals(system: str, tmp_path: Path) -> None:
    data = regime(system).splits(1000, Sizes(train=20, id=1, ood=1)).train
    figure = system_figure(data, rows=3)
    width = len(data.channels)
    labels = [float(axes.get_ylabel().split()[1]) for axes in figure.axes[::width]]
    assert labels == sorted(labels)
    assert labels[0] == pytest.approx(data.y.min(), abs=0.01)
    first = figure.axes[0].lines[0].get_ydata()
    np.testing.assert_array_equal(first, data.x[data.y.argmin(), :, 0])
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_names_of_channels_are_not_taken_for_formulas(tmp_path: Path) -> None:
    data = regime("gear").splits(1000, Sizes(train=2, id=1, ood=1)).train
    channels = ("$\\frac$", *data.channels[1:])
    figure = system_figure(dataclasses.replace(data, channels=channels, source="$_$"), rows=1)
    figure.savefig(tmp_path / "figure.png")
    assert figure.axes[0].get_title(loc="left") == "$\\frac$"


def test_a_part_can_be_shown_and_rows_are_checked() -> None:
    data = regime("gear").splits(1000, Sizes(train=4, id=1, ood=1)).train
    figure = system_figure(data, rows=2, steps=102)
    assert len(figure.axes[0].lines[0].get_xdata()) == 102
    with pytest.raises(ValueError, match=r"rows must be a whole number in \[1, 4\], got 9"):
        system_figure(data, rows=9)
