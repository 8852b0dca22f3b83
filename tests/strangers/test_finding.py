import pytest
import torch
from torch import Tensor, nn

import crest
from crest.strangers.finding import find_head, find_pooling, find_stride
from knocks_made import network


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


def test_the_one_known_pooling_is_found() -> None:
    assert find_pooling(network()) == "2"
    assert find_pooling(Transposing()) == "pool"
    slot = crest.replace_pooling(network(), "2", crest.CrestReadout())
    assert find_pooling(slot) == "2"
    assert find_pooling(nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.AdaptiveMaxPool1d(1))) is None
    assert find_pooling(nn.Sequential(nn.MaxPool1d(2), nn.Conv1d(1, 1, 1))) is None


def test_the_head_reads_the_pooled_vector() -> None:
    assert find_head(network(), "2", torch.randn(4, 1, 50)) == "4"
    assert find_head(Transposing(), "pool", torch.randn(4, 50, 3)) == "heads.0"
    assert find_head(Transposing(), "pool", torch.randn(4, 50, 3), torch.ones(4, 50)) == "heads.0"
    assert find_head(Transposing(heads=2), "pool", torch.randn(4, 50, 3)) is None
    between = nn.Sequential(crest.MeanReadout(), nn.BatchNorm1d(3), nn.Tanh(), nn.Linear(3, 1))
    assert find_head(between, "0", torch.randn(4, 50, 3)) is None


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
    assert find_stride(model, "1", "channels_first", torch.randn(2, 1, 200), steps=200) == stride
    turned = Transposing()
    assert find_stride(turned, "pool", "channels_last", torch.randn(2, 50, 3), steps=50) == 1
