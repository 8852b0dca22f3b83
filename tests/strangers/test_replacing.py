import copy
import warnings

import pytest
import torch
from torch import Tensor, nn

import crest
from pooled_in_a_line import LastStep, Strided, made


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
    assert crest.replace_pooling(model, "readout.pool", readout, warn=False) is model
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


# -- layers that do not pool


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (nn.MaxPool1d(2), "MaxPool1d, which leaves many steps"),
        (nn.AvgPool1d(400), "AvgPool1d, which leaves many steps"),
        (nn.AdaptiveMaxPool1d(3), r"AdaptiveMaxPool1d\(output_size=3\), which leaves several steps"),
        (nn.LSTM(3, 8, batch_first=True), "LSTM, which does not pool; .* pass a batch as sample="),
        (nn.GRU(3, 8), "GRU, which does not pool"),
        (nn.Linear(3, 8), "Linear, which does not pool"),
        (nn.Conv1d(3, 8, 5), "Conv1d, which does not pool"),
        (nn.BatchNorm1d(3), "BatchNorm1d, which does not pool"),
        (nn.LayerNorm(3), "LayerNorm, which does not pool"),
        (nn.ReLU(), "ReLU, which does not pool"),
        (nn.ModuleList([nn.ReLU()]), "ModuleList, which does not pool"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_layers_that_do_not_pool_are_refused(layer: nn.Module, message: str) -> None:
    model = nn.Sequential(layer)
    with pytest.raises(
        ValueError, match=f"^path must name a layer that pools to one vector, got '0': {message}"
    ):
        crest.replace_pooling(model, "0", crest.CrestReadout())
    assert model[0] is layer


def test_reanchoring_names_its_own_argument() -> None:
    batches = [(torch.randn(4, 3, 60), torch.randn(4))]
    with pytest.raises(
        ValueError, match=r"^pooling must name a layer that pools to one vector, got '0': Conv1d"
    ):
        crest.reanchor(convolutional(), batches, pooling="0", head="4")


# -- a sample


def test_a_sample_finds_out_how_a_layer_is_called() -> None:
    pool = nn.Sequential(nn.AdaptiveMaxPool1d(1), nn.Flatten())
    model = nn.Sequential(nn.Conv1d(3, 8, 5), pool, nn.Linear(8, 1))
    x = torch.randn(4, 3, 60)
    before = model(x)
    crest.replace_pooling(model, "1", crest.MaxReadout(), sample=x)
    assert (model[1].layout, model[1].keepdim) == ("channels_first", False)
    torch.testing.assert_close(model(x), before)
    assert model.training


def test_a_sample_of_a_known_layer_and_one_that_contradicts() -> None:
    x = torch.randn(4, 3, 60)
    crest.replace_pooling(model := convolutional(), "2", crest.MeanReadout(), sample=(x, torch.zeros(4)))
    assert (model[2].layout, model[2].keepdim) == ("channels_first", True)
    model = Model()
    with pytest.raises(
        ValueError, match=r"^layout and keepdim must fit the layer 'readout.pool', which made"
    ):
        crest.replace_pooling(
            model, "readout.pool", crest.MeanReadout(), sample=torch.randn(4, 50, 3), layout="channels_first"
        )
    assert isinstance(model.readout["pool"], MeanOverTime)


# -- the warning


def trained_by_gradient() -> nn.Module:
    model = Model()
    model(torch.randn(4, 50, 3)).sum().backward()
    return model


def trained_with_normalisation() -> nn.Module:
    model = nn.Sequential(nn.Conv1d(3, 8, 5), nn.BatchNorm1d(8), nn.AdaptiveAvgPool1d(1))
    model(torch.randn(4, 3, 60))
    return model


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (Model().eval(), "readout.pool"),
        (trained_by_gradient(), "readout.pool"),
        (trained_with_normalisation(), "2"),
    ],
    ids=["evaluation mode", "gradients", "batches counted"],
)
def test_a_model_that_looks_trained_must_be_trained_again(model: nn.Module, path: str) -> None:
    with pytest.warns(UserWarning, match=f"at '{path}': train it again .* or call crest.reanchor") as seen:
        crest.replace_pooling(model, path, crest.CrestReadout())
    assert len(seen) == 1


def test_a_second_replacement_says_that_there_was_a_first() -> None:
    model = crest.replace_pooling(convolutional(), "2", crest.MeanReadout()).eval()
    message = r"^the pooling of this model has already been replaced, by MeanReadout at '2': train it again"
    with pytest.warns(UserWarning, match=message):
        crest.replace_pooling(model, "2", crest.CrestReadout())


def test_a_new_model_and_reanchoring_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crest.replace_pooling(Model(), "readout.pool", crest.CrestReadout())
        crest.replace_pooling(Model().eval(), "readout.pool", crest.CrestReadout(), warn=False)
        crest.replace_pooling(Model().to("meta"), "readout.pool", crest.CrestReadout())
        # It has a normalisation, which has counted no batch yet.
        fresh = nn.Sequential(nn.Conv1d(3, 8, 5), nn.BatchNorm1d(8), nn.AdaptiveAvgPool1d(1))
        crest.replace_pooling(fresh, "2", crest.CrestReadout())
        batches = [(torch.randn(8, 3, 60), torch.randn(8))]
        crest.reanchor(convolutional().eval(), batches, pooling="2", head="4")
    with pytest.warns(UserWarning, match="train it again"):
        crest.replace_pooling(Model(), "readout.pool", crest.CrestReadout(), warn=True)


@pytest.mark.unchecked
def test_the_warning_is_of_the_line_that_replaces() -> None:
    with pytest.warns(UserWarning, match="train it again") as seen:
        crest.replace_pooling(Model(), "readout.pool", crest.CrestReadout(), warn=True)
    assert seen[0].filename == __file__


def test_a_line_of_forward_that_pools_is_replaced_with_a_sample() -> None:
    x = torch.randn(4, 1, 60)
    for kind, path in ((Strided, "second"), (LastStep, "gru")):
        model = made(kind)
        own = crest.MeanReadout() if kind is Strided else crest.LastReadout()
        with pytest.warns(UserWarning, match=f"at '{path}': train it again"):
            crest.replace_pooling(model, path, own, sample=(x, torch.zeros(4)))
        torch.testing.assert_close(model(x), made(kind)(x))
        crest.replace_pooling(model, path, crest.MaxReadout(), sample=x, warn=False)
        assert not torch.allclose(model(x), made(kind)(x))
    with pytest.raises(
        ValueError, match=r"got 'gru': GRU, which does not pool; if a line of `forward` pools .* sample="
    ):
        crest.replace_pooling(made(LastStep), "gru", crest.MeanReadout())


def test_reanchoring_takes_the_module_whose_output_is_pooled() -> None:
    x, y = torch.randn(20, 1, 60), torch.randn(20)
    model = made(LastStep)
    found = crest.reanchor(model, [(x, y)], pooling="gru", head="head", budgets=[0.1], run_up=0)
    left = model(x).reshape(-1)
    wanted = nn.functional.linear(
        crest.CrestReadout(0.1, run_up=0)(model.gru(x.mT)[0]), model.head.weight, model.head.bias
    )
    torch.testing.assert_close(left, wanted.reshape(-1))
    # Once more, on what it has become.
    again = crest.reanchor(model, [(x, y)], pooling="gru", head="head", budgets=[0.1], run_up=0)
    assert again.error == pytest.approx(found.error, rel=1e-4)


def test_a_sample_on_which_the_model_fails_is_told() -> None:
    with pytest.raises(ValueError, match=r"^sample must fit the model: model must take inputs \(4, 3, 60\)"):
        crest.replace_pooling(made(Strided), "second", crest.MeanReadout(), sample=torch.randn(4, 3, 60))
