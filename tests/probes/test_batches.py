"""Batches against everything at once, on networks of other people too."""

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from crest.probes import batches_of, evaluating, in_batches, saliency
from crest.probes.batches import BATCH
from stranger import Stranger

# -- evaluation mode


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_and_the_gradients_are_put_back(training: bool) -> None:
    network = Stranger().train(training)
    with evaluating(network):
        assert not any(part.training for part in network.modules())
        assert not torch.is_grad_enabled()
    assert all(part.training is training for part in network.modules())
    assert torch.is_grad_enabled()


def test_a_part_that_was_frozen_stays_frozen() -> None:
    network = Stranger().train()
    network.norm.eval()
    with evaluating(network):
        pass
    assert network.training
    assert network.dropout.training
    assert not network.norm.training
    network.eval()
    network.norm.train()
    with evaluating(network):
        assert not network.norm.training
    assert network.norm.training
    assert not network.training


def test_a_shared_part_keeps_its_mode() -> None:
    shared = nn.Dropout()
    network = nn.Sequential(nn.Sequential(shared), nn.Sequential(nn.Linear(2, 2), shared)).train()
    network[0].eval()
    modes = [part.training for part in network.modules()]
    with evaluating(network):
        pass
    assert [part.training for part in network.modules()] == modes


def test_a_module_that_does_more_in_train_is_told_both_ways() -> None:
    heard = []

    class Merging(nn.Linear):
        def train(self, mode: bool = True) -> "Merging":
            heard.append(mode)
            return super().train(mode)

    network = nn.Sequential(Merging(2, 2))
    with evaluating(network):
        assert heard == [False]
    assert heard == [False, True]


def test_a_failure_inside_puts_the_mode_back_too() -> None:
    network = Stranger().train()
    with pytest.raises(KeyError), evaluating(network):
        raise KeyError("inside")
    assert all(part.training for part in network.modules())
    assert torch.is_grad_enabled()


@pytest.mark.unchecked
def test_only_a_module_has_a_mode() -> None:
    with (
        pytest.raises(ValueError, match=r"module must be a torch.nn.Module, got function"),
        evaluating(len_of),
    ):
        pass


def len_of(x: Tensor) -> Tensor:
    return x.new_full((len(x),), len(x))


# -- batches


@pytest.mark.parametrize("rows", [1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH])
def test_every_row_comes_once_in_its_order(rows: int) -> None:
    x, events = torch.randn(rows, 3), torch.arange(rows)
    found = batches_of(x, None, events)
    assert [len(part[0]) for part in found[:-1]] == [BATCH] * (len(found) - 1)
    assert 1 <= len(found[-1][0]) <= BATCH
    assert all(part[1] is None for part in found)
    assert torch.equal(torch.cat([part[0] for part in found]), x)
    assert torch.equal(torch.cat([part[2] for part in found]), events)


def test_batches_are_views() -> None:
    x = torch.zeros(5, 2)
    (first, *_) = batches_of(x, size=2)
    first[0].fill_(1)
    assert x.sum() == 4


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("tensors", "size", "message"),
    [
        ((), 2, r"tensors must have the same number of rows, at least 1, got no tensor"),
        ((None,), 2, r"tensors must have .* got no tensor"),
        ((torch.zeros(3), torch.zeros(4)), 2, r"tensors must have the same number of rows.* got \[3, 4\]"),
        ((torch.zeros(0, 4),), 2, r"tensors must have the same number of rows, at least 1, got \[0\]"),
        ((torch.tensor(1.0),), 2, "tensors must be torch tensors with a row .* got a tensor without axes"),
        (([1.0, 2.0],), 2, "tensors must be torch tensors with a row for each trajectory, or None, got list"),
        ((torch.zeros(3),), 0, "size must be a whole number, 1 or more, got 0"),
        ((torch.zeros(3),), 2.0, "size must be a whole number, 1 or more, got 2.0"),
        ((torch.zeros(3),), True, "size must be a whole number, 1 or more, got True"),
    ],
)
def test_messages_of_batches(tensors: tuple[Tensor, ...], size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        batches_of(*tensors, size=size)


# -- a function in batches


@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("size", [1, 4, 7, 100])
def test_a_strangers_network_answers_as_to_everything_at_once(stride: int, size: int) -> None:
    network, signals = Stranger(stride=stride), torch.randn(9, 2, 30)
    padding = torch.arange(30).expand(9, 30) >= torch.randint(10, 30, (9, 1))
    network(torch.randn(16, 2, 30))  # its running averages have seen a batch
    with evaluating(network):
        answers, weights = network(signals, padding)
    for place, expected in enumerate((answers, weights)):
        with evaluating(network):
            found = in_batches(
                lambda x, pad, place=place: network(x, pad)[place], batches_of(signals, padding, size=size)
            )
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_a_module_is_evaluated_and_left_as_it_was() -> None:
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout()).train()
    network[1].eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    x = torch.randn(10, 3)
    first, second = (in_batches(network, batches_of(x, size=size)) for size in (3, 10))
    torch.testing.assert_close(first, second)
    assert not first.requires_grad
    assert (network.training, network[1].training, network[2].training) == (True, False, True)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_no_more_than_one_batch_is_seen_at_a_time_and_without_gradients() -> None:
    seen = []

    def watched(x: Tensor) -> Tensor:
        seen.append((len(x), torch.is_grad_enabled()))
        return x

    in_batches(watched, batches_of(torch.zeros(BATCH + 5, 2)))
    assert seen == [(BATCH, False), (5, False)]


def test_a_data_loader_is_batches_too() -> None:
    x, y = torch.randn(10, 3), torch.randn(10)
    loader = DataLoader(TensorDataset(x, y), batch_size=4)
    assert torch.equal(in_batches(lambda x, y: x.sum(1) - y, loader), x.sum(1) - y)
    assert torch.equal(in_batches(len_of, DataLoader(x, batch_size=4)), torch.tensor([4.0] * 8 + [2.0] * 2))


def test_batches_may_come_one_by_one() -> None:
    assert in_batches(len_of, (torch.zeros(n) for n in (2, 1))).tolist() == [2, 2, 1]


def test_what_nobody_knows_reaches_the_function_as_none() -> None:
    heard = []
    in_batches(lambda events, x: heard.append(events) or x, batches_of(None, torch.zeros(3), size=2))
    assert heard == [None, None]


def test_a_function_that_needs_gradients_takes_them_itself() -> None:
    network, x = Stranger(stride=2).train(), torch.randn(5, 20, 2)
    with evaluating(network):
        whole = saliency(network.answers, x)
        parts = in_batches(lambda rows: saliency(network.answers, rows), batches_of(x, size=2))
    torch.testing.assert_close(parts, whole)
    assert whole.max() > 0


def test_a_failing_function_leaves_the_module_in_its_mode() -> None:
    network = nn.Sequential(nn.Linear(3, 1)).train()
    with pytest.raises(RuntimeError):
        in_batches(network, [torch.zeros(2, 4)])
    assert network.training
    assert torch.is_grad_enabled()


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("function", "batches", "message"),
    [
        (
            len_of,
            torch.zeros(3, 2),
            r"batches must be an iterable .* got one tensor: pass batches_of\(tensor\)",
        ),
        (len_of, [], "batches must hold at least one batch, got none"),
        (len_of, [{"x": torch.zeros(2)}], "batches must hold tensors, or tuples or lists of them, got dict"),
        (len_of, [(None,)], r"batches must hold at least one tensor with a row .*, got \(None,\)"),
        (len_of, [()], r"batches must hold at least one tensor with a row .*, got \(\)"),
        (lambda x: x.sum(), [torch.zeros(2)], r"function must return .* each of the 2 rows, got \(\)"),
        (lambda x: x[:1], [torch.zeros(2, 3)], r"function must return .* of the 2 rows, got \(1, 3\)"),
        (lambda x: (x, x), [torch.zeros(2)], "function must return a tensor .* 2 rows, got tuple"),
        (
            lambda x: x,
            [torch.zeros(2, 3), torch.zeros(2, 4)],
            r"function must return rows of one shape for all batches, got \[\(3,\), \(4,\)\]",
        ),
    ],
)
def test_messages(function: object, batches: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_batches(function, batches)


@pytest.mark.filterwarnings("ignore")
def test_a_frozen_script_has_no_mode_and_is_asked_as_it_is() -> None:
    frozen = torch.jit.freeze(torch.jit.script(nn.Sequential(nn.Linear(2, 1), nn.ReLU()).eval()))
    for model in (frozen, nn.Sequential(frozen, nn.Dropout())):
        x = torch.ones(3, 2)
        assert in_batches(model, [x]).shape == (3, 1)
    assert not hasattr(frozen, "training")
    assert model.training
    assert model[1].training
