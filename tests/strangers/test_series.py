"""Tensors with a time axis, and packed sequences."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from crest.strangers.series import axes_of, one_vector, series_of

X, LENGTHS = torch.randn(4, 9, 2), torch.tensor([3, 9, 1, 6])
VALID = (torch.arange(9) < LENGTHS[:, None]).unsqueeze(2)


def test_packed_sequences_are_unpacked_in_the_order_of_the_batch() -> None:
    packed = pack_padded_sequence(X, LENGTHS, batch_first=True, enforce_sorted=False)
    # A state of two layers beside it has three axes too.
    for output in (packed, (packed, torch.zeros(2, 4, 2)), [packed]):
        found, lengths = series_of(output)
        assert found is not None
        assert torch.equal(found, X * VALID)
        assert torch.equal(lengths, LENGTHS)


def test_the_first_series_of_several() -> None:
    assert series_of((torch.zeros(4, 2), X, torch.zeros(1, 4, 2)))[0] is X
    assert series_of(X) == (X, None)
    assert series_of({"steps": X}) == (None, None)
    assert series_of(torch.zeros(4, 2)) == (None, None)


def test_axes_and_vectors() -> None:
    assert axes_of(X, 4, 9, 2) == (0, 1, 2)
    assert axes_of(X.mT, 4, 9, 2) == (0, 2, 1)
    assert axes_of(X.transpose(0, 1), 4, 9, 2) == (1, 0, 2)
    # A class token is one step more than the inputs have; two more are something else.
    assert axes_of(X, 4, 8, 2) == (0, 1, 2)
    assert axes_of(X, 4, 7, 2) is None
    assert axes_of(torch.zeros(4, 6, 6), 4, 9, 6, nn.Conv1d) == (0, 2, 1)
    for shape in ((4, 5), (4, 1, 5), (4, 5, 1)):
        vector = one_vector(torch.zeros(shape), 4)
        assert vector is not None
        assert vector.shape == (4, 5)
    assert one_vector(X, 4) is None


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_are_padded() -> None:
    nested = torch.nested.nested_tensor([x[:steps] for x, steps in zip(X, LENGTHS, strict=True)])
    found, _ = series_of(nested)
    assert found is not None
    assert torch.equal(found, X * VALID)
    assert one_vector(nested, 4) is None
