from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from crest.strangers.calls import (
    answer_to,
    called_with,
    calls_of,
    device_of,
    length_argument,
    step_argument,
    takes_mask_by_name,
)


class Named(nn.Module):
    def forward(self, x: Tensor, scale: float = 1.0, mask: Tensor | None = None) -> Tensor:
        return x.mean(1) * scale if mask is None else x.sum(1)


class Second(nn.Module):
    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        return (x * valid.unsqueeze(-1)).sum(1)


def test_calls_are_copies_and_the_hook_goes() -> None:
    layer = nn.ReLU(inplace=True)
    with calls_of(layer) as seen:
        layer(torch.tensor([-1.0, 2.0]))
    assert seen[0].inputs[0].data_ptr() != seen[0].output.data_ptr()
    assert seen[0].output.tolist() == [0.0, 2.0]
    layer(torch.zeros(1))
    assert len(seen) == 1


def test_a_mask_goes_by_name_where_there_is_one_and_else_second() -> None:
    x, mask = torch.ones(2, 5, 1), torch.tensor([[True] * 5, [True, True, False, False, False]])
    assert takes_mask_by_name(Named())
    assert not takes_mask_by_name(Second())
    assert answer_to(Named(), x).flatten().tolist() == [1.0, 1.0]
    assert answer_to(Named(), x, mask).flatten().tolist() == [5.0, 5.0]
    assert answer_to(Second(), x, mask).flatten().tolist() == [5.0, 2.0]


def test_inputs_move_to_the_device_of_the_model() -> None:
    model = nn.Identity()
    model.register_buffer("place", torch.empty(1, device="meta"))
    assert device_of(model) == torch.device("meta")
    assert answer_to(model, torch.zeros(2, 3)).is_meta
    assert device_of(nn.BatchNorm1d(2, affine=False)) == torch.device("cpu")


def test_a_mask_of_padding_is_refused_wherever_a_model_is_asked() -> None:
    class Padding(nn.Module):
        def forward(self, x: Tensor, key_padding_mask: Tensor) -> Tensor:
            return (x * ~key_padding_mask.unsqueeze(-1)).sum(1)

    for ask in (answer_to, called_with):
        with pytest.raises(ValueError, match=r"^mask is True where a step is valid, .* 'key_padding_mask'"):
            ask(Padding(), torch.ones(2, 5, 1), torch.ones(2, 5, dtype=torch.bool))


def test_inputs_have_the_precision_of_the_model() -> None:
    assert answer_to(nn.Linear(2, 1), torch.ones(3, 2, dtype=torch.float64)).dtype == torch.float32


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
    assert called_with(model, mask, mask).tolist() == [1, 3]


def test_inputs_are_no_lengths_by_their_name() -> None:
    assert length_argument(lambda lengths: lengths) is None


def test_other_failures_of_a_model_are_its_own() -> None:
    def fails(x: Tensor, mask: Tensor) -> Tensor:
        raise RuntimeError("no such thing")

    with pytest.raises(RuntimeError, match="no such thing"):
        called_with(fails, torch.ones(2, 5, 1), torch.ones(2, 5))


def test_any_number_of_arguments_is_no_name() -> None:
    assert step_argument(lambda x, **kw: x) is None
    assert step_argument(lambda x, *a: x) is None
    assert step_argument(lambda x, *mask, lengths=None: x) == "lengths"
    assert not takes_mask_by_name(lambda x, **mask: x)
