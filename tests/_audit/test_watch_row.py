"""One row of a watch, as a logger takes it."""

import dataclasses
import math

import pytest

from crest._audit import WatchedEpoch
from crest._audit.watch_row import AS_NUMBER
from crest.exchange import Exchange
from crest.exchange.sensitivity import Sensitivity
from crest.probes import CreditMeans

ALL = (0.0, 1.0)
EXCHANGE = Exchange(
    transient=0.5, background=0.25, interaction=0.25, transient_interval=ALL, background_interval=ALL,
    interaction_interval=ALL, background_alone=0.1, kind="core", trajectories=64, moved=0.75,
)  # fmt: skip
TOGETHER = Sensitivity(moved=0.6, moved_interval=ALL, error=1.75)
BARE = WatchedEpoch(epoch=2, verdict="background", exchange=EXCHANGE)


def test_only_what_was_measured_is_there() -> None:
    assert BARE.to_dict() == {
        "crest/transient": 0.5,
        "crest/background": 0.25,
        "crest/interaction": 0.25,
        "crest/moved": 0.75,
        "crest/verdict": -1.0,
    }


def test_moved_and_expected_error_are_those_of_what_decides() -> None:
    """Of the declared nuisances, by which verdict and rule go; the surroundings only decide where nothing else was measured."""
    older = dataclasses.replace(EXCHANGE, exchanged_error=2.0)
    both = dataclasses.replace(older, together=TOGETHER, invariant=("offset",))
    for exchange, moved, error in ((older, 0.75, 2.0), (both, 0.6, 1.75)):
        numbers = dataclasses.replace(BARE, exchange=exchange).to_dict("")
        assert (numbers["moved"], numbers["expected_error"]) == (moved, error)
        assert numbers["expected_error"] == exchange.expected_error
        assert "exchanged_error" not in numbers


def test_everything_has_a_name_and_is_a_float() -> None:
    credit = CreditMeans(cie=1.0, ecm=0.5, precision=0.75, chance=0.125, counted=8, without_events=0)
    exchange = dataclasses.replace(EXCHANGE, exchanged_error=2.0, constant_error=3.0)
    row = WatchedEpoch(
        epoch=0,
        verdict="events",
        exchange=exchange,
        error=1.5,
        core_credit=0.4,
        core_chance=0.2,
        credit=credit,
    )
    numbers = row.to_dict("")
    assert {name: numbers[name] for name in list(numbers)[5:]} == {
        "error": 1.5,
        "expected_error": 2.0,
        "core_credit": 0.4,
        "core_chance": 0.2,
        "cie": 1.0,
        "precision": 0.75,
        "ecm": 0.5,
        "chance": 0.125,
    }
    assert all(type(value) is float for value in numbers.values())


def test_what_is_unknown_keeps_its_name() -> None:
    exchange = dataclasses.replace(EXCHANGE, transient=math.nan, moved=math.nan)
    numbers = WatchedEpoch(epoch=0, verdict="unclear", exchange=exchange, error=math.nan).to_dict("")
    assert math.isnan(numbers["transient"])
    assert math.isnan(numbers["error"])


@pytest.mark.parametrize(("verdict", "number"), [("events", 1.0), ("unclear", 0.0), ("background", -1.0)])
def test_the_verdict_as_a_number(verdict: str, number: float) -> None:
    assert dataclasses.replace(BARE, verdict=verdict).to_dict()["crest/verdict"] == number
    assert set(AS_NUMBER.values()) == {1.0, 0.0, -1.0}


def test_a_row_stays_as_it_is() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        BARE.epoch = 3
