"""What an audit says in words and in numbers."""

import dataclasses
import json
import math
from typing import Any

import pytest
import torch

import crest
from crest._audit import audit


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
    names = {field.name for field in dataclasses.fields(found)} - {"traces"}
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
