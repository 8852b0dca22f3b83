"""The page in a browser: it opens from the disk, asks for nothing, and answers to its controls."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from browsing import until
from crest._audit import audit
from crest.lab.evidence.shown import Shown, Table
from crest.lab.report.page import page
from packed_made import ragged
from report_made import bar_panel, chart, line_panel, piece, records, table
from report_made import record as made_record

pytestmark = pytest.mark.slow

WIDE, NARROW = 1280, 390


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    header = ("readout", *(f"a long column {number}" for number in range(12)))
    wide = Table(
        name="wide", caption="Wide. " * 40, header=header, rows=(("crest", *["0.123 ± 0.045"] * 12),)
    )
    many = tuple(line_panel(f"panel {number}", log_x=True) for number in range(3))
    last = Shown(
        tables=(table(), wide), charts=(chart("many", (*many, bar_panel())), chart("one", (bar_panel(),)))
    )
    pieces = [
        piece("first"),
        piece("second"),
        piece("third", found=1, shown=last, command="crest run " + "x" * 90),
    ]
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(page(pieces, records(), title="A report with a longish title", intro="One.\n\nTwo."))
    return path.as_uri()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """Opens the page; at the end nothing may have gone wrong on it, and nothing but files been asked for."""
    contexts, troubles, requests = [], [], []

    def opened(width: int = WIDE, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on(
            "console",
            lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None,
        )
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(address)
        tab.add_style_tag(content="html { scroll-behavior: auto !important; }")
        tab.wait_for_selector("#explorer-plot[data-drawn]")
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
    assert requests
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def scroll_through(tab: Any) -> None:
    for chart_box in tab.query_selector_all(".chart"):
        chart_box.scroll_into_view_if_needed()
        chart_box.wait_for_selector("svg.main-svg", state="attached")
    until(tab, "[...document.querySelectorAll('.chart')].every((div) => div.dataset.drawn)")


def plotted(tab: Any) -> str:
    """All that the explorer draws, as text."""
    return str(
        tab.evaluate(
            "(() => { const plot = document.getElementById('explorer-plot');"
            " return JSON.stringify([plot.data.map((t) => [t.name, t.y, t.line?.width]), plot.layout.shapes]); })()"
        )
    )


def facts(tab: Any) -> str:
    return str(tab.inner_text("#explorer-facts"))


def choose(tab: Any, name: str, place: int) -> None:
    tab.evaluate("delete document.getElementById('explorer-plot').dataset.drawn")
    tab.select_option(f"#explorer-{name}", index=place)
    tab.wait_for_selector("#explorer-plot[data-drawn]")


def test_claims_are_in_the_verdicts(visit: Callable[..., Any]) -> None:
    tab = visit()
    rows = tab.locator("#verdicts .claims > li")
    assert rows.count() == 4
    assert "first: CREST errs less" in rows.nth(0).inner_text()
    assert "holds" in rows.nth(0).inner_text()
    assert not rows.nth(2).locator("a").is_visible()
    rows.nth(2).locator("summary").focus()
    tab.keyboard.press("Enter")
    rows.nth(2).locator("a").click()
    assert tab.evaluate("location.hash") == "#piece-second"


def test_each_select_of_the_explorer_changes_the_picture(visit: Callable[..., Any]) -> None:
    tab = visit()
    seen = [(plotted(tab), facts(tab))]
    for name, place in (("readout", 2), ("other", 0), ("trajectory", 0), ("system", 1)):
        choose(tab, name, place)
        seen.append((plotted(tab), facts(tab)))
        assert seen[-1][0] != seen[-2][0], name
        assert seen[-1][1] != seen[-2][1], name
    assert seen[0][1].startswith("attention (dot)")
    assert "CREST" in seen[0][1]
    assert seen[1][1].startswith("mean")
    assert tab.locator("#explorer-readout").evaluate("(s) => s.selectedOptions[0].text") == "mean"


def test_names_are_text_and_nothing_else(browser: Any, tmp_path: Path) -> None:
    name = '<a href="https://example.org">a &amp; b</a> %{y} <i>c</i>'
    (record, *_) = records()
    assert record.traces is not None
    traces = dataclasses.replace(record.traces, channels=[name, *record.traces.channels[1:]])
    path = tmp_path / "report.html"
    path.write_text(page([piece()], [dataclasses.replace(record, traces=traces)], title="Names"))
    tab = browser.new_page()
    tab.goto(path.as_uri())
    tab.wait_for_selector("#explorer-plot[data-drawn]")
    assert tab.locator("#explorer-plot svg a").count() == 0
    assert name in tab.locator("#explorer-plot .annotation-text").first.evaluate("(text) => text.textContent")
    tab.evaluate("Plotly.Fx.hover('explorer-plot', [{ curveNumber: 0, pointNumber: 3 }])")
    tab.wait_for_selector("#explorer-plot .hovertext", state="attached", timeout=5000)
    shown = tab.locator("#explorer-plot .hovertext").first.evaluate("(box) => box.textContent")
    assert name in shown
    assert tab.locator("#explorer-plot svg a").count() == 0
    tab.close()


def test_the_explorer_calls_classes_by_their_names(browser: Any, tmp_path: Path) -> None:
    made = made_record("gear", "mean", system_options={"threshold": 0.5}, objective="cross_entropy")
    assert made.traces is not None
    rows = [dataclasses.replace(row, y=1.0, prediction=0.0) for row in made.traces.rows]
    made = dataclasses.replace(made, traces=dataclasses.replace(made.traces, rows=rows))
    path = tmp_path / "report.html"
    path.write_text(page([piece()], [made], title="Classes"))
    tab = browser.new_page()
    tab.goto(path.as_uri())
    tab.wait_for_selector("#explorer-plot[data-drawn]")
    assert re.search(r"no fault\s+class fault\s+Class\s+wrong", facts(tab), re.IGNORECASE)
    assert "deviations" not in facts(tab)
    chosen = tab.locator("#explorer-trajectory").evaluate("(s) => s.selectedOptions[0].text")
    assert ": class fault" in chosen
    tab.close()


def test_the_page_of_an_audit_leaves_padding_out_and_has_classes(browser: Any, tmp_path: Path) -> None:
    x, y, lengths = ragged()
    events = torch.arange(x.shape[1]).expand(x.shape[:2]) < 4

    def logits(x: Tensor, lengths: Tensor) -> Tensor:
        return torch.stack([x[:, 0, 0], -x[:, 0, 0]], 1)

    audited = audit(logits, (x, (y > 0).long(), lengths), events=events)
    trace = audited.traces.rows[0]
    valid = int(lengths[trace.index])
    tab = browser.new_page()
    tab.goto(audited.to_html(tmp_path / "audit.html").as_uri())
    tab.wait_for_selector("#explorer-plot[data-drawn]")
    drawn = json.loads(plotted(tab))[0]
    # The last is the key of the legend.
    assert {len([one for one in y if one is not None]) for _, y, _ in drawn[:-2]} == {valid}
    assert f"chance {100 * 4 / valid:.1f} %" in facts(tab)
    assert re.search(r"Prediction\s+[01]\s+class [01]\s+Class\s+(right|wrong)", facts(tab), re.IGNORECASE)
    chosen = tab.locator("#explorer-trajectory").evaluate("(s) => s.selectedOptions[0].text")
    assert chosen.endswith(f": class {trace.y:.0f}")
    tab.close()


def test_the_explorer_shows_the_numbers_of_the_record(visit: Callable[..., Any]) -> None:
    tab = visit()
    record = records()[1]
    assert record.traces is not None
    # It opens on the first trajectory out of distribution.
    trace = record.traces.rows[1]
    drawn = {name: y for name, y, _ in json.loads(plotted(tab))[0]}
    steps = len(trace.credit)
    assert drawn["angle"] == pytest.approx(trace.signals[0], rel=1e-4)
    # Times the even share, in parts of the largest.
    assert drawn["CREST"] == pytest.approx([steps * share for share in trace.credit], abs=2e-3 * steps * 0.1)
    assert drawn["votes"] == pytest.approx(trace.votes, abs=1e-3)
    assert {"attention (dot)", "mean", "transience", "event steps"} <= set(drawn)
    assert tab.evaluate("document.getElementById('explorer-plot').layout.images.length") == 3
    assert trace.events is not None
    share = sum(trace.credit[step] for step in trace.events)
    assert f"{100 * share:.1f} %" in facts(tab)
    assert f"chance {100 * len(trace.events) / len(trace.credit):.1f} %" in facts(tab)
    assert f"{abs(trace.prediction - trace.y):.3f}" in facts(tab)
    bands = [(shape["x0"], shape["x1"]) for shape in json.loads(plotted(tab))[1]]
    first, rate = trace.events[0], record.traces.sample_rate
    # In seconds.
    assert bands[0] == pytest.approx(((first - 0.5) / rate, (first + 1.5) / rate))
    assert bands[1] == pytest.approx(((first + 2.5) / rate, (first + 3.5) / rate))
    assert set(bands) == set(bands[:2])
    choose(tab, "other", 0)
    assert "votes" not in plotted(tab)


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_nothing_overflows_and_all_charts_are_drawn(visit: Callable[..., Any], width: int) -> None:
    tab = visit(width, has_touch=width == NARROW)
    assert tab.locator(".chart[data-drawn]").count() < tab.locator(".chart").count()
    scroll_through(tab)
    across = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    needed, there = tab.evaluate(across)
    assert needed <= there == width
    assert tab.evaluate(
        "[...document.querySelectorAll('.plot')].every((p) => p.scrollWidth <= p.clientWidth)"
    )
    wide = tab.locator(".scroll").last
    assert wide.evaluate("(box) => box.scrollWidth > box.clientWidth")
    caption = wide.locator("caption span").bounding_box()
    assert caption is not None
    assert caption["x"] + caption["width"] <= width
    shares = tab.evaluate("[...document.querySelectorAll('.chart')].at(-2).layout.xaxis.domain[1]")
    assert (shares == 1) is (width == NARROW)


def test_panels_move_when_the_window_is_narrowed(visit: Callable[..., Any]) -> None:
    tab = visit()
    scroll_through(tab)
    tab.set_viewport_size({"width": NARROW, "height": 800})
    until(tab, "[...document.querySelectorAll('.chart')].at(-2).layout.xaxis.domain[1] === 1")
    until(tab, "document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_light_and_dark_follow_the_system_and_the_button(visit: Callable[..., Any]) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "document.getElementById('explorer-plot').layout.font.color"
    light, dark = visit(color_scheme="light"), visit(color_scheme="dark")
    assert light.evaluate(ground) != dark.evaluate(ground)
    assert light.evaluate(ink) != dark.evaluate(ink)
    light.focus("#theme")
    light.keyboard.press("Enter")
    assert light.evaluate(ground) == dark.evaluate(ground)
    until(light, f"{ink} === {json.dumps(dark.evaluate(ink))}")
    assert "light" in (light.get_attribute("#theme", "aria-label") or "")
    light.reload()
    assert light.evaluate(ground) == dark.evaluate(ground)


def test_storage_that_is_refused_harms_nothing(browser: Any, address: str) -> None:
    context = browser.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })"
    )
    tab, troubles = context.new_page(), []
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.goto(address)
    before = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.click("#theme")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert troubles == []
    context.close()


def test_the_contents_open_and_close_on_a_phone(visit: Callable[..., Any]) -> None:
    tab = visit(NARROW)
    contents = tab.locator(".toc details")
    assert not contents.evaluate("(box) => box.open")
    tab.click(".toc summary")
    tab.click(".toc a[href='#piece-third']")
    assert not contents.evaluate("(box) => box.open")
    assert tab.evaluate("location.hash") == "#piece-third"
    assert visit(WIDE).locator(".toc details").evaluate("(box) => box.open")


def test_printing_draws_every_chart_as_wide_as_the_paper(visit: Callable[..., Any], tmp_path: Path) -> None:
    tab = visit(color_scheme="dark")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    until(tab, "[...document.querySelectorAll('.chart')].every((div) => div.dataset.drawn)")
    widths = "[...document.querySelectorAll('.js-plotly-plot')].map((plot) => plot._fullLayout.width)"
    until(tab, f"{widths}.every((width) => width <= 680)")
    # Ink on white, whatever the screen has.
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    until(tab, f"{widths}.some((width) => width > 680)")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"


def test_a_printed_page_has_no_controls_and_tables_that_keep_to_it(visit: Callable[..., Any]) -> None:
    tab = visit(680)
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    for hidden in (".toc", ".theme", ".choices", ".steps", ".filters"):
        assert tab.locator(f"{hidden}:visible").count() == 0, hidden
    tables = tab.locator(".scroll table:visible")
    assert tables.count() >= 2
    assert tables.evaluate_all("(all) => Math.max(...all.map((one) => one.offsetWidth))") <= 680


def test_claims_are_filtered_by_verdict(visit: Callable[..., Any]) -> None:
    tab = visit()
    rows, button = tab.locator(".claims > li:visible"), tab.locator(".filters button[data-shows='holds']")
    button.focus()
    tab.keyboard.press("Enter")
    assert rows.count() == 2
    assert all("holds" in text for text in rows.all_inner_texts())
    assert button.get_attribute("aria-pressed") == "true"
    assert tab.inner_text("#shown") == "2 of 4 shown"
    # A link to a hidden claim shows it, unfolded.
    tab.evaluate("location.hash = '#claim-first-2'")
    tab.wait_for_selector("#claim-first-2 details[open]")
    tab.click(".filters button[data-shows='']")
    assert rows.count() == 4


def test_the_address_keeps_the_choice(visit: Callable[..., Any]) -> None:
    tab = visit()
    choose(tab, "system", 1)
    choose(tab, "readout", 2)
    for _ in range(2):
        tab.evaluate("delete document.getElementById('explorer-plot').dataset.drawn")
        tab.click("#explorer-previous" if _ == 0 else "#explorer-next")
        tab.wait_for_selector("#explorer-plot[data-drawn]")
    tab.click("#explorer-previous")
    assert tab.is_disabled("#explorer-previous")
    seen, address = facts(tab), tab.evaluate("location.href")
    assert tab.evaluate("document.getElementById('explorer-link').href") == address
    again = visit()
    again.goto("about:blank")
    again.goto(address)
    again.wait_for_selector("#explorer-plot[data-drawn]")
    assert facts(again) == seen
    assert again.locator("#explorer-system").evaluate("(s) => s.selectedOptions[0].text") == "Impact"
    assert again.locator("#explorer-readout").evaluate("(s) => s.selectedOptions[0].text") == "mean"


@pytest.mark.parametrize("how", ["hover", "focus", "tap"])
def test_a_word_opens_its_meaning(visit: Callable[..., Any], how: str) -> None:
    tab = visit(NARROW, has_touch=True)
    word = tab.locator(".lead a.term").first
    assert tab.locator("#meaning").is_hidden()
    getattr(word, how)()
    assert "A quantity that goes with the label" in tab.inner_text("#meaning")
    assert word.get_attribute("aria-describedby") == "meaning"
    assert tab.evaluate("location.hash") == ""
    tab.keyboard.press("Escape")
    assert tab.locator("#meaning").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400, 1920])
def test_the_page_is_quiet_and_fits(visit: Callable[..., Any], width: int, scheme: str) -> None:
    tab = visit(width, color_scheme=scheme)
    across = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    needed, there = tab.evaluate(across)
    assert needed <= there == width
    ink, ground = (
        sum(map(int, re.findall(r"\d+", colour)[:3]))
        for colour in tab.evaluate(
            "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
        )
    )
    assert (ink < ground) is (scheme == "light")


def test_a_table_says_where_it_goes_on(visit: Callable[..., Any]) -> None:
    tab = visit(NARROW)
    wide = tab.locator(".scroll").last
    wide.scroll_into_view_if_needed()
    until(tab, "[...document.querySelectorAll('.scroll')].at(-1).hasAttribute('data-right')")
    before = wide.locator("tbody th").bounding_box()["x"]
    wide.evaluate("(box) => { box.scrollLeft = 200; }")
    until(tab, "[...document.querySelectorAll('.scroll')].at(-1).hasAttribute('data-left')")
    assert wide.locator("tbody th").bounding_box()["x"] == before
