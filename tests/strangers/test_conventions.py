from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import crest
from crest.strangers.conventions import known_convention, seen_convention
from crest.strangers.slot import Convention, PoolingSlot

POOLS: dict[Convention, Callable[[Tensor], Tensor]] = {
    Convention("channels_last", False): lambda x: x.mean(1),
    Convention("channels_first", False): lambda x: x.mean(2),
    Convention("channels_last", True): lambda x: x.mean(1, keepdim=True),
    Convention("channels_first", True): lambda x: x.mean(2, keepdim=True),
}


class Around(nn.Module):
    """A layer made of a function, and a model that calls it."""

    def __init__(self, function: Callable[[Tensor], object], times: int = 1) -> None:
        super().__init__()
        self.pool = nn.Module()
        self.pool.forward = function
        self.dropout = nn.Dropout(0.5)
        self.times = times

    def forward(self, x: Tensor) -> object:
        x = self.dropout(x)
        return [self.pool(x) for _ in range(self.times)]


@pytest.mark.parametrize("convention", POOLS, ids=str)
def test_every_convention_is_seen(convention: Convention) -> None:
    model = Around(POOLS[convention])
    assert seen_convention(model, "pool", torch.randn(4, 30, 7)) == convention
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
            seen_convention(model, "pool", x)
        assert not model.pool._forward_hooks
    with pytest.raises(ValueError, match=r"^pooling must name a layer that takes 3-D features, got 'pool'"):
        seen_convention(Around(lambda x: x), "pool", torch.randn(4, 30), argument="pooling")
    with pytest.raises(ValueError, match="pools all steps to one vector"):
        seen_convention(Around(lambda x: x), "pool", torch.randn(4, 1, 7))


def test_a_square_sample_is_ambiguous_and_layout_decides() -> None:
    model, x = Around(lambda x: x.mean(1)), torch.randn(4, 7, 7)
    with pytest.raises(ValueError, match=r"^layout must be given, 'channels_last' or 'channels_first'"):
        seen_convention(model, "pool", x)
    assert seen_convention(model, "pool", x, layout="channels_last") == Convention("channels_last", False)


@pytest.mark.unchecked
def test_samples_are_batches_of_one_of_three_forms() -> None:
    model, x = Around(lambda x: x.mean(1)), torch.randn(4, 30, 7)
    assert seen_convention(model, "pool", (x, torch.zeros(4))).layout == "channels_last"
    with pytest.raises(ValueError, match=r"^sample must be inputs, .* got 1 parts"):
        seen_convention(model, "pool", (x,))
    with pytest.raises(ValueError, match=r"^sample must be inputs, .* got dict"):
        seen_convention(model, "pool", {"x": x})
