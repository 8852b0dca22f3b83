import math

import pytest
import torch
from torch import Tensor

from crest import rng
from crest.lab.encoders import ENCODERS, Encoder, make_encoder
from crest.lab.encoders.attention import positions

CHANNELS = 3


VARIANTS: dict[str, dict[str, int]] = {
    **{name: {} for name in ENCODERS},
    "pointwise-wide": {"width": 5, "hidden": 7},
    "local-short": {"width": 5, "hidden": 7, "kernel": 3},
    "gru-narrow": {"width": 5},
    "attention-deep": {"width": 9, "layers": 2, "heads": 3, "hidden": 11},
}


def build(variant: str, seed: int = 1000) -> Encoder:
    with rng.scope(seed, "encoder"):
        return make_encoder(variant.partition("-")[0], CHANNELS, **VARIANTS[variant])


def signals(batch: int = 4, steps: int = 40, dtype: torch.dtype = torch.float64) -> Tensor:
    draw = torch.Generator().manual_seed(7)
    return torch.randn(batch, steps, CHANNELS, generator=draw, dtype=torch.float64).to(dtype)


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_layer_of_attention_takes_part() -> None:
    deep, x = build("attention-deep").double(), signals()
    before = deep(x)
    with torch.no_grad():
        deep.get_parameter("layers.1.linear2.bias").add_(1.0)
    torch.testing.assert_close(deep(x), before + 1, rtol=0, atol=1e-9)


def test_positions_are_the_transformers() -> None:
    table = positions(50, 8)
    for step in (0, 1, 17, 49):
        for pair in range(4):
            angle = step / 10000 ** (2 * pair / 8)
            assert table[step, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[step, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)
    assert positions(5, 7).shape == (5, 7)
