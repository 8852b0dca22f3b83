import dataclasses

from crest._pages.colours import COLOURS
from crest.lab.evidence.shown import Mark, Panel, Series
from crest.lab.report.plotly_charts import plotly_figure
from report_made import bar_panel, chart, line_panel


def test_series_keep_their_numbers_and_share_a_legend_entry_per_name() -> None:
    figure = plotly_figure(chart(panels=(line_panel("a"), line_panel("b"), bar_panel())))
    assert len(figure.data) == 8
    first = figure.data[0]
    assert list(first.x) == [16, 64, 256]
    assert list(first.y) == [0.5, 0.4, 0.3]
    assert list(first.error_y.array) == [0.1, 0.05, 0.02]
    assert first.line.color == COLOURS["crest"]
    assert figure.data[1].line.dash == "dash"
    assert figure.data[2].mode == "markers"
    assert [trace.type for trace in figure.data[-2:]] == ["bar", "bar"]
    entries = [trace.name for trace in figure.data if trace.showlegend]
    assert sorted(entries) == ["ID", "OOD", "crest", "law", "seeds"]
    assert figure.layout.width is None


def test_every_point_says_name_x_y_spread_and_its_own_text() -> None:
    trace = plotly_figure(chart()).data[0]
    assert trace.hovertext[1] == "<b>crest</b><br>steps: 64<br>credit: 0.4 ± 0.05<br>middle"
    assert all(len(drawn.hovertext) == len(drawn.x) for drawn in plotly_figure(chart()).data)


def test_panels_stand_two_to_a_row_and_one_to_a_row_where_it_is_narrow() -> None:
    layout = plotly_figure(chart(panels=tuple(line_panel(str(number)) for number in range(3)))).layout
    assert layout.xaxis.domain[1] < layout.xaxis2.domain[0]
    assert layout.yaxis.domain == layout.yaxis2.domain
    assert layout.yaxis3.domain[1] < layout.yaxis.domain[0]
    assert layout.xaxis3.domain == layout.xaxis.domain
    narrow = layout.meta["narrow"]["change"]
    assert all(narrow[f"xaxis{suffix}.domain"] == [0, 1] for suffix in ("", "2", "3"))
    bottoms = [narrow[f"yaxis{suffix}.domain"] for suffix in ("", "2", "3")]
    assert bottoms[0][0] > bottoms[1][1] > bottoms[1][0] > bottoms[2][1]
    assert layout.meta["narrow"]["height"] > layout.meta["wide"]["height"] == layout.height


def test_marks_are_lines_or_bands_with_a_label() -> None:
    shapes = plotly_figure(chart()).layout.shapes
    across, band, upright = shapes
    assert (across.type, across.y0, across.y1, across.label.text) == ("line", 0.25, 0.25, "chance")
    assert (across.xref, across.yref) == ("x domain", "y")
    assert (band.type, band.x0, band.x1, band.label.text) == ("rect", 32, 128, "trained")
    # The second label at the top edge stands a line lower.
    assert upright.label.text == "<br>default"


def test_log_axes_and_words() -> None:
    layout = plotly_figure(chart(panels=(line_panel(log_x=True), line_panel(log_y=True), bar_panel()))).layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", None)
    assert (layout.xaxis2.type, layout.yaxis2.type) == (None, "log")
    assert (layout.xaxis3.type, layout.xaxis3.categoryarray) == ("category", ("mean", "crest"))


def test_bars_on_numbers_stand_equally_apart() -> None:
    series = Series(name="b", x=[8, 64], y=[1.0, 2.0], look="bars")
    figure = plotly_figure(chart(panels=(Panel(title="", x_label="", y_label="", series=(series,)),)))
    assert list(figure.data[0].x) == ["8", "64"]


def test_words_are_not_read_as_tags() -> None:
    panel = line_panel("<b>bold</b> & co", marks=(Mark(name="a<b", axis="y", at=0.3),))
    panel = dataclasses.replace(panel, series=(dataclasses.replace(panel.series[0], name="<i>x</i>"),))
    figure = plotly_figure(chart(panels=(panel,)))
    assert figure.layout.annotations[0].text == "<b>&lt;b&gt;bold&lt;/b&gt; &amp; co</b>"
    assert figure.data[0].name == "&lt;i&gt;x&lt;/i&gt;"
    assert figure.layout.shapes[0].label.text == "a&lt;b"


def test_four_panels_in_a_row_and_two_where_there_is_less_room() -> None:
    panels = tuple(line_panel(f"a title of many words, number {number}") for number in range(4))
    layout = plotly_figure(chart(panels=panels), columns=4, panel_height=150).layout
    assert layout.yaxis.domain == layout.yaxis4.domain
    assert layout.meta["middle"]["change"]["yaxis.domain"] != layout.meta["middle"]["change"]["yaxis4.domain"]
    assert layout.meta["wide"]["panels"] == 150
    assert layout.annotations[0].text == "<b>a title of many words,<br>number 0</b>"


def test_words_on_the_upright_axis() -> None:
    series = Series(
        name="b", x=[f"word {n}" for n in range(30)], y=list(range(30)), counts=[1] * 30, look="bars"
    )
    panel = Panel(title="", x_label="", y_label="change", series=(series,), horizontal=True)
    figure = plotly_figure(chart(panels=(panel,)))
    assert figure.layout.yaxis.type == "category"
    assert figure.layout.xaxis.title.text == "change"
    assert list(figure.data[0].x) == list(range(30))
    assert figure.layout.meta["wide"]["panels"] == 30 * 22


def test_long_words_on_the_upright_axis_have_lines_and_room_for_them() -> None:
    names = ["attention (MLP) + exchange of <surroundings>", *(f"word {n}" for n in range(19))]
    series = Series(name="b", x=names, y=list(range(20)), look="bars")
    panel = Panel(title="", x_label="", y_label="change", series=(series,), horizontal=True)
    figure = plotly_figure(chart(panels=(panel,)))
    told = "attention (MLP) +<br>exchange of<br>&lt;surroundings&gt;"
    # The bar and the axis must agree, or plotly would add a category of its own.
    assert figure.data[0].y[0] == figure.layout.yaxis.categoryarray[0] == told
    assert figure.layout.meta["wide"]["panels"] == 20 * (22 + 2 * 17)
