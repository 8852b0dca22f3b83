"""What an audit says in words and in numbers."""

import dataclasses
import json
import math

import torch

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
