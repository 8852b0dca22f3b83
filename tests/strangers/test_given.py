"""Batches of every form in one form."""

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from crest.strangers.given import gathered, require_in_order

X, Y = torch.arange(24.0).reshape(4, 3, 2), torch.arange(4.0)
MASK = torch.ones(4, 3, dtype=torch.bool)


@pytest.mark.parametrize(
    "batches",
    [
        (X, Y, MASK),
        [(X[:3], Y[:3], MASK[:3]), (X[3:], Y[3:], MASK[3:])],
        [[X, Y, MASK]],
        {"x": X, "y": Y, "mask": MASK},
        [{"signals": X, "label": Y, "valid": MASK}],
        (X.numpy(), Y.numpy(), MASK.numpy()),
    ],
)
def test_all_forms_say_the_same(batches: object) -> None:
    given = gathered(batches, 10)
    assert torch.equal(given.inputs, X)
    assert torch.equal(given.targets, Y)
    assert torch.equal(given.mask, MASK)


def test_batches_padded_one_by_one_are_padded_to_the_longest() -> None:
    last = [(X, Y, MASK), (X[:, :2], Y, MASK[:, :2])]
    first = [{"signal": x.mT, "wear": y, "valid": mask} for x, y, mask in last]
    for given in (gathered(last, 10), gathered(first, 10, keys=("signal", "wear", "valid"))):
        steps = 1 if given.inputs.shape[1:] == X.shape[1:] else 2
        inputs = given.inputs if steps == 1 else given.inputs.mT
        assert torch.equal(inputs[:4], X)
        assert torch.equal(inputs[4:, :2], X[:, :2])
        assert not inputs[4:, 2:].any()
        assert torch.equal(given.mask, torch.cat([MASK, MASK & torch.tensor([True, True, False])]))


def test_nothing_after_the_last_one_is_read() -> None:
    def some():
        yield X
        raise AssertionError("nobody asked for this")

    assert torch.equal(gathered(some(), 3).inputs, X[:3])


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([X, (X, Y)], "^batches must all hold the same parts"),
        ([X, X[:, :2]], "^batches must hold windows of one length, or masks, got 2 to 3 steps"),
        ([{"x": X, "inputs": X}], "^batches must name their inputs once, got the keys inputs, x"),
        ([(X, Y, MASK, Y)], "^batches must hold .* got 4 parts"),
        ("signals", "^batches must be arrays"),
        ([(X, "labels")], "^targets of batches must be a tensor or an array, got str"),
        (np.array([["a"]], dtype=object), "^inputs of batches must be numbers, got text such as 'a'"),
    ],
)
def test_messages(batches: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gathered(batches, 10)


class Backwards(BatchSampler):
    """A batch sampler with an order of its own."""

    def __iter__(self):
        yield from reversed(list(super().__iter__()))


class Stream(IterableDataset):
    def __iter__(self):
        return iter(X)


SHUFFLED = {
    "RandomSampler": DataLoader(X, batch_size=2, shuffle=True),
    "DistributedSampler": DataLoader(X, sampler=DistributedSampler(X, 2, 0, shuffle=False)),
    "SubsetRandomSampler": DataLoader(X, batch_size=2, sampler=SubsetRandomSampler(range(4))),
    "WeightedRandomSampler": DataLoader(X, batch_size=2, sampler=WeightedRandomSampler([1.0] * 4, 4)),
    "list": DataLoader(X, batch_size=2, sampler=[3, 2, 1, 0]),
    "RandomSampler ": DataLoader(X, batch_sampler=BatchSampler(RandomSampler(X), 2, False)),
    "Backwards": DataLoader(X, batch_sampler=Backwards(SequentialSampler(X), 2, False)),
    "_InfiniteConstantSampler": DataLoader(Stream(), batch_size=2),
}
"""Loaders by the name of what orders them."""


@pytest.mark.parametrize("name", SHUFFLED)
def test_a_loader_with_an_order_of_its_own_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"^batches must come in the order .* got one with {name.strip()}$"):
        require_in_order(SHUFFLED[name])


@pytest.mark.parametrize(
    "batches",
    [
        X,
        [X],
        (X, Y),
        iter([X]),
        {"x": X},
        DataLoader(X, batch_size=2),
        DataLoader(X, batch_size=2, drop_last=True),
        DataLoader(X, batch_size=None),
        DataLoader(X, batch_sampler=BatchSampler(SequentialSampler(X), 2, False)),
    ],
)
def test_what_comes_as_it_lies_is_in_order(batches: object) -> None:
    require_in_order(batches)
    if isinstance(batches, DataLoader):
        assert torch.equal(torch.cat([batch.reshape(-1, 3, 2) for batch in batches]), X)
