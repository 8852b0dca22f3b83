"""The first layer tells the order of the axes."""

import warnings

import pytest
import torch
from torch import Tensor, nn

from crest.strangers.axes import find_channels_first, warn_of_axes


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
    assert find_channels_first(model, torch.randn(shape)) is expected
    assert not any(part._forward_pre_hooks for part in model.modules())
    assert model.training


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
        warn_of_axes(channels_first, shape, found)


@pytest.mark.parametrize(
    ("channels_first", "shape", "found"),
    [
        (False, (8, 500, 2), True),
        (False, (8, 24, 40), False),
        (False, (8, 24, 40), None),
        (True, (8, 2, 500), None),
    ],
    ids=["a layer over all steps", "wide", "wide, nobody knows", "usual"],
)
def test_an_order_that_can_be_right_is_taken(
    channels_first: bool, shape: tuple[int, int, int], found: bool | None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_axes(channels_first, shape, found)
