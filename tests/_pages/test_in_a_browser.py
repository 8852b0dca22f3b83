"""The pages of audit, repair, cues and studies in a browser: they fit, are read without a script, and answer to the keyboard."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import crest
from browsing import until
from crest.lab.evidence.study_file import study_of
from crest.lab.report.page import page
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, write
from knocks_made import knocks, network
from pages_made import CONDITIONS, SMALL, audited, audited_classes, cues, repaired
from studies_made import made_study

pytestmark = pytest.mark.slow

PAGES = ("audit", "classes", "repair", "cues", "study")
ACROSS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
# Of text that is neither wrapped nor shown as a whole: its box is wider than the page, or it is cut.
CUT = """[...document.querySelectorAll(".screen *")].filter((one) => {
  const box = one.getBoundingClientRect();
  const seen = !one.closest(".unseen, .scroll, svg") && box.width > 0 && one.textContent.trim() && !one.children.length;
  return seen && (box.left < -1 || box.right > document.documentElement.clientWidth + 1);
}).map((one) => one.textContent)"""
# Pairs of words in one picture that lie on each other.
OVERLAPS = """[...document.querySelectorAll(".screen .graph, .screen .bars")].flatMap((picture) => {
  const words = [...picture.querySelectorAll("span, b")].filter((one) => !one.closest(".unseen") && !one.children.length && one.textContent.trim());
  const boxes = words.map((one) => one.getBoundingClientRect());
  return boxes.flatMap((one, place) => boxes.slice(place + 1).flatMap((other, more) => {
    const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    return wide > 1 && high > 2 ? [words[place].textContent + " | " + words[place + more + 1].textContent] : [];
  }));
})"""
# The contrast of each kind of text with what is behind it, by the rule of WCAG.
CONTRAST = """(() => {
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const over = (colour, below) => {
    pen.fillStyle = `rgb(${below.join(",")})`; pen.fillRect(0, 0, 1, 1);
    pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (one) => {
    const above = one === document.documentElement ? [255, 255, 255] : ground(one.parentElement);
    return over(getComputedStyle(one).backgroundColor, above);
  };
  const words = [...document.querySelectorAll(".screen *")].filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
  return words.filter((one) => !one.closest("svg, .unseen")).map((one) => {
    const below = ground(one);
    const [first, second] = [light(over(getComputedStyle(one).color, below)), light(below)];
    return [(Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05), one.className + " " + one.textContent];
  }).filter(([ratio]) => ratio < 4.5);
})()"""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {
        "audit": audited(0.8).to_html(folder / "audit.html", after=audited(0.0), intro="Of knocks."),
        "classes": audited_classes().to_html(folder / "classes.html"),
        "network": crest.audit(network(), knocks(24, tie=0.9, seed=1000), exchange=SMALL).to_html(
            folder / "network.html"
        ),
        "repair": repaired().to_html(folder / "repair.html"),
        "cues": cues().to_html(folder / "cues.html"),
        "study": study_page(folder),
    }


def study_page(folder: Path) -> Path:
    """The page of a study with records that nobody trained, in which CREST alone holds in the field."""

    def numbers(spec: RunSpec) -> Numbers:
        return Numbers(ood=0.2, transient=0.9) if spec.readout == "crest" else Numbers(ood=1.2, transient=0.2)

    study = study_of(made_study(folder, models={"remedies": ["none", "high_pass"]}))
    store = write(folder / "records", [study], numbers)
    explored = [store.record(spec) for spec in study.runs if "traces" in spec.measures]
    place = folder / "study.html"
    place.write_text(page([study.piece(store)], explored, title="crest: my_study"))
    return place


@pytest.fixture
def visit(browser: Any, places: dict[str, Path]) -> Iterator[Callable[..., Any]]:
    """Opens a page; at the end nothing may have gone wrong on it, and nothing but files been asked for."""
    contexts, troubles, requests = [], [], []

    def opened(name: str, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on(
            "console", lambda told: troubles.append(told.text) if told.type in ("error", "warning") else None
        )
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(places[name].as_uri())
        if options.get("java_script_enabled", True) and tab.locator("#explorer-plot").count():
            tab.wait_for_selector("#explorer-plot[data-drawn]")
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_pages_are_small(places: dict[str, Path]) -> None:
    sizes = {name: place.stat().st_size for name, place in places.items()}
    assert max(sizes.values()) < 2_000_000
    assert sizes["repair"] < 200_000
    assert sizes["cues"] < 100_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1920])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_and_can_be_read(visit: Callable[..., Any], name: str, width: int, scheme: str) -> None:
    tab = visit(name, width, color_scheme=scheme)
    needed, there = tab.evaluate(ACROSS)
    assert needed <= there == width
    assert tab.evaluate(CUT) == []
    assert tab.evaluate(OVERLAPS) == []
    assert tab.evaluate(CONTRAST) == []


@pytest.mark.parametrize("name", PAGES)
def test_the_finding_is_seen_first(visit: Callable[..., Any], name: str) -> None:
    tab = visit(name)
    finding, first = (
        tab.locator(where).first.bounding_box() for where in (".finding-line", ".screen .panel .bars")
    )
    assert finding is not None
    assert first is not None
    assert finding["y"] < 200
    # The first picture begins on the first screen of a laptop.
    assert first["y"] < 500


@pytest.mark.parametrize("name", PAGES)
def test_without_a_script_the_finding_and_its_pictures_are_there(
    visit: Callable[..., Any], name: str
) -> None:
    tab = visit(name, java_script_enabled=False)
    words = tab.inner_text(".screen")
    assert tab.locator(".finding-line .badge").first.is_visible()
    assert re.search(r"\d\.\d", words)
    wide = tab.locator(".bars .lane i").first.bounding_box()
    assert wide is not None
    assert wide["width"] > 10
    tables = tab.locator("table")
    assert tables.count() >= 1


def test_every_picture_has_a_caption_and_words_for_who_does_not_see_it(visit: Callable[..., Any]) -> None:
    for name in PAGES:
        tab = visit(name)
        for panel in tab.locator(".screen .panel").all():
            assert panel.locator("figcaption .told").inner_text().strip().endswith(".")
        for graph in tab.locator(".screen .graph").all():
            assert graph.get_attribute("role") == "img"
            assert len(graph.get_attribute("aria-label") or "") > 10
        for row in tab.locator(".screen .bars li:not(.over)").all():
            assert re.search(r"\d|—", row.inner_text())


def test_a_study_has_a_bar_for_each_error_of_each_model(visit: Callable[..., Any]) -> None:
    tab = visit("study")
    assert tab.locator(".finding-line.good .badge").inner_text() == "the pick holds in the field"
    assert tab.locator(".bars .key, .panel .key").first.inner_text().split() == [
        "ID",
        "expected",
        "field",
        "(OOD)",
    ]
    rows = tab.locator(".bars").first.locator("li:not(.over)")
    assert rows.count() == 8
    wide = rows.evaluate_all(
        "(rows) => rows.map((row) => [...row.querySelectorAll('.lane i')].map((bar) => bar.getBoundingClientRect().width))"
    )
    first, last = wide[0], wide[-1]
    assert len(first) == len(last) == 3
    # ID 0.1, expected 0.2 and 0.9, field 0.2 and 1.2.
    assert [side / first[0] for side in first] == pytest.approx([1, 2, 2], abs=0.1)
    assert [side / last[0] for side in last] == pytest.approx([1, 9, 12], abs=0.2)
    assert rows.last.locator(".values .above").count() == 1
    # On a phone a name stands above its bars, in one piece.
    small = visit("study", 390).locator(".bars").first.locator("li:not(.over)").first
    name, track = (small.locator(where).bounding_box() for where in (".name", ".track"))
    assert name["y"] + name["height"] <= track["y"] + 1
    assert name["width"] > 300


def test_own_and_swapped_signal_lie_in_one_picture_with_the_core_shaded(visit: Callable[..., Any]) -> None:
    for width in (390, 1280):
        tab = visit("audit", width)
        picture = tab.locator(".screen .graph.tall")
        assert picture.count() == 1
        assert tab.locator(".key.lines").inner_text().split("\n") == [
            *("own signal", "swapped signal", "own slow background", "slow background of the swapped signal"),
            "core",
        ]
        boxes = {
            kind: picture.locator(f"path.{kind}").bounding_box()
            for kind in ("strand-own", "strand-swapped", "strand-own-slow", "strand-swapped-slow", "shaded")
        }
        area = picture.locator("svg").bounding_box()
        for kind, box in boxes.items():
            assert box["y"] >= area["y"] - 3, kind
            assert box["y"] + box["height"] <= area["y"] + area["height"] + 3, kind
        # The knock is at steps 80 to 85 of 160, and shaded.
        middle = area["x"] + area["width"] * 83 / 159
        assert boxes["shaded"]["x"] < middle < boxes["shaded"]["x"] + boxes["shaded"]["width"]
        assert boxes["shaded"]["height"] == pytest.approx(area["height"], abs=1)
        colours = picture.evaluate(
            """(graph) => [...graph.querySelectorAll("path[class^=strand]")].map((one) => getComputedStyle(one).stroke)"""
        )
        assert len(set(colours)) == 4
        fill = picture.locator("path.shaded").evaluate("(one) => getComputedStyle(one).fill")
        assert fill not in ("none", "rgba(0, 0, 0, 0)")


@pytest.mark.parametrize("name", ["audit", "repair"])
def test_dots_have_the_colour_of_their_condition(visit: Callable[..., Any], name: str) -> None:
    tab = visit(name)
    legend = dict(
        tab.locator(".groups span").evaluate_all(
            "(all) => all.map((one) => [one.textContent, one.style.getPropertyValue('--of')])"
        )
    )
    assert len(set(legend.values())) == 3
    dots = tab.locator(".pairs .graph").first.evaluate(
        "(graph) => [...graph.querySelectorAll('.dot')].map((one) => [one.textContent, one.style.getPropertyValue('--of')])"
    )
    assert len(dots) == 24
    for told, colour in dots:
        # The audit knows the names of trajectories, the repair their numbers.
        number = int(re.match(r"\D+(\d+)", told)[1])
        assert colour == legend[CONDITIONS[number]]


def test_dots_are_where_their_numbers_are(visit: Callable[..., Any]) -> None:
    tab = visit("audit")
    pairs = tab.locator(".pairs .graph").first.evaluate(
        """(graph) => [...graph.querySelectorAll(".dot")].map((dot) => {
          const [own, area] = [dot.getBoundingClientRect(), graph.querySelector("svg").getBoundingClientRect()];
          const [, x, y] = dot.textContent.replaceAll("−", "-").match(/true (\\S+), predicted (\\S+)/).map(Number);
          return [x, y, (own.left + own.right) / 2 - area.left, area.bottom - (own.top + own.bottom) / 2, area.width];
        })"""
    )
    assert len(pairs) == 24
    pairs.sort()
    (x0, _, left, _, wide), (x1, _, right, _, _) = pairs[0], pairs[-1]
    per = (right - left) / (x1 - x0)
    assert right - left > wide / 2
    for x, y, across, up, _ in pairs:
        # One scale for both axes: what is right lies on the diagonal.
        assert across - left == pytest.approx(per * (x - x0), abs=3)
        assert up - across == pytest.approx(per * (y - x), abs=3)


def test_a_list_with_one_entry_is_not_shown(visit: Callable[..., Any]) -> None:
    pair, alone = visit("audit"), visit("classes")
    shown = {
        name: pair.locator(f"#explorer-{name}").is_visible()
        for name in ("system", "trajectory", "readout", "other")
    }
    assert shown == {"system": False, "trajectory": True, "readout": True, "other": True}
    assert not alone.locator("#explorer-readout").is_visible()
    assert not alone.locator("#explorer-other").is_visible()
    # Nobody knows the sample rate: there is no frequency.
    assert not alone.locator("#explorer-tabs").is_visible()


def test_the_explorer_of_one_model_has_no_name_and_no_title_is_cut(visit: Callable[..., Any]) -> None:
    layout = "document.getElementById('explorer-plot').layout"
    for width in (390, 1280):
        tab = visit("network", width)
        titles = tab.evaluate(f"{layout}.annotations.map((one) => one.text)")
        axes = tab.evaluate(f"Object.values({layout}).map((one) => one?.title?.text).filter(Boolean)")
        assert "<b>credit</b>" in titles
        assert "<b>transience of the features</b>" in titles
        assert not [text for text in titles if "…" in text or "as it is" in text]
        assert "r" not in axes
        # On a phone there is no room for the names of the axes.
        assert ("transience" in axes) == (width == 1280)
        assert "as it is" not in tab.inner_text("#explorer-facts")
        below, heading = (tab.locator(where).bounding_box() for where in ("#explorer-plot", "#numbers"))
        assert heading["y"] - below["y"] - below["height"] > 20


def test_spectra_are_tabs_that_answer_to_the_keyboard(visit: Callable[..., Any]) -> None:
    tab = visit("audit")
    axis = (
        "Object.entries(document.getElementById('explorer-plot').layout).filter(([key]) => key.startsWith('xaxis'))"
        ".map(([, one]) => one.title?.text).filter(Boolean).at(-1)"
    )
    assert "time (s)" in tab.evaluate(axis)
    tab.focus("#explorer-tab-time")
    for name in ("spectrum", "envelope"):
        tab.keyboard.press("ArrowRight")
        until(tab, f"{axis} === 'frequency (Hz)'")
        assert tab.get_attribute(f"#explorer-tab-{name}", "aria-selected") == "true"
        assert tab.evaluate("document.activeElement.id") == f"explorer-tab-{name}"
        assert re.match(r"acceleration: strongest at [\d.]+ Hz", tab.inner_text("#explorer-peaks"))
    drawn = json.loads(tab.evaluate("JSON.stringify(document.getElementById('explorer-plot').data[0].x)"))
    assert drawn[-1] == pytest.approx(400, rel=0.05)
    tab.keyboard.press("ArrowRight")
    until(tab, f"{axis}.startsWith('time')")
    assert not tab.locator("#explorer-peaks").is_visible()


def test_the_theme_of_the_first_screen_follows_the_button(visit: Callable[..., Any]) -> None:
    tab = visit("cues", color_scheme="light")
    colour = "getComputedStyle(document.querySelector('.badge')).backgroundColor"
    before = tab.evaluate(colour)
    tab.click("#theme")
    assert tab.evaluate(colour) != before
