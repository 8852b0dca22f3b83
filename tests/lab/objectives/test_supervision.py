import copy
import math

import pytest
import torch

from crest.lab.model import Model, make_model
from crest.lab.objectives import (
    EventAuxiliary,
    MeanSquaredError,
)
from crest.lab.training import Schedule, fit
from crest.readouts import READOUTS, AttentionReadout
from objectives_made import batch, silent
from toy import STEPS, toy


def uniform() -> Model:
    """Attention that looks at every step alike, and answers 0."""
    model = silent("attention")
    assert isinstance(model.readout, AttentionReadout)
    torch.nn.init.zeros_(model.readout.query)
    return model


def test_the_penalty_by_hand() -> None:
    data = batch([1.0, 2.0])
    marked = torch.zeros(2, STEPS, dtype=torch.bool)
    marked[0, :3] = marked[1, 4:10] = True
    loss = EventAuxiliary(weight=0.5).loss(uniform(), data._replace(events=marked))
    expected = (1 + 4) / 2 - 0.5 * (math.log(3 / STEPS) + math.log(6 / STEPS)) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_the_penalty_follows_the_step_weights() -> None:
    model, data = silent("attention"), batch([1.0, -1.0, 0.5])
    torch.nn.init.normal_(model.readout.get_parameter("query"), std=5.0)
    weights = model.readout.step_weights(model.features(data.x)).detach()
    expected = (
        2.25 / 3
        - sum(math.log(row[inside].sum()) for row, inside in zip(weights, data.events, strict=True)) / 3
    )
    assert EventAuxiliary().loss(model, data).item() == pytest.approx(expected, rel=1e-5)


def test_the_penalty_with_an_encoder_that_has_a_stride() -> None:
    model, data = make_model("cnn", "attention", channels=2, seed=1000).eval(), batch([1.0, -1.0])
    torch.nn.init.normal_(model.readout.get_parameter("query"), std=5.0)
    assert data.events is not None
    with torch.no_grad():
        weights = model.readout.step_weights(model.features(data.x))
        inside = data.events.unflatten(1, (-1, 4)).any(2)
        expected = (model(data.x) - data.y).square().mean() - (weights * inside).sum(1).log().mean()
    assert EventAuxiliary().loss(model, data).item() == pytest.approx(expected.item(), rel=1e-5)


def test_a_trajectory_without_an_event_has_no_penalty() -> None:
    data = batch([1.0, 2.0])
    marked = torch.zeros(2, STEPS, dtype=torch.bool)
    marked[0, :3] = True
    loss = EventAuxiliary().loss(uniform(), data._replace(events=marked))
    assert loss.item() == pytest.approx(2.5 - math.log(3 / STEPS) / 2, rel=1e-5)


def test_no_weight_at_all_on_the_events_is_a_large_and_finite_penalty() -> None:
    model, data = silent("attention"), batch([0.0, 0.0])
    first = torch.zeros(2, STEPS, dtype=torch.bool)
    with torch.no_grad():
        features = model.features(data.x)
        first[:, 0] = True
        # All the weight goes to another step than the first.
        model.readout.get_parameter("query").copy_(1e5 * (features[0, -1] - features[0, 0]))
        assert model.readout.step_weights(features)[0, 0] == 0
    loss = EventAuxiliary().loss(model, data._replace(events=first))
    loss.backward()
    assert 40 < loss.item() < 100
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_weight_zero_is_plain_squared_error_to_the_bit() -> None:
    models = []
    for objective in (MeanSquaredError(), EventAuxiliary(weight=0.0)):
        model = make_model("local", "attention", channels=2, seed=1000)
        fit(model, toy(), schedule=Schedule(epochs=2, batch=8), seed=1000, objective=objective)
        models.append(model)
    for name, value in models[0].state_dict().items():
        assert torch.equal(value, models[1].state_dict()[name]), name


def test_event_supervision_raises_the_event_mass_of_attention() -> None:
    mass = {}
    for weight in (0.0, 1.0):
        model = make_model("pointwise", "attention", channels=2, seed=1000)
        start = copy.deepcopy(model)
        objective = EventAuxiliary(weight=weight)
        fit(model, toy(), schedule=Schedule(epochs=15, batch=8), seed=1000, objective=objective)
        x, _, events, _ = toy(seed=2).tensors()
        mass[weight] = (model.readout.step_weights(model.features(x)) * events).sum(1).mean().item()
        mass["start"] = (start.readout.step_weights(start.features(x)) * events).sum(1).mean().item()
    assert mass[1.0] > 0.8
    assert mass[1.0] > mass[0.0] + 0.2
    assert mass["start"] < 0.3


LEARNED = ["attention", "scored_attention", "gated_attention", "windowed"]


@pytest.mark.parametrize("readout", READOUTS)
def test_event_supervision_is_for_learned_step_weights(readout: str) -> None:
    data = batch([0.0, 1.0])
    if readout in LEARNED:
        EventAuxiliary().prepare(silent(readout), data)
        assert torch.isfinite(EventAuxiliary().loss(silent(readout), data))
        return
    with pytest.raises(
        ValueError,
        match=rf"readout must have learned step weights .*{type(silent(readout).readout).__name__}",
    ):
        EventAuxiliary().prepare(silent(readout), data)


def test_event_supervision_refuses_the_reference_and_data_without_events() -> None:
    with pytest.raises(ValueError, match=r"readout must have learned step weights .*EventWindowReadout"):
        EventAuxiliary().prepare(silent("event_window"), batch([0.0]))
    with pytest.raises(ValueError, match="train must have events for the event-auxiliary objective"):
        EventAuxiliary().prepare(silent("attention"), batch([0.0])._replace(events=None))
