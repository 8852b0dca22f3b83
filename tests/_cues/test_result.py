import dataclasses
import json

import pytest
import torch

from crest._cues import Cue, Cues
from crest._cues.result import told_tie
from crest.exchange.ties import tie_of


def made(chance: float = 0.0) -> Cues:
    tie = tie_of(torch.tensor([0, 1] * 8), [600, 900] * 8)
    return Cues(
        rows=(
            Cue(name="offset", score=0.94, interval=(0.9, 0.96), chance=chance, by_condition=0.02),
            Cue(name="colour", score=0.8, interval=(0.7, 0.9), chance=chance, around=-0.1, by_condition=0.5),
            Cue(name="core", score=-0.03, interval=(-0.1, 0.0), chance=chance),
        ),
        measure="balanced accuracy" if chance else "R2",
        trajectories=16,
        groups=4,
        classes=("a", "b") if chance else (),
        tie=tie,
        sentences=("The offset alone explains it.",),
        notes=("y has classes",),
    )


def test_it_is_a_table_with_sentences_below() -> None:
    head, titles, offset, colour, brief, sentence, note = repr(made()).splitlines()
    assert head == "Cues in 16 trajectories: R2 of the target, each of 4 groups left out"
    assert titles.split("  ")[-1].strip() == "by condition"
    assert offset.split() == ["offset", "0.94", "0.90", "to", "0.96", "0.02"]
    assert colour.split() == ["colour", "0.80", "0.70", "to", "0.90", "none", "0.50"]
    assert brief.split() == ["what", "is", "brief", "none", "-0.10", "to", "0.00"]
    assert len(titles) == len(offset) == len(colour)
    assert (sentence, note) == ("The offset alone explains it.", "Assumed: y has classes")
    assert (
        repr(made(0.5))
        .splitlines()[0]
        .endswith("balanced accuracy of the target, each of 4 groups left out, chance 0.50")
    )


def test_a_share_is_from_chance_to_perfect() -> None:
    offset, colour, core = made(0.5).rows
    assert (offset.share, offset.least_share) == pytest.approx((0.88, 0.8))
    assert (colour.share_around, core.share, core.share_around) == (0.0, 0.0, None)


def test_a_row_is_found_by_its_name() -> None:
    assert made()["core"].score == -0.03
    with pytest.raises(KeyError, match="name must be one of offset, colour, core, got 'ofset'"):
        _ = made()["ofset"]


def test_it_is_plain_values() -> None:
    told = json.loads(json.dumps(made().to_dict()))
    assert told["rows"][1] == {
        "name": "colour", "score": 0.8, "interval": [0.7, 0.9], "chance": 0.0, "share": 0.8, "beats_constant": True, "around": -0.1, "by_condition": 0.5,
    }  # fmt: skip
    assert told["tie"] == {
        "targets": ["0", "1"], "conditions": ["600", "900"], "counts": [[8, 0], [0, 8]], "strength": 1.0, "tied": True, "breaking": 0,
    }  # fmt: skip
    assert told_tie(made().tie) == told["tie"]


def test_a_notebook_shows_the_table_and_what_it_means() -> None:
    found = made()
    page = found._repr_html_()
    assert "a nuisance alone tells the target" in page
    # The offset tells it, and what is brief does not.
    assert 'aria-label="bad"' in page
    assert ">0.94</td>" in page
    assert "The offset alone explains it." in page
    brief = dataclasses.replace(found.rows[2], score=0.9, interval=(0.8, 0.95))
    assert 'aria-label="doubt"' in dataclasses.replace(found, rows=(*found.rows[:2], brief))._repr_html_()
    # The colour is that of the events themselves.
    assert 'aria-label="good"' in dataclasses.replace(found, rows=found.rows[1:])._repr_html_()
