from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

import crest
from crest.strangers.batch import Batch
from crest.strangers.interface import Interface, InterfaceError, find_interface
from crest.strangers.model import StrangerModel
from crest.strangers.pooling import PoolingLayer, find_place, known_convention, known_pooling
from crest.strangers.slot import Convention, PoolingSlot
from knocks_made import network
from pooled_in_a_line import PLAIN, made


def place(
    model: nn.Module, x: Tensor, path: str | None = None, **options: object
) -> PoolingLayer | Interface:
    first = bool(options.pop("channels_first", False))
    return find_place(model, Batch(x, channels_first=first), path, **options)


def seen(model: nn.Module, x: Tensor, **options: object) -> Convention:
    found = place(model, x, "pool", argument="path", **options)
    assert isinstance(found, PoolingLayer)
    return Convention(found.layout, found.keepdim)


POOLS: dict[Convention, Callable[[Tensor], Tensor]] = {
    Convention("channels_last", False): lambda x: x.mean(1),
    Convention("channels_first", False): lambda x: x.mean(2),
    Convention("channels_last", True): lambda x: x.mean(1, keepdim=True),
    Convention("channels_first", True): lambda x: x.mean(2, keepdim=True),
}


class Calling(nn.Module):
    """A layer made of a function."""

    def __init__(self, function: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> object:
        return self.function(x)


class Around(nn.Module):
    """A layer made of a function, and a model that calls it."""

    def __init__(self, function: Callable[[Tensor], object], times: int = 1) -> None:
        super().__init__()
        self.pool = Calling(function)
        self.dropout = nn.Dropout(0.5)
        self.times = times

    def forward(self, x: Tensor) -> object:
        x = self.dropout(x)
        return [self.pool(x) for _ in range(self.times)]


@pytest.mark.parametrize("convention", POOLS, ids=str)
def test_every_convention_is_seen(convention: Convention) -> None:
    model = Around(POOLS[convention])
    assert seen(model, torch.randn(4, 30, 7)) == convention
    assert model.training
    assert not model.pool._forward_hooks


def test_what_is_known() -> None:
    assert known_convention(nn.AdaptiveMaxPool1d((1,)), "pool") == Convention("channels_first", True)
    assert known_convention(crest.AttentionReadout(4), "pool") == Convention("channels_last", False)
    slot = PoolingSlot(crest.MeanReadout(), "channels_first", True)
    assert known_convention(slot, "pool") == Convention("channels_first", True)
    assert known_convention(nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Flatten()), "pool") is None


def test_a_layer_of_torch_with_a_forward_of_ones_own_is_ones_own() -> None:
    class LastState(nn.LSTM):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x)[0][:, -1]

    class Renamed(nn.LSTM):
        pass

    assert known_convention(LastState(3, 3, batch_first=True), "pool") is None
    with pytest.raises(ValueError, match="got 'pool': Renamed, which does not pool"):
        known_convention(Renamed(3, 3), "pool")


def test_what_does_not_pool_is_refused_with_its_shapes() -> None:
    x = torch.randn(4, 30, 7)
    refused = [
        (
            Around(lambda x: x[:, ::2]),
            r"pools all steps to one vector .* got 'pool', which made \(4, 15, 7\) of \(4, 30, 7\)",
        ),
        (Around(lambda x: x.mean(0)), r"which made \(30, 7\) of"),
        (Around(lambda x: (x, x)), "got 'pool', which gives a tuple"),
        (Around(lambda x: x.mean(1), times=2), "calls once, got 'pool': 2 calls"),
        (Around(lambda x: x.mean(1), times=0), "got 'pool': 0 calls"),
    ]
    for model, message in refused:
        with pytest.raises(ValueError, match=f"^path must name a layer that .*{message}"):
            seen(model, x)
        assert not model.pool._forward_hooks
    with pytest.raises(ValueError, match=r"^pooling must name a layer that takes 3-D features, got 'pool'"):
        place(nn.Sequential(OrderedDict(flat=nn.Flatten(), pool=Calling(lambda x: x))), x, "pool")
    with pytest.raises(ValueError, match="pools all steps to one vector"):
        seen(Around(lambda x: x), torch.randn(4, 1, 7))


def test_a_square_sample_is_ambiguous_and_layout_decides() -> None:
    model, x = Around(lambda x: x.mean(1)), torch.randn(4, 7, 7)
    with pytest.raises(ValueError, match=r"^layout must be given, 'channels_last' or 'channels_first'"):
        seen(model, x)
    assert seen(model, x, layout="channels_last") == Convention("channels_last", False)


class Transposing(nn.Module):
    """Channels last outside, a convolution inside; one head or more reads the pooled vector."""

    def __init__(self, heads: int = 1) -> None:
        super().__init__()
        self.encoder = nn.Conv1d(3, 6, 5)
        self.pool = crest.MeanReadout()
        self.gate = nn.Linear(6, 6)
        self.heads = nn.ModuleList(nn.Linear(6, 1) for _ in range(heads))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        pooled = self.pool(self.gate(self.encoder(x.mT).mT))
        return sum(head(pooled) for head in self.heads)


def known(model: nn.Module, x: Tensor) -> str | None:
    return known_pooling(StrangerModel(model), Batch(x))


def test_the_one_known_pooling_is_found() -> None:
    x = torch.randn(4, 1, 50)
    assert known(network(), x) == "2"
    assert known(Transposing(), torch.randn(4, 50, 3)) == "pool"
    slot = crest.replace_pooling(network(), "2", crest.CrestReadout())
    assert known(slot, x) == "2"
    assert known(nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.AdaptiveMaxPool1d(1)), x) is None
    assert known(nn.Sequential(nn.MaxPool1d(2), nn.Conv1d(1, 1, 1)), x) is None


class Excited(nn.Module):
    """A block of squeeze and excite, and a line that pools, or a layer."""

    def __init__(self, pool: nn.Module | None = None) -> None:
        super().__init__()
        self.first, self.sq = nn.Conv1d(1, 6, 5), nn.AdaptiveAvgPool1d(1)
        self.gate, self.act = nn.Conv1d(6, 6, 1), nn.Sigmoid()
        self.second, self.pool, self.head = nn.Conv1d(6, 6, 3), pool, nn.Linear(6, 1)

    def forward(self, x: Tensor) -> Tensor:
        f = self.first(x)
        f = self.second(f * self.act(self.gate(self.sq(f)))).relu()
        return self.head(f.mean(-1) if self.pool is None else self.pool(f).flatten(1))


def test_a_gate_is_not_taken_for_the_pooling() -> None:
    x = torch.randn(4, 1, 50)
    for path in (None, "second"):
        found = place(Excited(), x, path, channels_first=True)
        assert isinstance(found, Interface)
        assert (found.features, found.head, found.activation) == ("second", "head", "relu")
    layer = place(Excited(nn.AdaptiveAvgPool1d(1)), x, channels_first=True)
    assert isinstance(layer, PoolingLayer)
    assert (layer.path, layer.linear) == ("pool", "head")


def test_the_head_reads_the_pooled_vector() -> None:
    assert place(network(), torch.randn(4, 1, 50), channels_first=True).linear == "4"
    assert place(Transposing(), torch.randn(4, 50, 3)).linear == "heads.0"
    masked = Batch(torch.randn(4, 50, 3), None, torch.ones(4, 50))
    assert find_place(Transposing(), masked).linear == "heads.0"
    assert place(Transposing(heads=2), torch.randn(4, 50, 3)).linear is None
    between = nn.Sequential(crest.MeanReadout(), nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, 1))
    assert place(between, torch.randn(4, 50, 3), "0").linear is None


@pytest.mark.parametrize(
    ("encoder", "stride"),
    [
        (nn.Conv1d(1, 4, 9), 1),
        (nn.Sequential(nn.Conv1d(1, 4, 7, stride=2), nn.MaxPool1d(2)), 4),
        (nn.Upsample(scale_factor=2), 1),
    ],
)
def test_the_stride_is_that_of_the_features(encoder: nn.Module, stride: int) -> None:
    model = nn.Sequential(encoder, nn.AdaptiveAvgPool1d(1))
    assert place(model, torch.randn(2, 1, 200), "1", channels_first=True).stride == stride
    assert place(Transposing(), torch.randn(2, 50, 3), "pool").stride == 1


@pytest.mark.parametrize("kind", [*PLAIN.values()], ids=[*PLAIN])
def test_a_line_of_forward_is_found_as_the_audit_finds_it(kind: type[nn.Module]) -> None:
    stranger, batch = (
        StrangerModel(made(kind), channels_first=True),
        Batch(torch.randn(4, 1, 60), channels_first=True),
    )
    found = find_place(stranger.model, batch)
    assert isinstance(found, Interface)
    assert found == find_interface(stranger, batch)
    assert find_place(stranger.model, batch, found.features, head=found.head) == replace(
        found, linear=found.linear if found.linear == found.head else None
    )
    with pytest.raises(ValueError, match=r"^pooling must name a layer that"):
        find_place(stranger.model, batch, "head")


def test_audit_and_repair_find_the_same_in_a_model_with_a_pooling_layer() -> None:
    for model, x, first in (
        (network(), torch.randn(4, 1, 50), True),
        (Transposing(), torch.randn(4, 50, 3), False),
    ):
        stranger, batch = StrangerModel(model, first), Batch(x, channels_first=first)
        layer, interface = find_place(model, batch), find_interface(stranger, batch)
        assert isinstance(layer, PoolingLayer)
        assert (layer.linear, layer.stride) == (interface.linear, interface.stride)
        assert (layer.layout == "channels_first") == (interface.axes == (0, 2, 1))


def test_a_layer_that_pools_is_not_passed_over() -> None:
    with pytest.raises(
        ValueError, match=r"^pooling must name a layer that pools to one vector, got '0': Conv1d"
    ):
        place(network(), torch.randn(4, 1, 50), "0", channels_first=True)
    flat = nn.Sequential(nn.Conv1d(1, 1, 5), nn.Flatten(), nn.Linear(46, 1))
    with pytest.raises(InterfaceError, match=r"^features must name a module"):
        place(flat, torch.randn(4, 1, 50), channels_first=True)
