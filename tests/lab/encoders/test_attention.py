import math

import pytest
import torch

from crest.lab.encoders.attention import positions
from encoding import build, signals


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
