import itertools

import pytest
import torch

from crest._base.rng import torch_generator
from crest.nuisances import NAMES
from crest.remedies import CONTROL, REMEDIES, Augmentation, Chain, Envelope, Standardise, fitting_remedies
from places import ROOT

EVERY = [some for count in range(1, 8) for some in itertools.combinations(NAMES, count)]


@pytest.mark.parametrize(
    ("nuisances", "names"),
    [
        ("offset", ["AC coupling", "level jitter", "exchange"]),
        ("drift", ["high-pass", "exchange"]),
        ("tones", ["tone filter", "exchange of tones"]),
        ("gain", ["standardise", "exchange of gain"]),
        ("colour", ["exchange of colour"]),
        ("rate", ["stretch"]),
        ("colour+rate", ["exchange of colour", "stretch", "colour + stretch"]),
        (("gain", "colour", "rate"), ["standardise", "standardise + colour + stretch", "envelope + stretch"]),
        ((), []),
    ],
)
def test_what_fits(nuisances: str, names: list[str]) -> None:
    assert list(fitting_remedies(nuisances)) == names


def test_known_conditions_bring_balanced_sampling() -> None:
    found = fitting_remedies("gain+colour+rate", conditions=True)
    assert list(found)[3:] == [
        "balanced",
        "balanced + standardise + colour + stretch",
        "balanced + envelope + stretch",
    ]
    assert [one.needs_conditions for one in found.values()] == [False] * 3 + [True] * 3


def test_a_combination_does_what_its_pieces_do() -> None:
    found = fitting_remedies("gain+colour+rate", conditions=True)
    both = found["balanced + standardise + colour + stretch"]
    assert isinstance(both.front(channels_first=True), Standardise)
    # By which a saved repair knows its front again.
    assert both.front_name == "standardise"
    change = both.change(generator=torch_generator(0, "test"), channels_first=True)
    assert isinstance(change, Chain)
    assert [repr(one) for one in change.changes] == [
        "ExchangeNuisances('colour', probability=0.5)",
        "Stretch(low=0.5, high=2.0, probability=0.5)",
    ]
    x = torch.randn(8, 1, 200)
    assert not torch.equal(change(x), x)
    assert both.balanced
    assert both.against == ("offset", "gain", "colour", "rate")
    assert both.sentence == "Joins balanced, standardise, exchange of colour and stretch."
    single = found["envelope + stretch"]
    assert isinstance(single.front(), Envelope)
    assert single.change is REMEDIES["stretch"].change


@pytest.mark.parametrize("conditions", [False, True])
def test_few_are_tried_and_each_answers_and_takes_nothing_that_was_not_named(conditions: bool) -> None:
    for nuisances in EVERY:
        found = fitting_remedies(nuisances, conditions=conditions)
        assert 1 <= len(found) <= 8
        for name, one in found.items():
            assert one.balanced or set(one.against) & set(nuisances), (nuisances, name)
            assert set(one.against) <= {*nuisances, "offset", "drift"}, (nuisances, name)
            assert name.removeprefix("balanced + ").count(" + ") <= 2
            assert one.balanced == name.startswith("balanced")
            if one.change is not None:
                assert isinstance(one.change(generator=None, channels_first=False), Augmentation)
        # What is named is answered by something.
        answered = {name for one in found.values() for name in one.against}
        assert set(nuisances) <= answered or len(nuisances) > 3, nuisances


def test_what_never_fits_by_itself_is_what_the_registry_and_the_manual_say() -> None:
    seen = {name for nuisances in EVERY for name in fitting_remedies(nuisances, conditions=True)}
    pooled = {name for name, one in REMEDIES.items() if one.needs_pooling}
    assert set(REMEDIES) - seen == {CONTROL, "whiten", *pooled}
    assert "*whiten* alone is tried only if `remedies=` names it" in (ROOT / "docs/user/helps.md").read_text()
    # It is tried if surroundings were named, and else by name alone.
    core = [nuisances for nuisances in EVERY if "core exchange" in fitting_remedies(nuisances)]
    assert core
    assert all("surroundings" in nuisances for nuisances in core)


@pytest.mark.unchecked
def test_names_are_checked() -> None:
    with pytest.raises(ValueError, match=r"^nuisances must be of offset, drift"):
        fitting_remedies("loudness")
    with pytest.raises(ValueError, match=r"^conditions must be True or False, got"):
        fitting_remedies("gain", conditions=3)


def test_a_joined_remedy_is_judged_on_what_its_pieces_are() -> None:
    found = fitting_remedies("offset+drift+tones+surroundings")
    assert {name: one.judged_on for name, one in found.items()} == {
        "high-pass": None,
        "high-pass + tones + surroundings": "periodic+slow",
        "tone filter + exchange + surroundings": "slow",
    }
