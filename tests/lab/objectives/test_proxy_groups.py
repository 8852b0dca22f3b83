import copy

import numpy as np
import pytest
import torch

from crest.lab.model import Model, make_model
from crest.lab.objectives import (
    GroupDro,
    InvariantRisk,
    LastLayerAgain,
    TrainingBatch,
)
from crest.lab.training import Schedule, fit
from objectives_made import batch, silent
from toy import toy

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
    with pytest.raises(ValueError, match="train must have a proxy for GroupDro"):
        GroupDro().prepare(silent(), batch([0.0] * 8))


def test_group_dro_trains() -> None:
    model = make_model("pointwise", "mean", channels=2, seed=1000)
    objective = GroupDro(step=0.1)
    losses = fit(model, toy(), schedule=Schedule(epochs=10, batch=8), seed=1000, objective=objective)
    assert losses[-1] < 0.5 * losses[0]
    assert objective.weights.tolist() != [0.25] * 4


# -- invariant risk


def test_the_penalty_is_the_squared_slope_of_each_group_in_a_factor_on_the_answers() -> None:
    model = silent()
    torch.nn.init.constant_(model.head.bias, 0.5)
    data = batch([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0])
    objective = InvariantRisk(weight=3.0, groups=2)
    objective.prepare(model, data)
    factor = torch.ones(2, requires_grad=True)
    errors = (factor.repeat_interleave(2) * 0.5 - data.y).square().reshape(2, 2).mean(1)
    (slopes,) = torch.autograd.grad(errors.sum(), factor)
    expected = (0.5 - data.y).square().mean() + 3.0 * slopes.square().mean()
    assert objective.loss(model, data).item() == pytest.approx(expected.item())


def test_the_slope_of_a_classifier_is_that_of_its_cross_entropy() -> None:
    model = make_model("pointwise", "mean", channels=2, outputs=3, seed=1000)
    data = TrainingBatch(*toy(12).tensors())._replace(
        y=torch.arange(12.0) % 3, proxy=torch.arange(12.0), events=None
    )
    objective = InvariantRisk(weight=3.0, groups=2)
    objective.prepare(model, data)
    answers = model(data.x, None).detach()
    factor = torch.ones(2, requires_grad=True)
    scaled = factor.repeat_interleave(6)[:, None] * answers
    errors = torch.nn.functional.cross_entropy(scaled, data.y.long(), reduction="none")
    (slopes,) = torch.autograd.grad(errors.reshape(2, 6).mean(1).sum(), factor)
    expected = errors.mean() + 3.0 * slopes.square().mean()
    assert objective.loss(model, data).item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_head_of_a_classifier_is_fitted_anew_on_balanced_groups() -> None:
    """A cue tells the class but for two of forty; behind balanced groups what decides is the other feature."""
    model = make_model("pointwise", "mean", channels=2, outputs=2, seed=1000)
    data = TrainingBatch(*toy(40).tensors())
    label = (torch.arange(40) % 2).float()
    cue = torch.cat([label[:38], 1 - label[38:]])
    pooled = torch.zeros(40, model.head.in_features)
    pooled[:, 0], pooled[:, 1] = (
        10 * cue,
        label + 0.3 * torch.randn(40, generator=torch.Generator().manual_seed(0)),
    )
    model.pool = lambda *_: pooled  # type: ignore[method-assign]
    objective = LastLayerAgain(groups=2)
    train = data._replace(y=label, proxy=cue, events=None)
    objective.edges = torch.tensor([0.5])
    objective.finish(model, train)
    answers = model.head(pooled).argmax(1)
    assert answers[38:].tolist() == label[38:].tolist()
    assert float((answers == label).float().mean()) > 0.85


def test_groups_that_a_batch_lacks_are_no_part_of_the_mean() -> None:
    model = silent()
    torch.nn.init.constant_(model.head.bias, 0.5)
    objective = InvariantRisk(weight=1.0, groups=4)
    objective.prepare(model, batch([0.0] * 8, EIGHT))
    # Two trajectories of one group: the slope is 2 * 0.5 * (0.5 - 1).
    loss = objective.loss(model, batch([1.0, 1.0], [0.0, 1.0]))
    assert loss.item() == pytest.approx(0.25 + 0.5**2)


# -- last layer again


def test_every_group_of_cue_and_label_weighs_the_same() -> None:
    objective = LastLayerAgain(groups=2)
    data = batch([0.0, 0.1, 0.2, 5.0, 5.1, 5.2], [0.0, 0.1, 9.0, 0.2, 9.1, 9.2])
    objective.prepare(silent(), data)
    weights = objective.balance(data)
    assert weights.sum().item() == pytest.approx(1.0)
    # The two that cue and label disagree on count as much as the four others.
    assert weights.tolist() == pytest.approx([1 / 8, 1 / 8, 1 / 4, 1 / 4, 1 / 8, 1 / 8])


def fitted_again(encoder: str, data: TrainingBatch) -> tuple[Model, LastLayerAgain]:
    """A model in training mode whose head was fitted again: nothing else may have changed."""
    model = make_model(encoder, "mean", channels=2, seed=1000).train()
    objective = LastLayerAgain(penalty=1e-6)
    objective.prepare(model, data)
    before = copy.deepcopy(model.state_dict())
    objective.finish(model, data)
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"head.weight", "head.bias"}
    assert model.training
    return model.eval(), objective


@pytest.mark.parametrize("encoder", ["pointwise", "cnn"])
def test_the_head_is_fitted_to_features_as_the_model_will_give_them(encoder: str) -> None:
    """Batch normalisation gives others in training, and would count these batches."""
    data = TrainingBatch(*toy(64).tensors())
    model, objective = fitted_again(encoder, data)
    # At the least squares solution no answer can be improved by moving the head: residuals are orthogonal to the design.
    with torch.no_grad():
        pooled = model.pool(model.features(data.x))
        wrong = (model.read(pooled) - data.y) * objective.balance(data)
    assert wrong.sum().abs().item() < 1e-5
    assert (wrong @ pooled).abs().max().item() < 1e-4
