"""What the recurrent encoder computes; what every encoder must obey is in tests/contracts."""

import pytest
import torch

from crest.lab.encoders import GruEncoder
from crest.lab.encoders.recurrence import gru_states


def test_the_features_are_the_states_of_its_layer_from_zero() -> None:
    encoder = GruEncoder(2, 4)
    x = torch.randn(3, 7, 2)
    state = torch.zeros(3, 4)
    cell = torch.nn.GRUCell(2, 4)
    for name, value in encoder.layer.state_dict().items():
        cell.get_parameter(name.removesuffix("_l0")).data.copy_(value)
    with torch.no_grad():
        for step in range(7):
            state = cell(x[:, step], state)
            torch.testing.assert_close(encoder(x)[:, step], state)


@pytest.mark.parametrize(
    ("batch", "steps", "channels", "width"), [(1, 1, 1, 1), (5, 40, 3, 32), (3, 17, 2, 7)]
)
def test_states_and_gradients_are_those_of_the_layer(
    batch: int, steps: int, channels: int, width: int
) -> None:
    layer = torch.nn.GRU(channels, width, batch_first=True)
    x = 3 * torch.randn(batch, steps, channels)
    weights = torch.randn(batch, steps, width)
    results = []
    for states_of in (lambda x: gru_states(layer, x), lambda x: layer(x)[0]):
        layer.zero_grad()
        leaf = x.clone().requires_grad_()
        states = states_of(leaf)
        (states * weights).sum().backward()
        results.append([states, leaf.grad, *(weight.grad.clone() for weight in layer.parameters())])
    for compiled, plain in zip(*results, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=1e-4, atol=1e-5)


def test_gates_that_are_shut_or_open_wide_stay_within_their_range() -> None:
    layer = torch.nn.GRU(1, 2, batch_first=True)
    x = torch.tensor([-1e6, 1e6, 30.0, 0.0]).reshape(1, 4, 1)
    torch.testing.assert_close(gru_states(layer, x), layer(x)[0])


def test_a_second_derivative_is_refused() -> None:
    layer = torch.nn.GRU(1, 2, batch_first=True)
    x = torch.randn(1, 5, 1, requires_grad=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(gru_states(layer, x).sum(), x, create_graph=True)


def test_other_precisions_take_the_layer_itself() -> None:
    encoder = GruEncoder(2, 4).double()
    x = torch.randn(3, 7, 2, dtype=torch.float64)
    assert torch.equal(encoder(x), encoder.layer(x)[0])


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_not_a_number_stays_so(wrong: float) -> None:
    """Training that diverged is told by it."""
    layer = torch.nn.GRU(1, 37, batch_first=True)  # some in vectors, some beside
    x = torch.randn(2, 6, 1)
    x[0, 3] = wrong
    compiled, plain = gru_states(layer, x), layer(x)[0]
    assert torch.equal(compiled.isnan(), plain.isnan())
    torch.testing.assert_close(compiled[1], plain[1])


@pytest.mark.parametrize("shape", [(0, 5), (2, 0)], ids=["no trajectory", "no step"])
def test_nothing_gives_nothing(shape: tuple[int, int]) -> None:
    layer = torch.nn.GRU(3, 4, batch_first=True)
    assert gru_states(layer, torch.zeros(*shape, 3)).shape == (*shape, 4)
