"""Robust scales against sorting by hand, standardised signals, and time that runs at another rate."""

import numpy as np
import pytest
import torch
from torch import Tensor

from crest.nuisances import stretched
from crest.nuisances.scale import in_own_units, median_of, robust_scale


def noise(rows: int = 4, steps: int = 101, channels: int = 2, seed: int = 1000) -> Tensor:
    numbers = torch.Generator().manual_seed(seed)
    return torch.randn(rows, steps, channels, generator=numbers, dtype=torch.float64)


MASK = torch.arange(101) < torch.tensor([101, 80, 1, 0])[:, None]


@pytest.mark.parametrize("steps", [1, 2, 7, 8])
def test_the_median_is_numpys(steps: int) -> None:
    x = noise(steps=steps)
    np.testing.assert_allclose(median_of(x)[:, 0].numpy(), np.median(x.numpy(), axis=1))


def test_masks_equal_unpadded() -> None:
    x = noise()
    dirty = x.masked_fill(~MASK.unsqueeze(-1), 1e9)
    for row, steps in ((0, 101), (1, 80), (2, 1)):
        alone = x[row : row + 1, :steps]
        for function in (median_of, robust_scale):
            torch.testing.assert_close(function(dirty, MASK)[row : row + 1], function(alone))
        for robust in (True, False):
            made = in_own_units(dirty, MASK, robust=robust)
            torch.testing.assert_close(made[row : row + 1, :steps], in_own_units(alone, robust=robust))
            assert (made[~MASK] == 0).all()


def test_the_scale_of_noise_is_its_deviation_and_a_burst_does_not_change_it() -> None:
    x = 3 * noise(steps=4001)
    torch.testing.assert_close(robust_scale(x), torch.full((4, 1, 2), 3.0).double(), rtol=0.06, atol=0)
    loud = x.clone()
    loud[:, 1000:1040] += 500
    torch.testing.assert_close(robust_scale(loud), robust_scale(x), rtol=0.03, atol=0)


def test_a_signal_that_rests_has_the_scale_of_its_power() -> None:
    x = torch.zeros(1, 100, 1)
    x[0, :10] = 2.0
    assert float(robust_scale(x)) == pytest.approx(np.sqrt(0.4))


@pytest.mark.parametrize("robust", [True, False])
def test_offset_and_gain_are_gone(robust: bool) -> None:
    x = noise()
    torch.testing.assert_close(in_own_units(7 * x - 40, robust=robust), in_own_units(x, robust=robust))
    assert (in_own_units(torch.full((2, 50, 1), 1e6 + 0.1), robust=robust) == 0).all()
    assert (in_own_units(torch.randn(2, 1, 1), robust=robust) == 0).all()


def test_without_robustness_it_is_mean_and_deviation() -> None:
    x = noise()
    expected = (x - x.mean(1, keepdim=True)) / x.std(1, correction=0, keepdim=True)
    torch.testing.assert_close(in_own_units(x, robust=False), expected)


@pytest.mark.parametrize("robust", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_gradients_are_those_of_the_formula(robust: bool, masked: bool) -> None:
    x = noise(rows=3, steps=9).requires_grad_()
    mask = torch.arange(9) < torch.tensor([9, 6, 0])[:, None] if masked else None
    assert torch.autograd.gradcheck(lambda y: in_own_units(y, mask, robust=robust), (x,))


def test_a_constant_has_a_finite_gradient() -> None:
    for robust in (True, False):
        x = torch.ones(1, 8, 1, requires_grad=True)
        in_own_units(x, robust=robust).sum().backward()
        assert x.grad.isfinite().all()


def test_a_stretched_wave_has_another_period() -> None:
    steps = torch.arange(401, dtype=torch.float64)
    wave = torch.cos(2 * torch.pi * (steps - 200) / 40).reshape(1, 401, 1)
    slow = torch.cos(2 * torch.pi * (steps - 200) / 80).reshape(1, 401, 1)
    torch.testing.assert_close(stretched(wave, 2.0), slow, rtol=0, atol=0.01)
    back = stretched(stretched(wave, 2.0), 0.5)[:, 120:280]
    torch.testing.assert_close(back, wave[:, 120:280], rtol=0, atol=0.05)


def test_the_factor_one_changes_nothing_and_rows_have_their_own() -> None:
    x = noise()
    torch.testing.assert_close(stretched(x, 1.0), x)
    factors = torch.tensor([0.5, 1.0, 1.7, 2.0])
    made = stretched(x, factors)
    for row, factor in enumerate(factors.tolist()):
        torch.testing.assert_close(made[row], stretched(x[row : row + 1], factor)[0])


def test_what_would_alias_is_filtered() -> None:
    fast = torch.cos(2.8 * torch.arange(512, dtype=torch.float64)).reshape(1, 512, 1)
    assert stretched(fast, 0.5)[:, 40:-40].square().mean() < 0.02


def test_masked_rows_are_stretched_as_alone_and_padding_stays() -> None:
    x = noise()
    made = stretched(x, 1.5, MASK)
    torch.testing.assert_close(made[1:2, :80], stretched(x[1:2, :80], 1.5))
    assert torch.equal(made[~MASK], x[~MASK])


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
def test_the_factor_must_be_positive(factor: float) -> None:
    with pytest.raises(ValueError, match=r"^factor must be positive"):
        stretched(noise(), factor)


@pytest.mark.parametrize(
    "factor", [torch.ones(3), torch.ones(4, 1), torch.ones(4, dtype=torch.bool), torch.ones(4) * 1j]
)
def test_factors_are_one_or_one_for_each_row(factor: Tensor) -> None:
    with pytest.raises(
        ValueError, match=r"^factor must be a number, or a tensor of numbers of shape \(B,\) = \(4,\)"
    ):
        stretched(noise(), factor)
