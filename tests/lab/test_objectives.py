import copy
import math

import numpy as np
import pytest
import torch

from crest.lab.model import Model, make_model
from crest.lab.objectives import (
    OBJECTIVES,
    Batch,
    EventAuxiliary,
    GroupDro,
    MeanSquaredError,
    make_objective,
    squared_errors,
)
from crest.lab.training import Schedule, fit
from crest.readouts import READOUTS, AttentionReadout
from toy import STEPS, toy


def batch(y: list[float], proxy: list[float] | None = None) -> Batch:
    data = Batch(*toy(len(y)).tensors())
    return data._replace(y=torch.tensor(y), proxy=None if proxy is None else torch.tensor(proxy))


def silent(readout: str = "mean") -> Model:
    """A model whose every answer is 0, so that the error of a trajectory is its label squared."""
    model = make_model("pointwise", readout, channels=2, seed=1000)
    torch.nn.init.zeros_(model.head.weight)
    torch.nn.init.zeros_(model.head.bias)
    return model


def test_mean_squared_error_by_hand() -> None:
    assert squared_errors(silent(), batch([1.0, -2.0, 3.0])).tolist() == [1.0, 4.0, 9.0]
    assert MeanSquaredError().loss(silent(), batch([1.0, -2.0, 3.0])).item() == pytest.approx(14 / 3)


def test_rows_of_a_batch() -> None:
    whole = Batch(*toy(8).tensors())
    part = whole.rows(torch.tensor([5, 2]))
    for name in Batch._fields:
        assert torch.equal(getattr(part, name), getattr(whole, name)[[5, 2]])
    bare = Batch(*toy(8, events=False, proxy=False).tensors()).rows(torch.tensor([1]))
    assert bare.events is None
    assert bare.proxy is None


# -- group DRO

EIGHT = [float(value) for value in range(8)]


def prepared(step: float = 0.5, groups: int = 4) -> GroupDro:
    objective = GroupDro(step, groups)
    objective.prepare(silent(), batch([0.0] * 8, EIGHT))
    return objective


def test_groups_are_the_quartiles_of_the_training_proxy() -> None:
    """Only the group of the one bad trajectory gains weight."""
    for value in range(8):
        objective = prepared()
        objective.loss(silent(), batch([1.0], [float(value)]))
        assert int(objective.weights.argmax()) == value // 2
        assert int((objective.weights == objective.weights.max()).sum()) == 1


def test_groups_are_filled_equally_whatever_the_distribution() -> None:
    skewed = torch.randn(400).exp()
    objective = GroupDro()
    objective.prepare(silent(), batch([0.0] * 400)._replace(proxy=skewed))
    assert torch.bincount(torch.bucketize(skewed, objective.edges)).tolist() == [100] * 4
    thirds = GroupDro(groups=3)
    thirds.prepare(silent(), batch([0.0] * 400)._replace(proxy=skewed))
    assert torch.bincount(torch.bucketize(skewed, thirds.edges)).tolist() == [134, 133, 133]


def test_out_of_range_proxies_join_the_outer_groups() -> None:
    objective = prepared()
    objective.loss(silent(), batch([0.0, 1.0], [-100.0, 100.0]))
    assert int(objective.weights.argmax()) == 3
    objective = prepared()
    objective.loss(silent(), batch([1.0, 0.0], [-100.0, 100.0]))
    assert int(objective.weights.argmax()) == 0


def test_the_weights_of_three_steps_by_hand() -> None:
    objective = prepared(step=0.5)
    assert objective.weights.tolist() == [0.25] * 4
    weights = np.full(4, 0.25)
    for labels, proxies, means in [
        # Two trajectories of the first group (errors 1 and 9), one of each other.
        ([1.0, 3.0, 2.0, 0.5, 1.0], [0.0, 1.0, 2.0, 4.0, 6.0], [5.0, 4.0, 0.25, 1.0]),
        # Nobody from the second and third group.
        ([1.0, 2.0], [0.0, 7.0], [1.0, 0.0, 0.0, 4.0]),
        ([0.0, 0.0, 0.0, 1.0], [0.0, 2.0, 4.0, 6.0], [0.0, 0.0, 0.0, 1.0]),
    ]:
        loss = objective.loss(silent(), batch(labels, proxies))
        weights = weights * np.exp(0.5 * np.array(means))
        weights /= weights.sum()
        np.testing.assert_allclose(objective.weights.numpy(), weights, rtol=1e-5)
        assert loss.item() == pytest.approx(float(weights @ means), rel=1e-5)


def test_groups_that_a_batch_lacks_keep_their_weights_relative_to_each_other() -> None:
    objective = prepared()
    objective.loss(silent(), batch([1.0, 2.0, 0.5, 0.1], [0.0, 2.0, 4.0, 6.0]))
    before = objective.weights.clone()
    objective.loss(silent(), batch([3.0], [0.0]))
    torch.testing.assert_close(
        objective.weights[1:] / before[1:], (objective.weights[1] / before[1]).expand(3)
    )
    # A batch without error moves nothing.
    before = objective.weights.clone()
    objective.loss(silent(), batch([0.0], [0.0]))
    torch.testing.assert_close(objective.weights, before)


def test_the_weight_of_a_bad_group_rises_step_by_step() -> None:
    objective = prepared(step=0.1)
    path = []
    for _ in range(20):
        objective.loss(silent(), batch([0.1, 0.1, 2.0, 0.1], [0.0, 2.0, 4.0, 6.0]))
        path.append(objective.weights[2].item())
    assert path == sorted(path)
    assert path[0] > 0.25
    assert path[-1] > 0.9
    assert objective.weights.sum().item() == pytest.approx(1)


def test_no_gradient_flows_through_the_weights() -> None:
    objective, model = prepared(), silent()
    objective.loss(model, batch([1.0, 3.0, 2.0], [0.0, 1.0, 2.0])).backward()
    weights = objective.weights
    expected = weights[0] * (-2 * 1.0 - 2 * 3.0) / 2 + weights[1] * (-2 * 2.0)
    assert model.head.bias.grad is not None
    torch.testing.assert_close(model.head.bias.grad[0], expected)
    assert not weights.requires_grad


def test_preparing_again_starts_from_equal_weights() -> None:
    objective = prepared()
    objective.loss(silent(), batch([3.0], [0.0]))
    objective.prepare(silent(), batch([0.0] * 8, [10 * value for value in EIGHT]))
    assert objective.weights.tolist() == [0.25] * 4
    objective.loss(silent(), batch([1.0], [70.0]))
    assert int(objective.weights.argmax()) == 3


def test_group_dro_needs_a_proxy() -> None:
    with pytest.raises(ValueError, match="train must have a proxy for group DRO"):
        GroupDro().prepare(silent(), batch([0.0] * 8))


def test_group_dro_trains() -> None:
    model = make_model("pointwise", "mean", channels=2, seed=1000)
    objective = GroupDro(step=0.1)
    losses = fit(
        model, toy(), toy(seed=1), schedule=Schedule(epochs=10, batch=8), seed=1000, objective=objective
    ).losses
    assert losses[-1] < 0.5 * losses[0]
    assert objective.weights.tolist() != [0.25] * 4


# -- event auxiliary


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
        fit(model, toy(), toy(seed=1), schedule=Schedule(epochs=2, batch=8), seed=1000, objective=objective)
        models.append(model)
    for name, value in models[0].state_dict().items():
        assert torch.equal(value, models[1].state_dict()[name]), name


def test_event_supervision_raises_the_event_mass_of_attention() -> None:
    mass = {}
    for weight in (0.0, 1.0):
        model = make_model("pointwise", "attention", channels=2, seed=1000)
        start = copy.deepcopy(model)
        objective = EventAuxiliary(weight=weight)
        fit(model, toy(), toy(seed=1), schedule=Schedule(epochs=15, batch=8), seed=1000, objective=objective)
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


# -- all of them


@pytest.mark.parametrize("name", ["mse", "group_dro"])
def test_every_objective_refuses_the_reference_without_events(name: str) -> None:
    data = batch([0.0, 1.0], [0.0, 1.0])._replace(events=None)
    with pytest.raises(ValueError, match="train must have events for EventWindowReadout"):
        make_objective(name).prepare(silent("event_window"), data)


def test_objectives_by_name() -> None:
    for name, kind in OBJECTIVES.items():
        assert type(make_objective(name)) is kind
    made = make_objective("group_dro", step=0.2, groups=3)
    assert isinstance(made, GroupDro)
    assert (made.step, made.groups) == (0.2, 3)
    with pytest.raises(
        ValueError, match="objective must be one of mse, group_dro, event_auxiliary, got 'mae'"
    ):
        make_objective("mae")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("group_dro", {"step": 0.0}, "step must be positive, got 0.0"),
        ("group_dro", {"groups": 1}, "groups must be a whole number, 2 or more, got 1"),
        ("event_auxiliary", {"weight": -0.1}, "weight must be 0 or more, got -0.1"),
    ],
)
def test_bad_options_are_refused(name: str, options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_objective(name, **options)
