import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import crest._pages
from crest._pages.colours import COLOURS, SYMBOLS, colour, faded

READOUTS = list(COLOURS)[: list(COLOURS).index("event")]


def luminance(ink: str) -> float:
    parts = np.array([int(ink[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("key", COLOURS)
def test_colours_stand_out_on_both_backgrounds_of_the_page(key: str) -> None:
    style = (Path(crest._pages.__file__).parent / "templates" / "page.css").read_text()
    backgrounds = set(re.findall(r"--paper: (#\w{6})", style))
    assert len(backgrounds) == 2
    assert min(contrast(COLOURS[key], ground) for ground in backgrounds) >= 3


def test_readouts_differ_in_colour_or_at_least_in_shape() -> None:
    assert set(SYMBOLS) <= set(COLOURS)
    for one, other in itertools.combinations(READOUTS, 2):
        assert COLOURS[one] != COLOURS[other]
        far = np.abs(
            np.subtract(
                *([int(COLOURS[key][place : place + 2], 16) for place in (1, 3, 5)] for key in (one, other))
            )
        ).max()
        assert far > 40 or SYMBOLS[one] != SYMBOLS[other]


def test_an_unknown_colour_lists_the_choices() -> None:
    with pytest.raises(ValueError, match=r"colour must be one of attention, .* got 'pink'"):
        colour("pink")


def test_a_faded_colour_is_the_same_colour() -> None:
    for key, ink in COLOURS.items():
        parts = [int(ink[place : place + 2], 16) for place in (1, 3, 5)]
        assert faded(key, 0.15) == f"rgba({parts[0]}, {parts[1]}, {parts[2]}, 0.15)"


def test_a_colour_has_one_meaning() -> None:
    same = [
        {one, other} for one, other in itertools.combinations(COLOURS, 2) if COLOURS[one] == COLOURS[other]
    ]
    assert same == [{"crest", "core"}, {"event_window", "event"}]
