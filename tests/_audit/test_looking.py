"""Events as they are given, and what is seen inside of a model."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import crest
from crest._audit.looking import credit_at, known_events, looked_into
from crest.strangers.batch import Batch
from crest.strangers.interface import InterfaceError
from crest.strangers.model import StrangerModel

EVENT = 12
EVENTS = torch.zeros(6, 30, dtype=torch.bool)
EVENTS[:, EVENT : EVENT + 3] = True


def signals() -> Tensor:
    x = 0.1 * torch.randn(6, 30, 2, generator=torch.Generator().manual_seed(1000))
    x[:, EVENT : EVENT + 3] += 5
    return x


def pooled() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 2), crest.MeanReadout(), nn.Linear(2, 1)).eval()


@pytest.mark.parametrize("form", ["flags", "integers", "array", "lists", "more rows"])
def test_events_of_every_form_are_flags(form: str) -> None:
    forms = {
        "flags": EVENTS,
        "integers": EVENTS.int(),
        "array": EVENTS.numpy().astype(np.int64),
        "lists": EVENTS.tolist(),
        "more rows": torch.cat([EVENTS, ~EVENTS]),
    }
    assert torch.equal(known_events(forms[form], Batch(signals()), []), EVENTS)


def test_no_events_are_none() -> None:
    assert known_events(None, Batch(signals()), []) is None


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (EVENTS[:3], r"events must have shape \(N, T\) = \(6, 30\), those of the inputs, got \(3, 30\)"),
        (EVENTS[:, :4], "events must have shape"),
        (EVENTS.float(), "events must hold booleans or the integers 0 and 1"),
        ([[1], [1, 2]], "events must be booleans or the integers 0 and 1, got list"),
    ],
)
def test_other_events_are_refused(events: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        known_events(events, Batch(signals()), [])


@torch.no_grad()
def test_what_is_seen_is_told() -> None:
    model, notes = pooled(), ["before"]
    interface, read = looked_into(StrangerModel(model, size=4), Batch(signals()), None, None, notes)
    assert (interface.features, interface.head) == ("0", "2")
    assert notes == ["before", f"pooling interface: {interface}"]
    scores = crest.probes.step_scores(model[0](signals()), model[0](signals()).mean(1))
    torch.testing.assert_close(read.scores, scores)
    found = credit_at(read, EVENTS)
    assert found == crest.probes.credit_of_scores(scores, EVENTS).averages()
    assert credit_at(read, torch.zeros_like(EVENTS)) is None


def test_what_is_not_found_is_a_note_unless_it_was_asked_for() -> None:
    model, notes = nn.Sequential(crest.MeanReadout(), nn.Flatten(0)).eval(), []
    stranger = StrangerModel(model, answer=lambda out: out.reshape(-1, 2)[:, 0])
    assert looked_into(stranger, Batch(signals()), None, None, notes) == (None, None)
    assert notes[0].startswith("the pooling interface was not found: head must name")
    assert notes[0].endswith("features=False to audit without them")
    with pytest.raises(InterfaceError, match="head must name the module"):
        looked_into(stranger, Batch(signals()), "0", None, notes)
