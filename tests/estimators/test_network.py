import copy

import pytest
import torch
from torch import nn

from crest.estimators.network import ResidualNetwork, train_network


@pytest.mark.parametrize(("channels", "outputs", "steps"), [(1, 1, 1), (1, 3, 2), (3, 2, 41)])
def test_signals_of_any_length_give_one_row_each(channels: int, outputs: int, steps: int) -> None:
    network = ResidualNetwork(channels, outputs).eval()
    assert network(torch.randn(5, channels, steps)).shape == (5, outputs)


def test_its_size_is_what_its_docstring_says() -> None:
    weights = sum(one.numel() for one in ResidualNetwork(1, 1).parameters())
    assert 20_000 < weights < 22_000


@pytest.mark.parametrize("classes", [False, True])
def test_training_learns_the_size_of_a_knock(classes: bool) -> None:
    x = 0.1 * torch.randn(64, 1, 60)
    y = torch.arange(64) % 2
    x[:, 0, 20:24] += 2.0 * y[:, None]
    network = ResidualNetwork(1, 2 if classes else 1)
    targets = y if classes else y.float()
    train_network(network, list(zip(x.split(16), targets.split(16), strict=True)), epochs=15)
    assert not network.training
    found = network(x).argmax(1) if classes else (network(x)[:, 0] > 0.5).long()
    assert (found == y).float().mean() > 0.95


def test_one_update_is_enough_for_the_cycle_and_batches_are_read_once_an_epoch() -> None:
    network = nn.Sequential(nn.Flatten(), nn.Linear(4, 1))
    before = copy.deepcopy(network.state_dict())
    train_network(network, [(torch.randn(3, 1, 4), torch.ones(3))], epochs=1)
    assert not torch.equal(before["1.weight"], network.state_dict()["1.weight"])

    class Counted(list):
        passes = 0

        def __iter__(self):
            self.passes += 1
            return super().__iter__()

    batches = Counted([(torch.randn(3, 1, 4), torch.ones(3))])
    train_network(network, batches, epochs=7)
    assert batches.passes == 7
