"""What the per-step encoder computes; what every encoder must obey is in tests/contracts."""

import torch

from crest.lab.encoders import PointwiseEncoder


def test_permuting_the_steps_permutes_the_features() -> None:
    encoder = PointwiseEncoder(3)
    x, order = torch.randn(2, 30, 3), torch.randperm(30)
    torch.testing.assert_close(encoder(x)[:, order], encoder(x[:, order]))


def test_it_is_one_hidden_layer() -> None:
    encoder = PointwiseEncoder(3, 5, hidden=7)
    first, _, second = encoder.layers
    x = torch.randn(2, 4, 3)
    torch.testing.assert_close(encoder(x), second(torch.nn.functional.gelu(first(x))))
    assert first.weight.shape == (7, 3)
