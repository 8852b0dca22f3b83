"""What the template of the first screen calls."""

import dataclasses

import pytest

from crest._pages.first import (
    bar_form,
    bar_scale,
    curve_scale,
    curve_words,
    dot_scale,
    group_colour,
    screen_names,
    shown_number,
    strand_scale,
    time_ticks,
    with_code,
)
from crest._pages.panels import (
    BarPanel,
    BarRow,
    Curve,
    CurvePanel,
    CurveView,
    Dot,
    PanelBar,
    ScatterPanel,
    ScatterView,
    Strand,
    TracePanel,
)


def bars(*values: float, line: float | None = None) -> BarPanel:
    rows = tuple(
        BarRow(name=str(value), bars=(PanelBar(value=value, low=0, high=2 * value),)) for value in values
    )
    return BarPanel(title="bars", rows=rows, models=("one",), line=line)


def test_bars_have_room_for_intervals_and_the_line() -> None:
    assert bar_scale(bars(1.0)).high == pytest.approx(2.08)
    assert bar_scale(bars(1.0, line=5.0)).high == pytest.approx(5.2)


def test_numbers_of_a_panel_have_the_same_digits() -> None:
    form = bar_form(bars(12.34, 0.001))
    assert (form(12.34), form(0.001), form(-1.0)) == ("12.3", "0.0", "−1.0")
    assert bar_form(bars(0.0))(0.0) == "0.00"
    assert bar_form(bars(3e6))(3e6) == "3e+06"
    assert shown_number(-1e-5) == "−1e−05"


def test_predicted_and_true_share_a_scale() -> None:
    view = ScatterView(title="", dots=(Dot(x=0.0, y=5.0), Dot(x=-3.0, y=1.0)))
    scale = dot_scale(ScatterPanel(title="", views=(view,)))
    assert -4.0 < scale.low < -3.0
    assert 5.0 < scale.high < 6.0


def test_time_is_in_its_unit() -> None:
    strands = (Strand(name="signal", values=[0.0, 1.5, 2.0, 1.0, 0.5], kind="own"),)
    panel = TracePanel(title="", strands=strands, step=0.5, unit="s")
    assert time_ticks(panel) == [(0.0, "0"), (25.0, "0.5"), (50.0, "1.0"), (75.0, "1.5"), (100.0, "2.0")]
    assert strand_scale(panel).at(2.0) < 1


def test_a_curve_is_told_in_words() -> None:
    view = CurveView(
        title="Shifted", ticks=("0", "+1"), curves=(Curve(model="mine", values=(0.0, 3.0)),), line=4.0
    )
    assert (
        curve_words(view, CurvePanel(title="", views=(view,), unit="sd"))
        == "Shifted, sd. mine: 0 0.00, +1 3.00"
    )
    alone = dataclasses.replace(view, curves=(dataclasses.replace(view.curves[0], model=""),))
    assert (
        curve_words(alone, CurvePanel(title="", views=(alone,), unit="sd")) == "Shifted, sd. 0 0.00, +1 3.00"
    )
    assert curve_scale(view).high > 4.0


def test_each_group_has_a_colour_of_its_own() -> None:
    for many in (2, 6, 7, 20):
        assert len({group_colour(place, many) for place in range(many)}) == many


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        (
            'put crest.WithFront(crest.HighPass("a"), model), which',
            "crest.WithFront(crest.HighPass(&#34;a&#34;), model)",
        ),
        ('declare it: invariant=("gain",).', "invariant=(&#34;gain&#34;,)"),
        ("pass id_error=, its error", "id_error="),
        ("use crest.audit.", "crest.audit"),
        ("<repaired.save(folder)>", "repaired.save(folder)"),
    ],
)
def test_what_is_typed_looks_like_it(sentence: str, code: str) -> None:
    found = with_code(sentence)
    assert found.count("<code>") == 1
    assert f"<code>{code}</code>" in found
    assert found.striptags().replace(" ", "") == sentence.replace(" ", "")


def test_the_template_finds_its_names() -> None:
    assert all(callable(one) for one in screen_names().values())
