"""A model as a function of inputs and a mask."""

import numpy as np
import pytest
import torch
from torch import Tensor

from crest.strangers.asking import asker

X, MASK = torch.randn(3, 5, 2), torch.ones(3, 5, dtype=torch.bool)


def test_a_mask_goes_by_name_or_as_the_second_argument() -> None:
    def by_name(x: Tensor, scale: float = 2.0, mask: Tensor | None = None) -> Tensor:
        return x.mean((1, 2)) * scale + (0 if mask is None else mask.sum(1))

    def by_place(x: Tensor, valid: Tensor) -> Tensor:
        return valid.sum(1)

    assert torch.equal(asker(by_name, None)(X, MASK), 2 * X.mean((1, 2)) + 5)
    assert torch.equal(asker(by_name, None)(X), 2 * X.mean((1, 2)))
    assert asker(by_place, None)(X, MASK).tolist() == [5, 5, 5]


def test_arrays_and_parts_of_answers_become_tensors() -> None:
    assert torch.equal(asker(lambda x: np.ones(len(x)), None)(X), torch.ones(3, dtype=torch.float64))
    assert torch.equal(asker(lambda x: (x, 1), lambda out: out[0][:, 0, 0])(X), X[:, 0, 0])
    with pytest.raises(ValueError, match=r"^model must return a tensor, got tuple: pass answer="):
        asker(lambda x: (x, 1), None)(X)


def test_a_mask_of_padding_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match=r"^mask is True where a step is valid, .* 'padding'"):
        asker(lambda x, padding: x, None)(X, MASK)
