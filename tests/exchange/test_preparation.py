"""What was done to windows before a model is done again to exchanged ones."""

import pytest
import torch
from torch import Tensor

import crest
from crest.exchange import ExchangeSettings, exchange_test
from crest.exchange.preparation import Preparation, preparation_of

SMALL = ExchangeSettings(trajectories=32, block=4, bootstrap=50)


def windows() -> Tensor:
    numbers = torch.Generator().manual_seed(1000)
    steps = torch.arange(256.0)
    size = torch.rand(32, generator=numbers)
    tone = 4 * torch.rand(32, generator=numbers)
    x = 0.3 * torch.randn(32, 256, 1, generator=numbers) + tone[:, None, None] * torch.cos(
        0.9 * steps
    ).reshape(1, -1, 1)
    x[:, 100:106, 0] += 5 + 3 * size[:, None]
    return x + 10 * torch.randn(32, 1, 1, generator=numbers)


def standardised(x: Tensor) -> Tensor:
    return (x - x.mean(1, keepdim=True)) / x.std(1, correction=0, keepdim=True)


def peak(x: Tensor) -> Tensor:
    return x[:, 100:106, 0].mean(1)


def test_what_was_done_is_seen_and_done_again() -> None:
    x = windows()
    assert preparation_of(x) == Preparation(centred=False, scaled=False)
    assert preparation_of(x - x.mean(1, keepdim=True)) == Preparation(centred=True, scaled=False)
    seen = preparation_of(standardised(x))
    assert seen == Preparation(centred=True, scaled=True)
    torch.testing.assert_close(seen.again(3 * x + 1), standardised(x), rtol=1e-4, atol=1e-4)
    assert preparation_of(x).again(x) is x
    mask = torch.arange(256) < torch.tensor([256, 100])[:, None]
    made = seen.again(x[:2], mask)
    torch.testing.assert_close(made[1, :100], standardised(x[1:2, :100])[0], rtol=1e-4, atol=1e-4)
    assert (made[1, 100:] == 0).all()
    assert (seen.again(torch.full((1, 8, 1), 3.0)) == 0).all()


def test_median_and_robust_scale_are_seen_too() -> None:
    x, layer = windows(), crest.Standardise()
    seen = preparation_of(layer(x))
    assert seen == Preparation(centred=True, scaled=True, robust=True)
    torch.testing.assert_close(seen.again(3 * x + 1), layer(x), rtol=1e-4, atol=1e-4)
    mask = torch.arange(256) < torch.full((32, 1), 200)
    assert preparation_of(layer(x, mask), mask).robust
    inside = exchange_test(lambda x: peak(layer(x)), x, exchange=SMALL)
    before = exchange_test(peak, layer(x), exchange=SMALL)
    assert max(one.nuisances["gain"].moved for one in (inside, before)) < 0.01


@pytest.mark.parametrize("name", ["offset", "gain", "together"])
def test_a_standardising_layer_and_standardised_windows_get_the_same_numbers(name: str) -> None:
    """Gain and offset cannot reach the model behind the layer, so they must not reach it here."""
    x = windows()
    inside = exchange_test(lambda x: peak(standardised(x)), x, exchange=SMALL)
    before = exchange_test(peak, standardised(x), exchange=SMALL)
    found = [(one.together if name == "together" else one.nuisances[name]).moved for one in (inside, before)]
    if name == "together":
        assert found[0] == pytest.approx(found[1], abs=0.15)
        assert inside.verdict == before.verdict
    else:
        assert max(found) < 0.01
