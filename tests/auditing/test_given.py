"""Batches of every form in one form."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from crest.auditing.given import gathered, require_in_order

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


def test_nothing_after_the_last_one_is_read() -> None:
    def some():
        yield X
        raise AssertionError("nobody asked for this")

    assert torch.equal(gathered(some(), 3).inputs, X[:3])


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([X, (X, Y)], "^batches must all hold the same parts"),
        ([X, X[:, :2]], "^batches must have inputs of one shape"),
        ([{"x": X, "inputs": X}], "^batches must name their inputs once, got the keys inputs, x"),
        ([(X, Y, MASK, Y)], "^batches must hold .* got 4 parts"),
        ("signals", "^batches must be arrays"),
        ([(X, "labels")], "^targets must be a tensor or an array, got str"),
        (np.array([["a"]], dtype=object), "^inputs must be numbers, got an array of objects"),
    ],
)
def test_messages(batches: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gathered(batches, 10)


def test_a_loader_that_shuffles_is_not_in_order() -> None:
    for batches in (X, [X], DataLoader(X, batch_size=2)):
        require_in_order(batches)
    with pytest.raises(ValueError, match="batches must come in the order of events and conditions"):
        require_in_order(DataLoader(X, batch_size=2, shuffle=True))
