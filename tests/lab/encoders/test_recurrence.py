import copy

import pytest
import torch

import crest
from crest.lab.encoders import GruEncoder
from crest.lab.encoders.recurrence import CompiledGru


def plain(layer: CompiledGru) -> torch.nn.GRU:
    """PyTorch's layer with the same weights."""
    same = torch.nn.GRU(layer.input_size, layer.hidden_size, batch_first=True)
    same.load_state_dict(layer.state_dict())
    return same


@pytest.mark.parametrize(
    ("batch", "steps", "channels", "width"), [(1, 1, 1, 1), (5, 40, 3, 32), (3, 17, 2, 7)]
)
def test_states_and_gradients_are_those_of_pytorch(batch: int, steps: int, channels: int, width: int) -> None:
    compiled = CompiledGru(channels, width)
    x = 3 * torch.randn(batch, steps, channels)
    weights, last_weights = torch.randn(batch, steps, width), torch.randn(1, batch, width)
    results = []
    for layer in (compiled, plain(compiled)):
        leaf = x.clone().requires_grad_()
        states, last = layer(leaf)
        ((states * weights).sum() + (last * last_weights).sum()).backward()
        results.append([states, last, leaf.grad, *(weight.grad for weight in layer.parameters())])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_it_is_compiled_where_it_serves_and_plain_elsewhere() -> None:
    layer, x = CompiledGru(2, 4), torch.randn(3, 7, 2)
    states = layer(x)[0]
    assert "_States" in str(states.grad_fn.next_functions)
    for same, other in ((plain(layer), x), (plain(layer).double(), x.double())):
        answer = copy.deepcopy(layer).to(other.dtype)
        with crest.readouts.fast.backend("auto" if other.dtype == torch.float64 else "torch"):
            assert torch.equal(answer(other)[0], same(other)[0])


def test_autocast_transforms_and_traces_run_pytorch() -> None:
    layer, x = CompiledGru(2, 4), torch.randn(3, 7, 2)
    same = plain(layer)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer(x)[0], same(x)[0])
    weights = {name: weight.detach() for name, weight in layer.named_parameters()}

    def total(weights: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.func.functional_call(layer, weights, (x,))[0].sum()

    gradients = torch.func.grad(total)(weights)
    layer(x)[0].sum().backward()
    for name, weight in layer.named_parameters():
        torch.testing.assert_close(gradients[name], weight.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(torch.jit.trace(layer, x)(x)[0], same(x)[0])


def test_hooks_of_the_layer_see_its_states() -> None:
    encoder, seen = GruEncoder(2, 4), []
    encoder.layer.register_forward_hook(lambda module, given, answer: seen.append(answer[0]))
    features = encoder(torch.randn(3, 7, 2))
    assert torch.equal(seen[0], features)


def test_gates_that_are_shut_or_open_wide_stay_within_their_range() -> None:
    layer = CompiledGru(1, 2)
    x = torch.tensor([-1e6, 1e6, 30.0, 0.0]).reshape(1, 4, 1)
    torch.testing.assert_close(layer(x)[0], plain(layer)(x)[0])


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_not_a_number_stays_so(wrong: float) -> None:
    """Training that diverged is told by it."""
    layer = CompiledGru(1, 37)  # some units in vectors, some beside
    x = torch.randn(2, 6, 1)
    x[0, 3] = wrong
    compiled, expected = layer(x)[0], plain(layer)(x)[0]
    assert torch.equal(compiled.isnan(), expected.isnan())
    torch.testing.assert_close(compiled[1], expected[1])


def test_a_second_derivative_is_refused() -> None:
    layer = CompiledGru(1, 2)
    x = torch.randn(1, 5, 1, requires_grad=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(layer(x)[0].sum(), x, create_graph=True)
