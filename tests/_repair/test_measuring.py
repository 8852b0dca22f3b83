import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import crest
from crest import ExchangeSettings
from crest._repair.measuring import Yardstick
from crest.probes.errors import rmse_or_error_rate
from crest.strangers.batch import Batch


class Reads(nn.Module):
    """The mean of valid steps, in training mode with noise."""

    def __init__(self, channels_first: bool = False) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.5)
        self.time = 2 if channels_first else 1

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.dropout(x)
        if mask is None:
            return x.mean((1, 2))
        return (x.mean(3 - self.time) * mask).sum(1) / mask.sum(1)


SETTINGS = ExchangeSettings(kind="level", what="background", trajectories=16, block=4, batch_size=7, seed=3)


def yardstick(inputs: Tensor, targets: Tensor, mask: Tensor | None = None, **changes: Any) -> Yardstick:
    options: dict[str, Any] = {
        "channels_first": False, "error": rmse_or_error_rate, "exchange": SETTINGS, **changes,
    }  # fmt: skip
    return Yardstick(validation=Batch(inputs, targets, mask), **options)


def test_errors_by_hand_in_evaluation_mode_for_both_orders_of_axes() -> None:
    x, y = torch.randn(20, 30, 2), torch.randn(20)
    mask = torch.arange(30) < torch.randint(5, 30, (20, 1))
    for channels_first in (False, True):
        model = Reads(channels_first)
        one = yardstick(x, y, channels_first=channels_first)
        expected = (x.mean((1, 2)) - y).square().mean().sqrt()
        assert one.error_on(model, one.validation) == pytest.approx(float(expected), rel=1e-5)
        masked = yardstick(x, y, mask, channels_first=channels_first)
        expected = ((x.mean(2) * mask).sum(1) / mask.sum(1) - y).square().mean().sqrt()
        assert masked.error_on(model, masked.validation) == pytest.approx(float(expected), rel=1e-5)
        assert model.training


def test_several_labels_have_the_threshold_that_all_predictions_tell() -> None:
    """Two small logits look like probabilities; that they are none is known from the others."""
    x, y = torch.tensor([0.2, 0.3, 9.0])[:, None, None].expand(3, 30, 2), torch.ones(3, 2)
    model = nn.Sequential(nn.Flatten(), nn.Linear(60, 2))
    with torch.no_grad():
        model[1].weight.fill_(1 / 60)
        model[1].bias.zero_()
    one = yardstick(x, y)
    few = torch.full((2, 2), 0.2)
    assert (float(one.error(few, y[:2])), float(one.settled(model).error(few, y[:2]))) == (1.0, 0.0)


def test_the_exchange_test_is_that_of_the_library() -> None:
    x, y = torch.randn(20, 30, 2) + torch.randn(20, 1, 1), torch.randn(20)
    found = yardstick(x, y).tested(Reads())
    assert found == crest.exchange_test(lambda x: x.mean((1, 2)), x, targets=y, exchange=SETTINGS)
    assert found.background > 0.99


class ReadsTheStart(nn.Module):
    """The mean of the first steps: a whole background changes it, a spectrum on the own phases another way."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, :10].mean((1, 2))


def test_the_other_error_is_on_whole_backgrounds_of_the_other_kind() -> None:
    x, y = torch.randn(20, 30, 2) + torch.randn(20, 1, 1), torch.randn(20)
    other = dataclasses.replace(SETTINGS, kind="slow", what="background")
    settings = dataclasses.replace(SETTINGS, kind="core", what="spectrum")
    model = ReadsTheStart()
    expected = crest.exchange_test(model, x, targets=y, exchange=other).exchanged_error
    assert yardstick(x, y, exchange=settings).other_error(model, "slow") == expected
