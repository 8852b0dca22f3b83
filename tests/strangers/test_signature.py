"""The argument by which a model takes the valid steps."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from crest.strangers.model import StrangerModel
from crest.strangers.signature import length_argument, needs_mask, step_argument, takes_mask_by_name


class Named(nn.Module):
    def forward(self, x: Tensor, scale: float = 1.0, mask: Tensor | None = None) -> Tensor:
        return x


class Second(nn.Module):
    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        return x


def test_a_mask_by_name() -> None:
    assert takes_mask_by_name(Named())
    assert not takes_mask_by_name(Second())
    assert not needs_mask(Named())
    assert needs_mask(lambda x, mask: x)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (lambda x, lengths: lengths, "lengths"),
        (lambda x, x_len: x_len, "x_len"),
        (lambda x, seq_lens: seq_lens, "seq_lens"),
        (lambda x, state=None, input_lengths=None: input_lengths, "input_lengths"),
        (lambda x, seqlen: seqlen, "seqlen"),
        (lambda x, mask, lengths=None: mask.sum(1), None),
        (lambda x, valid, max_len=9: valid.sum(1), None),
        (lambda x, silence: silence.sum(1), None),
    ],
)
def test_a_model_that_takes_lengths_gets_them(model: Callable[..., Tensor], name: str | None) -> None:
    assert length_argument(model) == name
    mask = torch.tensor([[True, False, False], [True, True, True]])
    assert StrangerModel(model).raw(mask, mask).tolist() == [1, 3]


def test_inputs_are_no_lengths_by_their_name() -> None:
    assert length_argument(lambda lengths: lengths) is None


def test_any_number_of_arguments_is_no_name() -> None:
    assert step_argument(lambda x, **kw: x) is None
    assert step_argument(lambda x, *a: x) is None
    assert step_argument(lambda x, *mask, lengths=None: x) == "lengths"
    assert not takes_mask_by_name(lambda x, **mask: x)
