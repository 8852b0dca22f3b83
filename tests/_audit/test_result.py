"""What an audit says in words and in numbers."""

import dataclasses
import json
import math
from typing import Any

import pytest
import torch

import crest
from crest._audit import audit
from crest._audit.curves import ResponseCurve
from crest._audit.result import _curve_line


def test_nan_is_none_for_machines() -> None:
    x = torch.randn(8, 60, 1)
    found = audit(lambda x: torch.ones(len(x)), x)
    assert math.isnan(found.exchange.transient)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["exchange"]["transient"] is None
    assert plain["by_condition"] is None


def test_every_number_is_there() -> None:
    x = torch.randn(8, 60, 1)
    found = audit(lambda x: x.mean((1, 2)), (x, x.mean((1, 2))), conditions=[0, 0, 0, 0, 1, 1, 1, 1])
    names = {field.name for field in dataclasses.fields(found)} - {"traces", "separated", "conditions"}
    assert set(found.to_dict()) == names
    assert found.to_dict()["by_condition"]["1"]["trajectories"] == 4
    assert "error 0" in repr(found)
    assert "What to do:" in repr(found)


LEVELS = torch.randn(12, 40, 1)


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("outputs", "names", "message"),
    [
        (1, {"channels": ["a", "b"]}, "^channels must name each of 1 channels, got"),
        (1, {"channels": "a"}, "^channels must be a list .* got 'a'"),
        (
            1,
            {"classes": ["new", "worn", "gone"]},
            r"^classes must come with a model that gives logits \(B, K\)",
        ),
        (4, {"classes": ["new", "worn"]}, "^classes must name each of 4 outputs of the model, got"),
        (2, {"classes": ["worn", "worn"]}, "^classes must be different names, got"),
        (1, {"classes": ["worn", "worn"]}, "^classes must be different names"),
    ],
)
def test_names_that_do_not_fit_are_refused(outputs: int, names: dict[str, Any], message: str) -> None:
    found = crest.audit(lambda x: x.mean(1).expand(-1, outputs), LEVELS)
    with pytest.raises(ValueError, match=message):
        found.named(**names)


def test_names_are_those_of_the_page() -> None:
    found = crest.audit(lambda x: torch.stack([x.mean((1, 2)), x.amax((1, 2))], 1), LEVELS)
    named = found.named(channels=["load"], classes=["new", "worn"])
    assert (named.traces.channels, named.classes) == (["load"], ("new", "worn"))
    assert (found.traces.channels, found.classes) == (["channel 0"], ("0", "1"))
    # One logit tells two classes apart: it has no list of names, and two names do no harm.
    assert crest.audit(lambda x: x.mean((1, 2)), LEVELS).named(classes=["ok", "worn"]).classes == ()


def test_a_response_curve_is_told_without_the_point_where_nothing_is_done() -> None:
    curve = ResponseCurve(values=(0.0, 0.5, 1.0, 2.0), moved=(0.1, 0.2, 0.3, 0.4), shifted=(0.0,) * 4)
    told = {name: _curve_line(name, curve).strip() for name in ("gain", "rate", "offset")}
    assert told == {
        "gain": "moves by, gain x0: 0.10, 0.5: 0.20, 2: 0.40",
        "rate": "moves by, stretched by 0: 0.10, 0.5: 0.20, 2: 0.40",
        "offset": "moves by, shifted by 0.5: 0.20, 1: 0.30, 2: 0.40",
    }


def test_it_says_that_curves_change_every_signal_and_rows_exchange_what_differs() -> None:
    lines = repr(crest.audit(lambda x: x.mean((1, 2)), LEVELS)).splitlines()
    place = next(number for number, line in enumerate(lines) if "as they differ in your data" in line)
    assert lines[place - 1].startswith("  * declared")
    assert lines[place + 1].startswith("  moves by, gain x")


def test_it_says_how_many_it_looked_at_of_how_many() -> None:
    x = torch.randn(40, 60, 1)
    few = crest.audit(lambda x: x.mean((1, 2)), x, exchange=crest.ExchangeSettings(trajectories=16))
    assert repr(few).startswith("Audit of 16 of 40 trajectories: ")
    assert few.to_dict()["brought"] == 40
    assert repr(crest.audit(lambda x: x.mean((1, 2)), x)).startswith("Audit of 40 trajectories: ")
    # A generator does not tell how many there are.
    assert crest.audit(lambda x: x.mean((1, 2)), iter([(x,)])).counted == "40 trajectories"


def test_times_are_in_seconds_and_trajectories_have_names_where_they_are_known() -> None:
    found = crest.audit(lambda x: x.mean((1, 2)), LEVELS).named(
        sample_rate=20, trajectories=[f"file {number}" for number in range(14)]
    )
    assert "40 steps each, 2 s at 20 steps per second" in repr(found)
    assert found.names[-1] == "file 11"
    with pytest.raises(
        ValueError, match=r"^trajectories must name each of the 12 that were looked at, got 2 names"
    ):
        found.named(trajectories=["a", "b"])
    with pytest.raises(ValueError, match=r"^sample_rate must be positive, got 0"):
        found.named(sample_rate=0)


def test_conditions_are_in_their_natural_order() -> None:
    x = torch.randn(12, 60, 1)
    given = ["1200", "600", "900"] * 4
    found = crest.audit(lambda x: x.mean((1, 2)), (x, x.mean((1, 2))), conditions=given)
    assert list(found.by_condition) == ["600", "900", "1200"]
    assert found.tie.conditions == ("600", "900", "1200")


def test_groups_widen_the_intervals_and_are_told() -> None:
    x = torch.randn(6, 60, 1, generator=torch.Generator().manual_seed(0)).repeat_interleave(8, 0)
    x = x + 0.01 * torch.randn(48, 60, 1, generator=torch.Generator().manual_seed(1))
    recording = torch.arange(6).repeat_interleave(8)
    alone = crest.audit(lambda x: x.mean((1, 2)), x)
    together = crest.audit(lambda x: x.mean((1, 2)), x, groups=recording)

    def width(found: crest.Audit) -> float:
        low, high = found.exchange.together.moved_interval
        return high - low

    assert width(together) > 1.5 * width(alone)
    assert "95 % intervals: bootstrap over 6 groups of trajectories" in repr(together)
    assert "bootstrap" not in repr(alone)
    with pytest.raises(ValueError, match=r"^groups must have shape \(N,\) = \(48,\), got \(7,\)"):
        crest.audit(lambda x: x.mean((1, 2)), x, groups=[1, 2, 3, 4, 5, 6, 7])
