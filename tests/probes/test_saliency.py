"""Input saliency against gradients written out by hand."""

import pytest
import torch
from torch import Tensor, nn

from crest.probes import saliency

WEIGHTS = torch.tensor([[3.0, -4.0], [0.0, 0.0], [1.0, 0.0], [-2.0, 2.0]])


def linear(inputs: Tensor) -> Tensor:
    return (inputs * WEIGHTS).sum((1, 2))


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [("l2", [5.0, 0.0, 1.0, 8**0.5]), ("l1", [7.0, 0.0, 1.0, 4.0]), ("max", [4.0, 0.0, 1.0, 2.0])],
)
def test_a_linear_function_gives_its_weights(reduce: str, expected: list[float]) -> None:
    torch.testing.assert_close(saliency(linear, torch.randn(3, 4, 2), reduce), torch.tensor([expected] * 3))


def test_a_nonlinear_function_gives_each_row_its_own_gradient() -> None:
    inputs = torch.randn(5, 7, 1, dtype=torch.float64)
    actual = saliency(lambda x: x.pow(3).sum((1, 2)).sin(), inputs)
    outer = inputs.pow(3).sum((1, 2)).cos()
    torch.testing.assert_close(actual, (3 * inputs.squeeze(-1) ** 2 * outer[:, None]).abs())


def test_a_column_output_is_the_same() -> None:
    inputs = torch.randn(3, 4, 2)
    assert torch.equal(saliency(lambda x: linear(x)[:, None], inputs), saliency(linear, inputs))


@pytest.mark.parametrize("outer", [torch.no_grad, torch.inference_mode])
def test_an_outer_context_without_gradients_does_not_matter(outer: type) -> None:
    model = nn.Linear(2, 1)
    with outer():
        values = saliency(lambda x: model(x).mean(1), torch.randn(3, 4, 2))
        assert not torch.is_grad_enabled()
    torch.testing.assert_close(values, model.weight.detach().norm().expand(3, 4) / 4)
    assert not values.requires_grad


def test_the_callers_tensors_and_gradients_stay() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    model[0].weight.grad = torch.full_like(model[0].weight, 7.0)
    inputs, plain = torch.randn(3, 4, 2, requires_grad=True), torch.randn(3, 4, 2)
    before = inputs.detach().clone()
    for given in (inputs, plain):
        saliency(lambda x: model(x).sum(1), given)
    assert inputs.grad is None
    assert torch.equal(inputs.detach(), before)
    assert not plain.requires_grad
    assert bool((model[0].weight.grad == 7).all())
    assert model[2].weight.grad is None


def test_half_precision_is_reduced_in_float32() -> None:
    inputs = torch.zeros(1, 1, 2, dtype=torch.float16)
    assert saliency(lambda x: (x * 5e4).sum((1, 2)), inputs).item() == pytest.approx(5e4 * 2**0.5, rel=1e-3)


def frozen(inputs: Tensor) -> Tensor:
    with torch.no_grad():
        return linear(inputs)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: torch.ones(3, requires_grad=True), "function must depend on inputs"),
        (lambda x: torch.ones(3), "function must depend on inputs"),
        (frozen, "function must depend on inputs"),
        (lambda x: x.sum(-1), r"function must return .* \(B,\) or \(B, 1\), B = 3, got \(3, 4\)"),
        (lambda x: x.sum(), r"function must return .* got \(\)"),
        (lambda x: [x], "function must return .* got list"),
    ],
)
def test_messages_about_the_function(function: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        saliency(function, torch.randn(3, 4, 2))


def test_messages_about_the_inputs() -> None:
    with pytest.raises(ValueError, match=r"inputs must have shape \(B, T, C\).*got \(3, 4\)"):
        saliency(linear, torch.randn(3, 4))
    with pytest.raises(ValueError, match=r"inputs must be a floating point tensor, got torch.int64"):
        saliency(linear, torch.ones(3, 4, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match="reduce must be one of l2, l1, max, got 'mean'"):
        saliency(linear, torch.randn(3, 4, 2), "mean")


def three_classes(inputs: Tensor) -> Tensor:
    """Logits of three classes: class k reads step k, and weighs it with k + 1."""
    return inputs[:, :3].sum(-1) * torch.tensor([1.0, 2.0, 3.0])


def test_a_target_chooses_the_class_whose_gradient_is_taken() -> None:
    inputs = torch.randn(2, 4, 1)
    assert saliency(three_classes, inputs, target=1).tolist() == [[0.0, 2.0, 0.0, 0.0]] * 2
    each = saliency(three_classes, inputs, target=torch.tensor([0, 2]))
    assert each.tolist() == [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0]]
    with pytest.raises(ValueError, match=r"got \(2, 3\): target= says which of its outputs"):
        saliency(three_classes, inputs)


def test_a_target_means_what_it_means_in_captum() -> None:
    captum = pytest.importorskip("captum.attr")
    inputs, target = torch.randn(2, 4, 1), torch.tensor([2, 1])
    theirs = captum.Saliency(three_classes).attribute(inputs, target=target)
    torch.testing.assert_close(saliency(three_classes, inputs, target=target), theirs.squeeze(-1))
