"""A model as a function of signals and a mask, in one layout and precision."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import crest
from crest.strangers.batch import Batch, read_batch
from crest.strangers.model import (
    StrangerModel,
    calls_of,
    find_channels_first,
    part_at,
    place_of,
    settled_axes,
)

X, MASK = torch.randn(6, 30, 2), torch.ones(6, 30, dtype=torch.bool)


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
    assert StrangerModel(Named()).raw(x).flatten().tolist() == [1.0, 1.0]
    assert StrangerModel(Named())(x, mask).flatten().tolist() == [5.0, 5.0]
    assert StrangerModel(Second())(x, mask).flatten().tolist() == [5.0, 2.0]

    def by_name(x: Tensor, scale: float = 2.0, mask: Tensor | None = None) -> Tensor:
        return x.mean((1, 2)) * scale + (0 if mask is None else mask.sum(1))

    assert torch.equal(StrangerModel(by_name)(X, MASK), 2 * X.mean((1, 2)) + 30)
    assert torch.equal(StrangerModel(by_name)(X), 2 * X.mean((1, 2)))


def test_inputs_move_to_the_device_of_the_model_and_have_its_precision() -> None:
    model = nn.Identity()
    model.register_buffer("place", torch.empty(1, device="meta"))
    assert place_of(model)[0] == torch.device("meta")
    assert StrangerModel(model).raw(torch.zeros(2, 3)).is_meta
    assert place_of(nn.BatchNorm1d(2, affine=False))[0] == torch.device("cpu")
    assert StrangerModel(nn.Linear(2, 1)).raw(torch.ones(3, 2, dtype=torch.float64)).dtype == torch.float32


def test_a_mask_of_padding_is_refused() -> None:
    class Padding(nn.Module):
        def forward(self, x: Tensor, key_padding_mask: Tensor) -> Tensor:
            return (x * ~key_padding_mask.unsqueeze(-1)).sum(1)

    with pytest.raises(ValueError, match=r"^mask is True where a step is valid, .* 'key_padding_mask'"):
        StrangerModel(Padding()).raw(X, MASK)
    with pytest.raises(ValueError, match=r"^mask is True where a step is valid, .* 'padding'"):
        StrangerModel(lambda x, padding: x)(X, MASK)


def test_other_failures_of_a_model_are_its_own() -> None:
    def fails(x: Tensor, mask: Tensor) -> Tensor:
        raise RuntimeError("no such thing")

    with pytest.raises(RuntimeError, match="no such thing"):
        StrangerModel(fails).raw(torch.ones(2, 5, 1), torch.ones(2, 5))


def test_arrays_and_parts_of_answers_become_tensors() -> None:
    assert torch.equal(StrangerModel(lambda x: np.ones(len(x)))(X), torch.ones(6, dtype=torch.float64))
    assert torch.equal(StrangerModel(lambda x: (x, 1), answer=lambda out: out[0][:, 0, 0])(X), X[:, 0, 0])
    with pytest.raises(
        ValueError,
        match=r"^model must return a tensor, got tuple of 2: pass output=, such as output=0, or answer=",
    ):
        StrangerModel(lambda x: (x, 1))(X)


def test_a_batch_comes_in_the_models_precision_and_signals_are_channels_last() -> None:
    layers = nn.Sequential(nn.Conv1d(2, 3, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(3, 1))
    stranger = StrangerModel(layers.double().train(), channels_first=True, size=4)
    with stranger.quiet():
        assert not layers.training
        batch = stranger.beside(Batch(X.mT))
        assert batch.inputs.dtype == torch.float64
        assert torch.equal(batch.signals, X.double())
        torch.testing.assert_close(stranger.predictions(batch), layers(X.mT.double()))
    assert layers.training


def test_a_mask_that_leaves_nothing_is_named() -> None:
    mask = MASK.clone()
    mask[2] = False
    with pytest.raises(
        ValueError, match=r"^mask must leave a valid step in each trajectory, got none in trajectory 2"
    ):
        StrangerModel(lambda x, m: x.mean((1, 2))).beside(Batch(X, None, mask))


def test_answers_with_a_time_axis_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^model must return .* got \(6, 30, 2\): pass answer="):
        StrangerModel(lambda x: x).predictions(Batch(X))


@pytest.mark.parametrize("wrong", [-1, 2])
def test_targets_of_logits_are_their_classes(wrong: int) -> None:
    targets = torch.tensor([0, 1, 0, 1, 0, 1])
    StrangerModel(lambda x: x[:, 0]).predictions(Batch(X, targets))
    targets[3] = wrong
    # One number is no logits.
    StrangerModel(lambda x: x[:, 0, :1]).predictions(Batch(X, targets))
    with pytest.raises(ValueError, match=r"^targets must be classes from 0 to 1, .* got (-1 to 1|0 to 2)$"):
        StrangerModel(lambda x: x[:, 0]).predictions(Batch(X, targets))


class Transposing(nn.Module):
    """Channels last outside, a convolution inside."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Conv1d(3, 6, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x.mT).mT


@pytest.mark.parametrize(
    ("model", "shape", "expected"),
    [
        (nn.Conv1d(2, 4, 3), (4, 2, 50), True),
        (nn.Sequential(nn.BatchNorm1d(2), nn.Conv1d(2, 4, 3)), (4, 2, 50), True),
        (Transposing(), (4, 50, 3), False),
        (nn.GRU(2, 4, batch_first=True), (4, 50, 2), False),
        (nn.Linear(2, 4), (4, 50, 2), False),
        (nn.Sequential(nn.Flatten(), nn.Linear(100, 4)), (4, 50, 2), None),
        (nn.Conv1d(6, 4, 3), (4, 6, 6), None),
        (nn.Flatten(), (4, 50, 2), None),
    ],
)
def test_the_first_layer_tells_the_order_of_the_axes(
    model: nn.Module, shape: tuple[int, ...], expected: bool | None
) -> None:
    assert find_channels_first(model, Batch(torch.randn(shape))) is expected
    assert not any(part._forward_pre_hooks for part in model.modules())
    assert model.training


def first_layer(found: bool | None, shape: tuple[int, int, int]) -> nn.Module:
    """A model whose first layer tells that."""
    if found is None:
        return nn.Flatten()
    return nn.Conv1d(shape[1], 1, 1) if found else nn.Linear(shape[2], 1)


@pytest.mark.parametrize(
    ("channels_first", "shape", "found"),
    [(False, (8, 2, 500), True), (True, (8, 24, 20), False), (False, (8, 2, 500), None)],
    ids=["the layer", "the layer, turned", "two steps"],
)
def test_an_order_that_looks_wrong_is_warned_of(
    channels_first: bool, shape: tuple[int, int, int], found: bool | None
) -> None:
    steps = shape[2 if channels_first else 1]
    message = rf"^channels_first={channels_first} makes {steps} steps .*channels_first={not channels_first}"
    with pytest.warns(UserWarning, match=message):
        assert (
            settled_axes(first_layer(found, shape), Batch(torch.zeros(shape)), channels_first, notes=[])
            is channels_first
        )


@pytest.mark.parametrize(
    ("channels_first", "shape", "found"),
    [(False, (8, 500, 2), None), (False, (8, 24, 40), False), (False, (8, 24, 40), None), (True, (8, 2, 500), None)],
    ids=["usual, last", "wide", "wide, nobody knows", "usual"],
)  # fmt: skip
def test_an_order_that_can_be_right_is_taken(
    channels_first: bool, shape: tuple[int, int, int], found: bool | None
) -> None:
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settled_axes(first_layer(found, shape), Batch(torch.zeros(shape)), channels_first, notes=notes)
    assert not notes


def test_what_the_order_was_read_from_is_told() -> None:
    notes: list[str] = []
    batch = Batch(torch.zeros(4, 3, 20))
    assert settled_axes(nn.Conv1d(3, 1, 1), batch, None, notes=notes)
    assert settled_axes(nn.Flatten(), batch, None, notes=notes)
    assert settled_axes(lambda x: x, batch, None, notes=notes)
    assert notes[:2] == [
        "inputs read as (B, C, T), because the first layer expects 3 channels",
        "inputs read as (B, C, T), because time is taken as the longer axis",
    ]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.pool, self.head = nn.Linear(2, 4), nn.Identity(), nn.Linear(4, 3)


def test_a_path_that_is_wrong_lists_the_nearest_names() -> None:
    with pytest.raises(
        ValueError, match=r"^head must name a module inside the model, such as head; got 'heads'"
    ):
        part_at(Net(), "head", "heads")
    with pytest.raises(ValueError, match=r"such as encoder, pool, head; got ''"):
        part_at(Net(), "pooling", "")
    with pytest.raises(ValueError, match=r"such as it has none; got 'a'"):
        part_at(nn.Linear(1, 1), "pooling", "a")


class Masking(nn.Module):
    """A convolution on (B, C, T), and a mean over the valid steps."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv1d(64, 4, 3, padding=1), nn.Linear(4, 1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        steps = self.conv(x) * mask.unsqueeze(1)
        return self.head(steps.sum(2) / mask.sum(1, keepdim=True))


def test_lengths_are_read_again_when_the_axes_are_known() -> None:
    batch = read_batch((torch.randn(4, 64, 50), torch.zeros(4), torch.tensor([40, 35, 30, 48])))
    assert batch.mask.shape == (4, 64)
    model = Masking()
    assert find_channels_first(model, batch) is True
    assert settled_axes(model, batch, None, notes=[])
    stranger = StrangerModel(model, channels_first=True)
    with stranger.quiet():
        beside = stranger.beside(batch)
        assert beside.mask.sum(1).tolist() == [40, 35, 30, 48]
        assert beside.mask.shape == (4, 50)
        assert stranger.predictions(beside).shape == (4, 1)


def test_what_a_layer_was_given_is_kept_though_a_later_line_writes_over_it() -> None:
    layer = nn.Flatten()
    given, beside = torch.ones(2, 3, 4), torch.ones(2, 3)
    with calls_of(layer) as seen:
        layer(given)
        given.zero_()
    assert seen[0].inputs[0].all()

    class Named(nn.Module):
        def forward(self, features: Tensor, mask: Tensor) -> Tensor:
            return features.mean(1)

    named = Named()
    with calls_of(named) as seen:
        named(torch.ones(2, 3, 4), mask=beside)
        beside.zero_()
    assert seen[0].named["mask"].all()


def test_a_model_that_works_in_place_changes_nothing_of_the_users() -> None:
    x, mask = torch.ones(2, 5, 1), torch.ones(2, 5, dtype=torch.bool)

    def in_place(x: Tensor, mask: Tensor) -> Tensor:
        mask.zero_()
        return x.zero_().sum((1, 2))

    StrangerModel(in_place)(x, mask)
    assert x.all()
    assert mask.all()


@pytest.mark.parametrize("scripted", [torch.jit.script, lambda model: nn.Sequential(torch.jit.script(model))])
def test_a_scripted_model_is_asked_without_a_look_inside(scripted: Any) -> None:
    model = scripted(
        nn.Sequential(nn.Conv1d(2, 4, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1))
    )
    x, y = torch.randn(12, 2, 40), torch.randn(12)
    settings = crest.ExchangeSettings(trajectories=8, block=4, bootstrap=5)
    found = crest.audit(model, (x, y), exchange=settings)
    assert found.interface is None
    assert any("was not found" in note for note in found.notes)
    crest.Watch(model, (x, y), exchange=settings)(0)
    assert list(crest.repair(model, (x, y), channels_first=True, exchange=settings).candidates) == [
        "as it is"
    ]
    if isinstance(model, torch.jit.ScriptModule):
        with pytest.raises(
            ValueError, match=r"^path needs a model that can be looked into, got a scripted one"
        ):
            crest.replace_pooling(model, "1", crest.CrestReadout())


def test_the_module_of_an_exported_program_is_asked() -> None:
    model = nn.Sequential(nn.Conv1d(2, 4, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 1)).eval()
    x = torch.randn(12, 2, 40)
    many = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("rows")},)).module()
    batch = Batch(x, channels_first=True)
    with StrangerModel(many, True).quiet():
        found = StrangerModel(many, True).predictions(batch)
    assert torch.allclose(found, model(x))
    twelve = torch.export.export(model, (x,)).module()
    with pytest.raises(ValueError, match=r"^model must take inputs .* AssertionError: Guard failed"):
        StrangerModel(twelve, True, size=5).predictions(batch)
