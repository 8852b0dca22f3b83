"""Errors condition by condition by hand, and training without each condition."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import Tensor, nn

import crest
from crest.exchange.conditions import errors_by_condition, leave_one_condition_out

NAN = float("nan")
INPUTS = torch.arange(6.0).reshape(6, 1, 1).expand(6, 4, 1).clone()
TARGETS = torch.tensor([0.0, 1.0, 2.0, 3.0, 5.0, 7.0])
LOADS = ["low", "high", "low", "high", "top", "top"]


def mean(x: Tensor) -> Tensor:
    return x.mean((1, 2))


def test_errors_by_hand_in_the_order_of_appearance() -> None:
    found = errors_by_condition(mean, INPUTS, TARGETS, LOADS, batch_size=4)
    assert list(found) == ["low", "high", "top"]
    assert found == {"low": 0.0, "high": 0.0, "top": pytest.approx(2.5**0.5)}


@pytest.mark.parametrize(
    "conditions", [torch.tensor([1, 2, 1, 2, 3, 3]), np.array([1, 2, 1, 2, 3, 3]), (1, 2, 1, 2, 3, 3)]
)
def test_conditions_are_anything_that_names_them(conditions: object) -> None:
    found = errors_by_condition(mean, INPUTS, TARGETS[:, None], conditions)
    assert found == {1: 0.0, 2: 0.0, 3: pytest.approx(2.5**0.5)}


def test_classes_are_counted_and_another_error_is_taken() -> None:
    logits = torch.tensor([[0.0, 1.0], [3.0, 1.0], [0.0, 2.0]])
    found = errors_by_condition(lambda x: logits[: len(x)], INPUTS[:3], torch.tensor([1, 1, 1]), [0, 0, 0])
    assert found == {0: pytest.approx(1 / 3)}
    found = errors_by_condition(
        mean, INPUTS, TARGETS, LOADS, error=lambda answers, targets: (answers - targets).abs().max()
    )
    assert found["top"] == 2.0


def three_classes(x: Tensor) -> Tensor:
    """Logits of which the highest is right for the level 0, 1 or 2, all above 0."""
    return 5 - (x.mean(1) - torch.arange(3.0)).square()


def test_one_hot_classes_are_those_that_they_stand_for() -> None:
    inputs, wanted = INPUTS % 3, torch.tensor([0, 1, 2, 0, 1, 0])
    hot, seen = torch.nn.functional.one_hot(wanted, 3).float(), []

    def fit(inputs: Tensor, targets: Tensor):
        seen.append(targets.shape)
        return three_classes

    errors = {"low": 0.0, "high": 0.0, "top": 0.5}
    assert errors_by_condition(three_classes, inputs, hot, LOADS) == errors
    assert leave_one_condition_out(fit, inputs, hot, LOADS) == errors
    assert seen == [(4, 3)] * 3


def test_labels_are_read_on_all_conditions_and_not_on_one_of_them() -> None:
    """In each condition but "top" the rows look one-hot, and in "low" the logits look like probabilities."""
    labels = torch.tensor([[1, 0], [0, 1], [0, 1], [1, 0], [1, 1], [1, 1]])
    logits = torch.tensor([[0.2, 0.0], [-3.0, 2.0], [0.0, 0.3], [2.0, -2.0], [2.0, 3.0], [-1.0, 0.5]])
    inputs = logits[:, None, :].expand(6, 4, 2)
    found = errors_by_condition(lambda x: x.mean(1), inputs, labels, LOADS)
    assert found == {"low": 0.0, "high": 0.0, "top": 0.25}
    left_out = leave_one_condition_out(lambda x, y: lambda x: x.mean(1), inputs, labels, LOADS)
    assert (left_out["high"], left_out["top"]) == (0.0, 0.25)


def test_a_function_gets_the_mask() -> None:
    mask = torch.ones(6, 4).bool()
    mask[:, 2:] = False
    inputs = INPUTS.masked_fill(~mask.unsqueeze(-1), NAN)
    found = errors_by_condition(
        lambda x, mask: x[..., 0].masked_fill(~mask, 0).sum(1) / mask.sum(1), inputs, TARGETS, LOADS, mask
    )
    assert found == errors_by_condition(mean, INPUTS, TARGETS, LOADS)


def test_training_sees_all_conditions_but_one() -> None:
    seen = []

    def fit(inputs: Tensor, targets: Tensor):
        seen.append(sorted(targets.tolist()))
        assert torch.is_grad_enabled()
        return lambda x: targets.mean().expand(len(x))

    found = leave_one_condition_out(fit, INPUTS, TARGETS, LOADS)
    assert seen == [[1.0, 3.0, 5.0, 7.0], [0.0, 2.0, 5.0, 7.0], [0.0, 1.0, 2.0, 3.0]]
    assert found["low"] == pytest.approx(((4 - 0) ** 2 / 2 + (4 - 2) ** 2 / 2) ** 0.5)
    assert list(found) == ["low", "high", "top"]


def test_the_mask_goes_along() -> None:
    mask = torch.ones(6, 4, dtype=torch.int64)
    mask[0, 1:] = 0

    def fit(inputs: Tensor, targets: Tensor, mask: Tensor):
        assert mask.shape == inputs.shape[:2]
        assert mask.dtype == torch.bool
        return lambda x, mask: mask.sum(1).float()

    found = leave_one_condition_out(fit, INPUTS, TARGETS, LOADS, mask)
    assert found["low"] == pytest.approx((((1 - 0) ** 2 + (4 - 2) ** 2) / 2) ** 0.5)


def test_anything_that_trains_will_do() -> None:
    def ridge(inputs: Tensor, targets: Tensor):
        model = Ridge(1e-6).fit(mean(inputs)[:, None].numpy(), targets.numpy())
        return lambda x: torch.from_numpy(model.predict(mean(x)[:, None].numpy()))

    linear = TARGETS.new_tensor([1.0, 3.0, 5.0, 7.0, 9.0, 11.0])
    assert max(leave_one_condition_out(ridge, INPUTS, linear, LOADS).values()) < 1e-4

    def network(inputs: Tensor, targets: Tensor):
        layer = nn.Sequential(nn.Flatten(), nn.Linear(4, 1), nn.Dropout(0.9))
        layer(inputs).sum().backward()
        return layer

    first, second = (
        leave_one_condition_out(lambda x, y: seeded(network, x, y), INPUTS, TARGETS, LOADS) for _ in "ab"
    )
    # In evaluation mode: dropout would make them differ.
    assert first == second


def seeded(fit, x: Tensor, y: Tensor):
    torch.manual_seed(0)
    found = fit(x, y)
    torch.seed()
    return found


def test_it_is_a_public_name() -> None:
    assert crest.leave_one_condition_out is leave_one_condition_out


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"conditions": LOADS[:5]}, r"^conditions must have shape \(N,\) = \(6,\), got \(5,\)"),
        ({"conditions": ["low"] * 6}, "^conditions must be two or more to leave one out, got 'low' alone"),
        ({"conditions": [*LOADS[:5], NAN]}, "^conditions must name a condition for each trajectory, got nan"),
        (
            {"conditions": [*LOADS[:5], None]},
            "^conditions must name a condition for each trajectory, got None",
        ),
        (
            {"conditions": [*LOADS[:5], []]},
            r"^conditions must name a condition for each trajectory, got \[\]",
        ),
        ({"conditions": torch.zeros(6, 2)}, "^conditions must name a condition for each trajectory"),
        ({"conditions": 3}, "^conditions must name a condition for each trajectory, got int"),
        ({"targets": TARGETS[:5]}, "^targets must be a tensor of shape"),
        ({"targets": TARGETS * NAN}, "^targets must be finite"),
        ({"inputs": INPUTS[..., 0]}, "^inputs must have shape"),
        ({"mask": torch.ones(6, 3).bool()}, "^mask must have shape"),
        ({"fit": lambda x, y: 3.0}, "^fit must return a function that predicts, got float"),
        ({"fit": lambda x, y: lambda x: x}, "^predictions must be a tensor of shape"),
        ({"fit": lambda x, y: lambda x: mean(x) * NAN}, "^the function's predictions must be finite"),
    ],
)
def test_messages(changes: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "fit": lambda x, y: mean,
        "inputs": INPUTS,
        "targets": TARGETS,
        "conditions": LOADS,
    }
    with pytest.raises(ValueError, match=message):
        leave_one_condition_out(**arguments | changes)
