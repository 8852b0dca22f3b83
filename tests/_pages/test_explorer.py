"""Trajectories once each, whatever the number of models."""

import dataclasses
import json
import math

import pytest

from crest._pages.explorer import TracedModel, explorer_system
from crest.probes import Trace, Traces


def traced(name: str, rows: int = 2, **changes: object) -> TracedModel:
    trace = Trace(
        split="id", index=0, y=None, cue=None, prediction=0.123456789, signals=[[0.0, 1.0]], events=None,
        credit=[0.5, 0.5], transience=None, votes=None,
    )  # fmt: skip
    made = [dataclasses.replace(trace, index=place, **changes) for place in range(rows)]
    return TracedModel(
        name=name, source=name, colour="#000000", traces=Traces(channels=["a"], sample_rate=1.0, rows=made)
    )


def test_a_model_may_lack_a_trajectory_and_numbers_are_short() -> None:
    system = explorer_system("mine", [traced("one"), traced("two", rows=1)])
    assert len(system["trajectories"]) == 2
    assert [row is None for row in system["readouts"][1]["rows"]] == [False, True]
    assert system["readouts"][0]["rows"][0]["prediction"] == 0.12346


def test_other_signals_are_refused() -> None:
    with pytest.raises(ValueError, match="explored must hold the same trajectories for all readouts of mine"):
        explorer_system("mine", [traced("one"), traced("two", signals=[[5.0, 1.0]])])


@pytest.mark.parametrize("place", [0, 1])
def test_events_that_one_of_the_models_knows_are_shown(place: int) -> None:
    """Such as an audit without events before a repair, and one with them after it."""
    models = [traced("one"), traced("two")]
    models[place] = traced("knows", events=[1])
    assert [one["events"] for one in explorer_system("mine", models)["trajectories"]] == [[1], [1]]


def test_other_events_are_refused() -> None:
    with pytest.raises(ValueError, match="explored must hold the same trajectories"):
        explorer_system("mine", [traced("one", events=[0]), traced("two", events=[1])])


def test_shares_are_whole_parts_of_the_largest_and_credit_on_events_is_exact() -> None:
    system = explorer_system("mine", [traced("one", events=[1], credit=[0.123456, 0.876544])], per="s")
    reading = system["readouts"][0]["rows"][0]
    assert reading["on_events"] == 0.87654
    assert reading["credit"]["parts"] == [141, 999]
    assert reading["credit"]["unit"] * 999 == pytest.approx(0.876544)
    assert reading["votes"] is None
    assert system["per"] == "s"


def test_shares_of_nothing_are_nothing() -> None:
    system = explorer_system("mine", [traced("one", credit=[0.0, 0.0])])
    assert system["readouts"][0]["rows"][0]["credit"]["parts"] == [0, 0]


def test_what_is_not_there_is_left_out_of_the_drawing() -> None:
    models = [traced(name, signals=[[2.0, math.nan]], credit=[1.0, math.nan]) for name in ("one", "two")]
    system = explorer_system("mine", models)
    assert json.loads(json.dumps(system, allow_nan=False)) == system
    assert system["trajectories"][0]["signals"] == [[2, None]]
    assert system["readouts"][0]["rows"][0]["credit"]["parts"] == [999, None]


def test_what_repeats_is_there_once_with_how_often_it_comes() -> None:
    signals = [[float(step) for step in range(16)]]
    credit = [0.1] * 8 + [0.05] * 7 + [math.nan]
    made = explorer_system("mine", [traced("one", signals=signals, credit=credit)])["readouts"][0]["rows"][0][
        "credit"
    ]
    assert made["runs"] == [999, 8, 500, 7, None, 1]
    assert "parts" not in made


def test_spectra_come_if_they_are_asked_for() -> None:
    signals = [[math.sin(2 * math.pi * step / 8) + 0.1 * math.sin(step**2) for step in range(256)]]
    model = traced("one", signals=signals, credit=[0.0] * 256)
    assert "spectra" not in explorer_system("mine", [model])["trajectories"][0]
    traces = dataclasses.replace(model.traces, sample_rate=800.0)
    system = explorer_system("mine", [dataclasses.replace(model, traces=traces)], spectra=True)
    found = system["trajectories"][0]["spectra"]["spectrum"]
    amplitudes = found["channels"][0]["parts"]
    assert found["places"][0][amplitudes.index(max(amplitudes))] * found["width"] == pytest.approx(100.0)
    assert set(system["trajectories"][0]["spectra"]) == {"spectrum", "envelope"}
