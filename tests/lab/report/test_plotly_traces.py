from crest.lab.evidence.shown import Panel, Series
from crest.lab.report.plotly_traces import DENSE, plain_text, series_traces


def panel_of(series: Series) -> Panel:
    return Panel(title="", x_label="place", y_label="error", series=(series,))


def test_a_single_seed_is_a_hollow_point_with_its_count() -> None:
    series = Series(
        name="OOD", x=["a", "b"], y=[0.5, 0.7], spread=[0.1, 0.0], counts=[5, 1], look="bars", colour="crest"
    )
    bars, alone = series_traces(series, panel_of(series), "", first=True)
    assert (bars.type, list(bars.x), list(bars.error_y.array)) == ("bar", ["a"], [0.1])
    assert (alone.type, list(alone.x), alone.marker.symbol) == ("scatter", ["b"], "diamond-open")
    assert list(alone.text) == ["n=1"]
    assert alone.error_y.array is None
    assert (bars.showlegend, alone.showlegend) == (True, False)
    assert bars.offsetgroup == alone.offsetgroup
    assert "5 seeds" in bars.hovertext[0]
    assert "one seed" in alone.hovertext[0]


def test_there_is_no_whisker_of_length_zero() -> None:
    series = Series(name="b", x=["a"], y=[0.5], spread=[0.0], look="bars")
    (bars,) = series_traces(series, panel_of(series), "", first=True)
    assert bars.error_y.array is None
    assert "±" not in bars.hovertext[0]


def test_many_points_share_the_form_of_their_text() -> None:
    series = Series(name="<b>", x=list(range(DENSE + 1)), y=[0.123456789] * (DENSE + 1))
    (line,) = series_traces(series, panel_of(series), "2", first=False)
    assert line.hovertext is None
    assert line.hovertemplate.startswith("<b>&lt;b&gt;</b><br>place: %{x}")
    assert line.y[0] == 0.12346


def test_text_is_no_tag() -> None:
    assert plain_text("<i>") == "&lt;i&gt;"
