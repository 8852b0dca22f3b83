"""Findings as pieces of HTML."""

import math
from html.parser import HTMLParser

import pytest

from crest._base.fragment import MARKS, IntervalBar, bars, finding, table

EVIL = "</p><script>alert('1')</script>&\"<img onerror=x>"


class Reader(HTMLParser):
    """Tags that are opened and not closed, all tags, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def read(html: str) -> Reader:
    found = Reader()
    found.feed(html)
    found.close()
    assert not found.open
    return found


def test_what_comes_from_outside_is_text_everywhere() -> None:
    made = finding(
        EVIL,
        "bad",
        sentences=[EVIL],
        parts=[
            table([EVIL, EVIL], [[EVIL, EVIL]]),
            bars(EVIL, [IntervalBar(EVIL, 1.0, 0.5, 1.5)], limit=0.4),
        ],
        todo=[EVIL],
        notes=[EVIL],
    )
    found = read(made)
    assert not {"script", "img"} & set(found.tags)
    # Headline, sentence, four cells, title and name of the chart, what to do, note.
    assert found.words.count(EVIL) == 10


def test_it_stands_alone() -> None:
    made = finding(
        "events", "good", parts=[bars("moves by", [IntervalBar("offset", 1.0, 0.5, 1.5, strong=True)])]
    )
    assert not {"script", "style", "link"} & set(read(made).tags)
    assert "http" not in made
    assert "url(" not in made


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("behind", ["#ffffff", "#14171a"])
@pytest.mark.parametrize("colour", [*MARKS.values(), "#808080"])
def test_colours_stand_out_on_light_and_dark(colour: str, behind: str) -> None:
    low, high = sorted(map(luminance, (colour, behind)))
    assert (high + 0.05) / (low + 0.05) >= 3


def test_bars_without_a_number_are_left_out() -> None:
    nan = math.nan
    assert bars("moves by", [IntervalBar("offset", nan, nan, nan)]) == ""
    two = bars(
        "moves by",
        [
            IntervalBar("offset", nan, nan, nan),
            IntervalBar("drift", 0.5, nan, nan),
            IntervalBar("gain", 2.0, 1.0, 4.0),
        ],
    )
    assert two.count("<rect") == 2
    assert two.count("<line") == 1
    # As long as their values: the interval's end at 4 is the whole width.
    widths = [float(piece.split('width="')[1].split('"')[0]) for piece in two.split("<rect")[1:]]
    assert widths == [pytest.approx(180 / 8, abs=0.1), pytest.approx(180 / 2, abs=0.1)]


def test_a_bar_that_decides_is_red_from_the_limit_on() -> None:
    def colour(value: float, strong: bool) -> str:
        return bars("m", [IntervalBar("a", value, value, value, strong=strong)], limit=0.4).split('fill="')[
            2
        ][:7]

    assert colour(0.5, True) == MARKS["bad"]
    assert colour(0.3, True) == MARKS["good"]
    assert colour(0.5, False) == "#808080"
