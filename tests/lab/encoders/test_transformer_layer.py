import math

import pytest
import torch
from torch.nn import functional

from crest.lab.encoders.transformer_layer import TransformerLayer, rotary_turns, rotated


def test_turns_are_those_of_roformer() -> None:
    cosine, sine = rotary_turns(50, 8)
    assert cosine.shape == sine.shape == (50, 4)
    for step in (0, 1, 49):
        for pair in range(4):
            angle = step * 10000 ** (-2 * pair / 8)
            assert cosine[step, pair].item() == pytest.approx(math.cos(angle), abs=1e-12)
            assert sine[step, pair].item() == pytest.approx(math.sin(angle), abs=1e-12)


def test_a_rotation_keeps_lengths_and_products_depend_on_the_distance_alone() -> None:
    query, key = torch.randn(2, 8, dtype=torch.float64).unbind()
    turns = rotary_turns(40, 8)
    queries, keys = (rotated(vector.expand(40, 8), turns) for vector in (query, key))
    torch.testing.assert_close(queries.square().sum(-1), query.square().sum().expand(40))
    products = queries @ keys.T
    for distance in (-7, 0, 12):
        along = products.diagonal(distance)
        torch.testing.assert_close(along, along[:1].expand_as(along))
    assert (products[0, 1:] - products[0, 0]).abs().amin() > 1e-6


def test_a_layer_by_hand() -> None:
    """Against complex numbers and a softmax written out."""
    layer = TransformerLayer(8, 2, 12).double()
    x = torch.randn(3, 20, 8, dtype=torch.float64)
    turns = rotary_turns(20, 4)
    spins = torch.complex(*turns)
    normed = functional.layer_norm(x, (8,))
    parts = functional.linear(normed, layer.asked.weight, layer.asked.bias).view(3, 20, 3, 2, 4)
    answers = torch.empty(3, 20, 2, 4, dtype=torch.float64)
    for head in range(2):
        query, key, value = parts[:, :, 0, head], parts[:, :, 1, head], parts[:, :, 2, head]
        turned = [torch.complex(part[..., :2], part[..., 2:]) * spins for part in (query, key)]
        scores = torch.einsum("bid,bjd->bij", turned[0], turned[1].conj()).real / 2
        answers[:, :, head] = scores.softmax(-1) @ value
    middle = x + layer.answered(answers.flatten(2))
    expected = middle + layer.mlp(functional.layer_norm(middle, (8,)))
    torch.testing.assert_close(layer(x, turns), expected, rtol=0, atol=1e-10)
    assert (layer(x) - layer(x, turns)).abs().amax() > 1e-4


def test_as_many_steps_later_the_same_features() -> None:
    """What stands before and after a stretch aside, attention sees distances, not places."""
    layer = TransformerLayer(8, 2, 12).double()
    x, turns = torch.randn(1, 10, 8, dtype=torch.float64), rotary_turns(30, 4)
    torch.testing.assert_close(layer(x, turns[:, 20:]), layer(x, turns[:, :10]), rtol=0, atol=1e-10)
