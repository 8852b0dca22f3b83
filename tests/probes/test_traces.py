"""Traces of a network that nobody here designed, and numbers worked out by hand."""

import dataclasses
import json
from typing import Any

import pytest
import torch
from torch import Tensor

from crest.probes import Trace, Traces, batches_of, evaluating, step_traces
from crest.readouts import CrestReadout
from stranger import Stranger

NAN = float("nan")


def traced(stride: int = 1, **changes: Any) -> tuple[dict[str, Tensor], list[Trace]]:
    """What a stranger's network makes of three trajectories of 30 steps, and the traces of it."""
    network, signals = Stranger(stride=stride), torch.randn(3, 30, 2)
    with evaluating(network):
        features, pooled = network.interface(signals)
        parts = {
            "signals": signals,
            "features": features,
            "pooled": pooled,
            "predictions": network.answers(signals),
            "targets": torch.randn(3),
            "cue": torch.randn(3, 1),
            "events": torch.rand(3, 30) < 0.2,
            "transience": torch.rand(features.shape[:2]),
            "votes": CrestReadout().eval().votes(features),
        } | changes
    return parts, step_traces(**parts)


@pytest.mark.parametrize("stride", [1, 3])
def test_traces_of_a_strangers_network(stride: int) -> None:
    parts, rows = traced(stride, split="test")
    assert [(row.split, row.index) for row in rows] == [("test", 0), ("test", 1), ("test", 2)]
    for i, row in enumerate(rows):
        assert row.signals == parts["signals"][i].T.tolist()
        assert row.y == parts["targets"][i].item()
        assert row.cue == parts["cue"][i].item()
        assert row.prediction == parts["predictions"][i].item()
        assert row.events == [step for step in range(30) if parts["events"][i, step]]
        assert row.transience == parts["transience"][i].repeat_interleave(stride).tolist()
        assert row.votes == (parts["votes"][i] / 6).repeat_interleave(stride).tolist()
        cosines = torch.nn.functional.cosine_similarity(
            parts["features"][i], parts["pooled"][i, None], dim=-1
        )
        positive = cosines.clamp(min=0)
        shares = (positive / positive.sum()).repeat_interleave(stride) / stride
        assert row.credit == pytest.approx(shares.tolist(), abs=1e-6)
        assert sum(row.credit) == pytest.approx(1)
        assert len(row.credit) == len(row.transience) == len(row.votes) == 30


def test_what_is_not_given_is_none() -> None:
    parts, _ = traced()
    (row, *_) = step_traces(parts["signals"], parts["features"], parts["pooled"])
    assert (row.split, row.index) == ("", 0)
    assert (row.y, row.cue, row.prediction) == (None, None, None)
    assert (row.events, row.transience, row.votes) == (None, None, None)
    assert sum(row.credit) == pytest.approx(1)


def test_values_are_plain() -> None:
    _, rows = traced()
    text = json.dumps(dataclasses.asdict(Traces(channels=["a", "b"], sample_rate=2.0, rows=rows)))
    again = [Trace(**row) for row in json.loads(text)["rows"]]
    assert again == rows
    assert not any(isinstance(value, Tensor) for row in rows for value in dataclasses.asdict(row).values())


def test_batches_give_the_traces_of_everything_at_once() -> None:
    parts, rows = traced(2)
    names = list(parts)
    found: list[Trace] = []
    for batch in batches_of(*parts.values(), size=2):
        found += step_traces(**dict(zip(names, batch, strict=True)))
    assert [dataclasses.replace(row, index=place) for place, row in enumerate(found)] == rows


def test_credit_by_hand() -> None:
    features = torch.tensor([[[3.0, 0.0], [0.0, 2.0], [-1.0, 0.0], [0.0, 0.0]]])
    (row,) = step_traces(torch.zeros(1, 4, 1), features, torch.tensor([[1.0, 1.0]]))
    # Two steps at 45 degrees of the pooled vector, one against it, one that is nothing.
    assert row.credit == pytest.approx([0.5, 0.5, 0.0, 0.0])


def test_without_positive_credit_the_trace_is_of_zeros() -> None:
    features = torch.ones(2, 3, 2)
    for pooled in (torch.zeros(2, 2), -torch.ones(2, 2)):
        for row in step_traces(torch.zeros(2, 3, 1), features, pooled):
            assert row.credit == [0.0] * 3


def test_padded_steps_have_no_credit_and_may_hold_anything() -> None:
    features = torch.ones(1, 4, 2)
    features[0, 2:] = NAN
    mask = torch.tensor([[1, 1, 0, 0]])
    (row,) = step_traces(torch.zeros(1, 4, 1), features, torch.ones(1, 2), mask=mask)
    assert row.credit == pytest.approx([0.5, 0.5, 0.0, 0.0])


def test_numbers_are_rounded_to_the_digits_asked_for() -> None:
    values = torch.tensor([[[0.123456], [-123456.0], [1e-7], [2.00004]]], dtype=torch.float64)
    parts = {
        "predictions": values[:, 0],
        "targets": values[:, 1],
        "cue": values[:, 2],
        "transience": values[..., 0],
    }
    votes = torch.tensor([[1, 0, 0, 2]])
    features = torch.ones(1, 4, 3, dtype=torch.float64)
    (row,) = step_traces(values, features, features[:, 0], **parts, votes=votes, digits=4)
    assert row.signals == [[0.1235, -123500.0, 1e-7, 2.0]]
    assert (row.prediction, row.y, row.cue) == (0.1235, -123500.0, 1e-7)
    assert row.transience == row.signals[0]
    assert row.votes == [0.3333, 0.0, 0.0, 0.6667]
    assert row.credit == [0.25] * 4
    (exact,) = step_traces(values, features, features[:, 0], **parts)
    assert exact.signals == [values.flatten().tolist()]


def test_it_leaves_no_graph_and_needs_none() -> None:
    network, signals = Stranger().eval(), torch.randn(2, 12, 2, requires_grad=True)
    features, pooled = network.interface(signals)
    (row, _) = step_traces(signals, features, pooled, predictions=network.answers(signals))
    assert isinstance(row.prediction, float)
    assert signals.grad is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"signals": torch.zeros(3, 30)}, r"signals must have shape \(B, T, C\).*got \(3, 30\)"),
        ({"signals": torch.zeros(0, 30, 2)}, r"signals must have .* none of them 0, got \(0, 30, 2\)"),
        ({"signals": torch.full((3, 30, 2), NAN)}, "signals must be finite, got 180 NaN"),
        (
            {"signals": torch.zeros(3, 30, 2).int()},
            "signals must be a floating point tensor, got torch.int32",
        ),
        ({"features": torch.zeros(2, 30, 6)}, r"features must have shape \(B, T', D\).*got \(2, 30, 6\)"),
        (
            {"features": torch.zeros(3, 31, 6), "transience": None, "votes": None},
            "features must have at most the steps of the signals, T = 30, got 31",
        ),
        ({"features": torch.zeros(3, 0, 6)}, r"features must have shape \(B, T', D\).*got \(3, 0, 6\)"),
        (
            {"features": torch.full((3, 30, 6), NAN)},
            "features must be finite at valid steps, got 540 NaN",
        ),
        ({"pooled": torch.zeros(3, 5)}, r"pooled must have shape \(B, D\) = \(3, 6\), got \(3, 5\)"),
        ({"pooled": torch.full((3, 6), torch.inf)}, "pooled must be finite, got 18"),
        ({"predictions": torch.zeros(3, 2)}, r"predictions must be a tensor .* B = 3, got \(3, 2\)"),
        ({"predictions": torch.tensor([0.0, NAN, 0.0])}, "predictions must be finite, got 1"),
        ({"targets": torch.zeros(4)}, r"targets must be a tensor of shape .* B = 3, got \(4,\)"),
        ({"cue": torch.zeros(())}, r"cue must be a tensor of shape .* B = 3, got \(\)"),
        (
            {"events": torch.zeros(3, 29).bool()},
            r"events must have shape \(B, T\) = \(3, 30\), got \(3, 29\)",
        ),
        ({"events": torch.zeros(3, 30)}, "events must hold booleans .* got torch.float32"),
        (
            {"transience": torch.zeros(3, 29)},
            r"transience must have shape \(B, T'\) = \(3, 30\), got \(3, 29\)",
        ),
        ({"transience": torch.full((3, 30), NAN)}, "transience must be finite, got 90"),
        ({"votes": torch.zeros(3, 29)}, r"votes must have shape \(B, T'\) = \(3, 30\), got \(3, 29\)"),
        ({"votes": torch.full((3, 30), 7)}, r"votes must lie in \[0, D\], D = 6, got 7 to 7"),
        ({"votes": torch.full((3, 30), NAN)}, r"votes must lie in \[0, D\], D = 6, got nan to nan"),
        ({"mask": torch.ones(3, 29)}, r"mask must have shape \(B, T\) = \(3, 30\), got \(3, 29\)"),
        ({"digits": 0}, "digits must be a whole number, 1 or more, got 0"),
        ({"digits": True}, "digits must be a whole number, 1 or more, got True"),
    ],
)
def test_messages(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        traced(**changes)


@pytest.mark.unchecked
@pytest.mark.parametrize("name", ["signals", "features", "pooled", "predictions", "events", "transience"])
def test_what_is_no_tensor_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a (torch )?tensor.* got list"):
        traced(**{name: [0.0]})
