"""Attributions of other packages, on models whose attribution is known by hand: the features are the signals."""

import builtins
import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from crest.lab.encoders import Encoder
from crest.lab.model import Model
from crest.lab.runs.attributions import measured_attributions
from crest.probes import credit_of_scores
from crest.readouts import REFERENCES, AttentionReadout, MeanReadout
from crest.recordings import Trajectories

T = 24


class Plain(Encoder):
    def forward(self, x: Tensor) -> Tensor:
        return x


def model(readout: Any) -> Model:
    made = Model(Plain(2, 2), readout)
    with torch.no_grad():
        made.head.weight.copy_(torch.tensor([[2.0, -1.0]]))
    return made


def made() -> Trajectories:
    """Noise, and a bump on the first channel at the event."""
    numbers = np.random.default_rng(0)
    x = 0.1 * numbers.standard_normal((80, T, 2))
    events = np.zeros((80, T), dtype=bool)
    for row, place in enumerate(numbers.integers(2, T - 2, 80)):
        events[row, place : place + 2] = True
    x[..., 0] += 2.0 * events
    label = numbers.standard_normal(80)
    return Trajectories(
        x=x.astype(np.float32),
        y=label.astype(np.float32),
        events=events,
        channels=("a", "b"),
        sample_rate=1.0,
    )


def test_integrated_gradients_of_a_linear_model_are_the_weighted_signals() -> None:
    data = made()
    found = measured_attributions(model(MeanReadout()), data)["integrated_gradients"]
    x, _, events, _ = data.tensors()
    assert events is not None
    by_hand = (x[:64] * torch.tensor([2.0, -1.0])).abs().sum(-1)
    assert found.trajectories == 64
    expected = credit_of_scores(by_hand, events[:64]).averages()
    assert expected is not None
    assert dataclasses.asdict(found.credit) == pytest.approx(dataclasses.asdict(expected), abs=1e-5)


def test_wintsr_finds_where_attention_looks() -> None:
    attention = AttentionReadout(2)
    with torch.no_grad():
        attention.query.copy_(torch.tensor([5.0, 0.0]))
    found = measured_attributions(model(attention), made())["wintsr"]
    assert found.trajectories == 16
    assert found.credit.cie == 1.0
    assert found.credit.ecm > 4 * found.credit.chance
    assert found.seconds > 0


def test_the_model_stays_as_it_was() -> None:
    trained = model(MeanReadout()).train()
    before = {name: value.clone() for name, value in trained.state_dict().items()}
    measured_attributions(trained, made())
    assert trained.training
    assert all(parameter.grad is None and parameter.requires_grad for parameter in trained.parameters())
    assert all(torch.equal(before[name], value) for name, value in trained.state_dict().items())


def test_a_readout_that_sees_the_events_is_refused() -> None:
    with pytest.raises(ValueError, match="model must have a label-free readout to measure attribution"):
        measured_attributions(model(REFERENCES["event_window"]()), made())


def test_data_without_events_is_refused() -> None:
    with pytest.raises(ValueError, match="data must have events to measure attribution, got none"):
        measured_attributions(model(MeanReadout()), dataclasses.replace(made(), events=None))


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("tslens"):
            raise ImportError("no tslens", name="tslens")
        return find(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"attribution needs tslens\. Install the extra rivals: "):
        measured_attributions(model(MeanReadout()), made())


def test_of_a_classifier_the_class_that_it_answers_is_attributed() -> None:
    """The other class reads nothing."""
    data, classifier = made()[:8], Model(Plain(2, 2), MeanReadout(), outputs=2)
    with torch.no_grad():
        classifier.head.weight.copy_(torch.tensor([[0.0, 0.0], [2.0, -1.0]]))
        classifier.head.bias.copy_(torch.tensor([-100.0, 0.0]))
    for name, found in measured_attributions(classifier, data).items():
        expected = measured_attributions(model(MeanReadout()), data)[name].credit
        assert dataclasses.asdict(found.credit) == pytest.approx(dataclasses.asdict(expected), abs=1e-5)
