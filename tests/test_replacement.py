import copy

import pytest
import torch
from torch import Tensor, nn

import crest


class MeanOverTime(nn.Module):
    def forward(self, features: Tensor) -> Tensor:
        return features.mean(1)


class Model(nn.Module):
    """Encoder, pooling layer, head, as people have them."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(3, 8)
        self.readout = nn.ModuleDict({"pool": MeanOverTime()})
        self.head = nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.readout["pool"](self.encoder(x)))


def convolutional() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv1d(3, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 1)
    )


def test_the_layer_is_replaced_in_place() -> None:
    model = Model().eval()
    x = torch.randn(4, 50, 3)
    readout = crest.CrestReadout()
    assert crest.replace_pooling(model, "readout.pool", readout) is model
    expected = model.head(copy.deepcopy(readout)(model.encoder(x)))
    torch.testing.assert_close(model(x), expected)
    assert not readout.training


def test_replacing_by_the_same_pooling_changes_nothing() -> None:
    model = Model()
    x = torch.randn(4, 50, 3)
    before = model(x)
    torch.testing.assert_close(crest.replace_pooling(model, "readout.pool", crest.MeanReadout())(x), before)


def test_an_adaptive_pool_says_itself_how_it_is_called() -> None:
    model = convolutional()
    x = torch.randn(4, 3, 60)
    before = model(x)
    crest.replace_pooling(model, "2", crest.MeanReadout())
    torch.testing.assert_close(model(x), before)
    assert [name for name, _ in model.named_children()] == ["0", "1", "2", "3", "4"]


def test_channels_first_without_kept_dimension() -> None:
    slot = crest.replacement.PoolingSlot(crest.MeanReadout(), "channels_first")
    x = torch.randn(4, 3, 60)
    torch.testing.assert_close(slot(x), x.mean(2))
    assert repr(slot).startswith("PoolingSlot(\n  layout='channels_first', keepdim=False")


@pytest.mark.parametrize("layout", ["channels_last", "channels_first"])
def test_a_mask_goes_through_as_booleans_or_as_zeros_and_ones(layout: str) -> None:
    slot = crest.replacement.PoolingSlot(crest.CrestReadout("trajectory"), layout)
    features, mask = torch.randn(4, 60, 3), torch.arange(60) < torch.tensor([[60], [30], [5], [0]])
    given = features if layout == "channels_last" else features.transpose(1, 2)
    expected = slot.readout(features, mask)
    torch.testing.assert_close(slot(given, mask), expected, rtol=0, atol=0)
    torch.testing.assert_close(slot(given, mask.long()), expected, rtol=0, atol=0)


def test_an_adaptive_pool_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"a layer that pools to one vector, got '0': AdaptiveAvgPool1d\(output_size=4\)"
    ):
        crest.replace_pooling(nn.Sequential(nn.AdaptiveAvgPool1d(4)), "0", crest.MeanReadout())
    with pytest.raises(ValueError, match="layout must be 'channels_first' in the place of AdaptiveAvgPool1d"):
        crest.replace_pooling(convolutional(), "2", crest.MeanReadout(), layout="channels_last")


def test_weights_take_the_dtype_of_the_model() -> None:
    model = crest.replace_pooling(Model().double(), "readout.pool", crest.AttentionReadout(8))
    assert model(torch.randn(2, 20, 3, dtype=torch.float64)).dtype == torch.float64


def test_a_repaired_model_trains() -> None:
    model = crest.replace_pooling(Model(), "readout.pool", crest.CrestReadout())
    model(torch.randn(4, 50, 3)).sum().backward()
    assert model.encoder.weight.grad.abs().sum() > 0
    assert model.readout["pool"].readout.running.batches == 1


def test_the_readout_moves_to_the_device_of_the_model() -> None:
    model = crest.replace_pooling(Model().to("meta"), "readout.pool", crest.CrestReadout())
    assert model.readout["pool"].readout.running.width.device.type == "meta"


def test_an_unknown_path_lists_the_modules() -> None:
    with pytest.raises(
        ValueError, match=r"path must name a module .*encoder, readout, readout.pool, head; got 'p'"
    ):
        crest.replace_pooling(Model(), "p", crest.MeanReadout())
    with pytest.raises(ValueError, match="path must name a module"):
        crest.replace_pooling(Model(), "", crest.MeanReadout())


@pytest.mark.unchecked
def test_wrong_arguments_are_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match="readout must be an instance of a label-free crest readout, got EventWindowReadout"
    ):
        crest.replace_pooling(Model(), "readout.pool", crest.EventWindowReadout())
    with pytest.raises(ValueError, match="got the class CrestReadout"):
        crest.replace_pooling(Model(), "readout.pool", crest.CrestReadout)
    with pytest.raises(ValueError, match="layout must be one of channels_last, channels_first, got 'BTD'"):
        crest.replace_pooling(Model(), "readout.pool", crest.MeanReadout(), layout="BTD")
    model = crest.replace_pooling(Model(), "readout.pool", crest.MeanReadout())
    with pytest.raises(ValueError, match=r"must take 3-D features, got \(50, 8\)"):
        model(torch.randn(50, 3))


def test_a_second_readout_is_called_as_the_first_one_was() -> None:
    model = nn.Sequential(nn.Conv1d(3, 8, 5), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 1))
    before = model(torch.ones(2, 3, 8))
    crest.replace_pooling(model, "1", crest.CrestReadout())
    crest.replace_pooling(model, "1", crest.MeanReadout())
    assert (model[1].layout, model[1].keepdim) == ("channels_first", True)
    torch.testing.assert_close(model(torch.ones(2, 3, 8)), before)
