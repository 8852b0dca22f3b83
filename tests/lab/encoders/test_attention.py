"""What the Transformer computes; what every encoder must obey is in tests/contracts."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from crest._base import rng
from crest.lab.encoders import AttentionEncoder
from crest.lab.encoders.attention import sinusoids
from encoding import CHANNELS, build, signals


def test_every_layer_of_attention_takes_part() -> None:
    with rng.scope(1000, "encoder"):
        deep = AttentionEncoder(CHANNELS, 12, layers=2, heads=3, final_norm=False).double()
    x = signals()
    before = deep(x)
    with torch.no_grad():
        deep.get_parameter("layers.1.mlp.2.bias").add_(1.0)
    torch.testing.assert_close(deep(x), before + 1, rtol=0, atol=1e-9)


def test_sinusoids_are_the_transformers() -> None:
    table = sinusoids(50, 8)
    for step in (0, 1, 17, 49):
        for pair in range(4):
            angle = step / 10000 ** (2 * pair / 8)
            assert table[step, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[step, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)
    assert sinusoids(5, 7).shape == (5, 7)


class Published(nn.Module):
    """The encoder as it was when the first records were published, word for word."""

    def __init__(
        self, channels: int, width: int = 32, layers: int = 1, heads: int = 2, hidden: int = 64
    ) -> None:
        super().__init__()
        self.width = width
        self.embed = nn.Linear(channels, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, hidden, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.embed(x)
        features = features + sinusoids(x.shape[1], self.width).to(features)
        for layer in self.layers:
            features = layer(features)
        return features


@pytest.mark.parametrize("options", [{}, {"width": 9, "layers": 2, "heads": 3, "hidden": 11}])
def test_as_first_published_it_has_the_same_bits(options: dict[str, Any]) -> None:
    with rng.scope(1000, "encoder"):
        before = Published(CHANNELS, **options)
    with rng.scope(1000, "encoder"):
        now = AttentionEncoder(CHANNELS, **options, positions="sinusoidal", final_norm=False)
    assert list(now.state_dict()) == list(before.state_dict())
    assert all(torch.equal(value, now.state_dict()[name]) for name, value in before.state_dict().items())
    x = signals(dtype=torch.float32)
    for module in (before, now):
        module(x).square().sum().backward()
    assert torch.equal(now(x), before(x))
    for (name, parameter), other in zip(now.named_parameters(), before.parameters(), strict=True):
        assert parameter.grad is not None, name
        assert other.grad is not None, name
        assert torch.equal(parameter.grad, other.grad), name
    with torch.no_grad():
        assert torch.equal(now.eval()(x), before.eval()(x))


def test_the_final_norm_normalises() -> None:
    features = build("attention").double()(signals())
    torch.testing.assert_close(features.mean(-1), torch.zeros_like(features[..., 0]), rtol=0, atol=1e-12)
    torch.testing.assert_close(
        features.square().mean(-1), torch.ones_like(features[..., 0]), rtol=0, atol=1e-2
    )


def test_rotary_attention_sees_the_order_and_none_does_not() -> None:
    x = signals()
    order = torch.randperm(x.shape[1], generator=torch.Generator().manual_seed(2))
    unplaced, rotary = build("attention-unplaced").double(), build("attention").double()
    torch.testing.assert_close(unplaced(x[:, order]), unplaced(x)[:, order], rtol=0, atol=1e-12)
    assert (rotary(x[:, order]) - rotary(x)[:, order]).abs().amax() > 1e-3


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positions": "learned"}, "positions must be one of rotary, sinusoidal, none, got 'learned'"),
        ({"final_norm": 1}, "final_norm must be True or False, got 1"),
    ],
)
def test_options_of_another_kind_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AttentionEncoder(CHANNELS, **options)
