"""One contract for every remedy in the registry: to add a remedy is to be tested here."""

import copy

import pytest
import torch
from torch import Tensor, nn

from crest._base.rng import torch_generator
from crest.lab.remedies import run_fields
from crest.remedies import REMEDIES, Augmentation, Remedy, WithFront
from crest.remedies.remedy import mask_argument

FRONTS = [name for name, one in REMEDIES.items() if one.front is not None]
CHANGES = [name for name, one in REMEDIES.items() if one.change is not None]
BOTH_LAYOUTS = pytest.mark.parametrize("channels_first", [False, True])


def signals(channels_first: bool = False, dtype: torch.dtype = torch.float32) -> Tensor:
    numbers = torch.Generator().manual_seed(1000)
    x = torch.randn(8, 96, 2, generator=numbers) + torch.randn(8, 1, 2, generator=numbers)
    # A tone of its own size in each row.
    x += torch.linspace(3, 9, 8)[:, None, None] * torch.cos(0.8 * torch.arange(96))[None, :, None]
    return (x.mT.contiguous() if channels_first else x).to(dtype)


MASK = torch.arange(96) < torch.tensor([96, 96, 80, 70, 40, 30, 20, 10])[:, None]


def front(name: str, channels_first: bool = False) -> nn.Module:
    return REMEDIES[name].front(channels_first=channels_first)


def change(name: str, channels_first: bool = False, seed: int = 0) -> nn.Module:
    return REMEDIES[name].change(generator=torch_generator(seed, "contract"), channels_first=channels_first)


@pytest.mark.parametrize("name", REMEDIES)
def test_it_says_what_it_does_in_one_sentence(name: str) -> None:
    one = REMEDIES[name]
    assert isinstance(one, Remedy)
    assert one.sentence.endswith(".")
    assert one.sentence.count(". ") == 0
    assert len(one.sentence) < 120
    with pytest.raises(AttributeError):
        one.sentence = ""


def test_no_two_are_spelled_alike() -> None:
    keys = [one.key for one in REMEDIES.values() if one.key is not None]
    assert len(keys) == len(set(keys))
    spelled = [(one.pooling, one.balanced, repr(run_fields(name))) for name, one in REMEDIES.items()]
    assert len(spelled) == len(set(spelled))
    # A spec has one field for a remedy.
    assert not set(FRONTS) & set(CHANGES)


@BOTH_LAYOUTS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", [*FRONTS, *CHANGES])
def test_shape_dtype_and_device_stay(name: str, channels_first: bool, dtype: torch.dtype) -> None:
    made = front(name, channels_first) if name in FRONTS else change(name, channels_first)
    x = signals(channels_first, dtype)
    before = x.clone()
    for given in ({}, {"mask": MASK}):
        out = made(x, **given)
        assert (out.shape, out.dtype, out.device) == (x.shape, x.dtype, x.device)
        assert out.isfinite().all()
    assert torch.equal(x, before)


@pytest.mark.parametrize("name", [*FRONTS, *CHANGES])
def test_both_layouts_are_one(name: str) -> None:
    make = front if name in FRONTS else change
    out, turned = make(name)(signals(), MASK), make(name, channels_first=True)(signals(True), MASK)
    torch.testing.assert_close(turned.mT, out, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [*FRONTS, *CHANGES])
def test_a_convolution_of_one_channel_can_be_trained_behind_it(name: str) -> None:
    """The strides of a transposed (B, 1, T) kill the process in the backward pass of torch's Conv1d."""
    made = (front if name in FRONTS else change)(name, channels_first=True)
    x = signals(channels_first=True)[:, :1].contiguous()
    out = made(x)
    assert out.stride() == x.stride()
    nn.Conv1d(1, 4, 5)(out).sum().backward()


@pytest.mark.parametrize("name", [*FRONTS, *CHANGES])
def test_padding_changes_nothing(name: str) -> None:
    made = front(name) if name in FRONTS else change(name)
    again = copy.deepcopy(made) if name in FRONTS else change(name)
    assert mask_argument(made) is not None
    x = signals()
    out, dirty = made(x, MASK), again(x.masked_fill(~MASK.unsqueeze(-1), 1e6), MASK)
    torch.testing.assert_close(out[MASK], dirty[MASK], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [*FRONTS, *CHANGES])
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    make = front if name in FRONTS else change
    assert torch.equal(make(name)(signals(), MASK), make(name)(signals(), MASK))
    if name in CHANGES:
        assert not torch.equal(change(name)(signals()), change(name, seed=1)(signals()))


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_for_training_only_and_leaves_some_rows(name: str) -> None:
    made = change(name)
    assert isinstance(made, Augmentation)
    rows = (made(signals()) != signals()).flatten(1).any(1)
    assert 0 < int(rows.sum()) < 8
    assert torch.equal(made.eval()(signals()), signals())


@pytest.mark.parametrize("name", FRONTS)
def test_a_front_is_the_same_in_both_modes_and_row_by_row(name: str) -> None:
    made, x = front(name), signals()
    out = made.train()(x)
    assert torch.equal(made.eval()(x), out)
    torch.testing.assert_close(made(x[2:3]), out[2:3], rtol=1e-5, atol=1e-6)


# Tones are found one by one until none is left: how many is not known to a graph.
@pytest.mark.unchecked
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FRONTS if name != "tone filter"])
def test_a_front_compiles_and_exports(name: str) -> None:
    model, x = WithFront(front(name, channels_first=True), nn.Flatten()).eval(), signals(channels_first=True)
    expected = model(x)
    torch.testing.assert_close(torch.export.export(model, (x,)).module()(x), expected, rtol=1e-4, atol=1e-5)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), expected, rtol=1e-4, atol=1e-5)
