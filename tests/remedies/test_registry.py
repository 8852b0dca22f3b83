from typing import Any

import pytest
import torch
from torch import nn

import crest
from crest.nuisances import NAMES
from crest.remedies import CONTROL, REMEDIES, USUAL_REMEDIES, Remedy
from crest.remedies.registry import remedies_of
from places import ROOT

FITTING = {
    "standardise", "whiten", "envelope", "tone filter", "exchange of gain", "exchange of colour", "exchange of tones",
    "exchange of surroundings", "stretch", "balanced",
}  # fmt: skip
"""What is tried if it fits, and whiten, which is tried by name alone."""


def test_what_is_tried_if_it_fits_is_no_part_of_the_kept_records() -> None:
    assert not any(REMEDIES[name].measured or REMEDIES[name].usual for name in FITTING)
    answered = {name for one in REMEDIES.values() for name in one.against}
    assert answered == set(NAMES)
    assert REMEDIES["high-pass"].against == REMEDIES["exchange"].against == ("offset", "drift")


def test_the_usual_ones_are_neither_the_control_nor_trained_for_the_test() -> None:
    assert set(REMEDIES) - set(USUAL_REMEDIES) == {CONTROL, "core exchange", *FITTING}
    control = REMEDIES[CONTROL]
    assert (control.front, control.change, control.pooling, control.needs_fit) == (None, None, None, True)


def test_who_trains_with_a_separation_of_the_exchange_test_is_judged_on_another() -> None:
    assert {name: one.judged_on for name, one in REMEDIES.items() if one.judged_on} == {
        "core exchange": "slow", "exchange of tones": "periodic", "exchange of surroundings": "slow",
    }  # fmt: skip


def test_names_are_looked_up() -> None:
    assert remedies_of(["CREST", "CREST"]) == {"CREST": REMEDIES["CREST"]}
    assert remedies_of(dict(REMEDIES)) == REMEDIES
    assert remedies_of({"mine": "exchange"}) == {"mine": REMEDIES["exchange"]}
    assert remedies_of({"mine": "high-pass"})["mine"].front_name == "high-pass"


def test_every_form_of_ones_own() -> None:
    front, change, jitter = nn.Conv1d(1, 1, 3), torch.neg, crest.JitterLevel()
    mine = Remedy(front=lambda **_: front)
    found = remedies_of(
        {
            "a": front,
            "b": change,
            "c": (front, change),
            "d": jitter,
            "e": mine,
            "f": (None, change),
            "g": (front, jitter),
        }
    )
    made = {name: one.front and one.front(channels_first=True) for name, one in found.items() if name != "e"}
    assert {name for name, one in made.items() if one is not None} == {"a", "c", "g"}
    # A copy for every candidate.
    assert made["a"] is not front
    assert torch.equal(made["a"].weight, front.weight)
    changes = {
        name: one.change(generator=None, channels_first=True)
        for name, one in found.items()
        if one.change is not None
    }
    assert changes == {"b": change, "c": change, "d": jitter, "f": change, "g": jitter}
    assert found["e"] is mine


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("CREST", r"^remedies must be a list of names, or a mapping of names to remedies, got 'CREST'"),
        (3, r"^remedies must be a list of names, or a mapping"),
        (["high pass"], r"^remedies must be one of trained longer, .* did you mean 'high-pass'\?"),
        ({"mine": "high pass"}, r"^remedies\['mine'\] must be one of trained longer, "),
        ({"": nn.ReLU()}, r"^remedies must have names as keys, got ''"),
        ({3: nn.ReLU()}, r"^remedies must have names as keys, got 3"),
        ({"CREST": nn.ReLU()}, r"^remedies must have new names for your own remedies, got 'CREST', which is a known one"),
        ({"CREST": "exchange"}, r"^remedies must have new names for your own remedies, got 'CREST'"),
        ({"mine": 3}, r"^remedies\['mine'\] must be a module, a function .* or a known name, got int"),
        ({"mine": (torch.neg, nn.ReLU())}, r"^remedies\['mine'\] must be .* a pair of both \(module first\), .* got tuple"),
        ({"mine": (nn.ReLU(), 3)}, r"^remedies\['mine'\] must be .* got tuple"),
        ({"mine": (None, None)}, r"^remedies\['mine'\] must be .* got tuple"),
        ({"mine": (nn.ReLU(),)}, r"^remedies\['mine'\] must be .* got tuple"),
    ],
)  # fmt: skip
@pytest.mark.unchecked
def test_what_is_no_remedy_is_refused_by_name(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        remedies_of(given)


@pytest.mark.parametrize("name", REMEDIES)
def test_the_manual_has_every_remedy_with_its_sentence(name: str) -> None:
    one = REMEDIES[name]
    needs = {
        (True, False): "`fit`",
        (True, True): "`fit`, a place where the model pools",
        (False, True): "a place where the model pools, a linear head",
    }[one.needs_fit, one.needs_pooling] + (", conditions" if one.needs_conditions else "")
    assert f"| {name} | {needs} | {one.sentence} |" in (ROOT / "docs" / "user" / "helps.md").read_text()
    studies = (ROOT / "docs" / "lab" / "studies.md").read_text()
    assert one.key is None or f"`{one.key}`" in studies
