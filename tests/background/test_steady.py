"""Laws of steady tones: what is steady is found, and what is brief or random is left alone."""

import pytest
import torch
from torch import Tensor

from crest.background import KINDS, split, steady_tones

STEPS = 512
TIME = torch.arange(STEPS, dtype=torch.float64)


def noise(seed: int, rows: int = 1, steps: int = STEPS) -> Tensor:
    return torch.randn(rows, steps, 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def tone(size: float = 2.0, frequency: float = 0.4, phase: float = 0.3) -> Tensor:
    return (size * torch.cos(frequency * TIME + phase)).reshape(1, STEPS, 1)


def burst(size: float = 3.0, start: int = 200, length: int = 30) -> Tensor:
    """A shock that rings at a frequency near the tone's."""
    made = torch.zeros(1, STEPS, 1, dtype=torch.float64)
    steps = torch.arange(length, dtype=torch.float64)
    made[0, start : start + length, 0] = size * torch.exp(-steps / 8) * torch.cos(0.5 * steps)
    return made


@pytest.mark.parametrize("frequency", [0.1, 0.37, 1.234, 2.9])
def test_a_tone_is_found_whatever_its_frequency(frequency: float) -> None:
    x = tone(frequency=frequency) + 0.05 * noise(1000)
    torch.testing.assert_close(steady_tones(x), tone(frequency=frequency), rtol=0, atol=0.02)


def test_two_tones_are_found() -> None:
    both = tone(2.0, 0.4) + tone(0.5, 0.9)
    torch.testing.assert_close(steady_tones(both + 0.05 * noise(1001)), both, rtol=0, atol=0.03)
    # One at most, and the loudest stays alone.
    one = steady_tones(both + 0.05 * noise(1001), tones=1)
    torch.testing.assert_close(one, tone(2.0, 0.4), rtol=0, atol=0.1)


@pytest.mark.parametrize("start", [0, 100, 240, 480])
def test_a_burst_keeps_its_energy(start: int) -> None:
    event = burst(start=start)
    left = tone() + event - steady_tones(tone() + event)
    assert float((left - event).square().sum() / event.square().sum()) < 0.01


def test_noise_and_a_lone_burst_have_no_tones() -> None:
    quiet = noise(1002, rows=64)
    assert (steady_tones(quiet) == 0).all()
    assert (steady_tones(burst()) == 0).all()


def test_the_level_and_the_scale_change_nothing() -> None:
    x = tone() + 0.1 * noise(1003)
    torch.testing.assert_close(steady_tones(1000 * x + 50), 1000 * steady_tones(x), rtol=1e-6, atol=1e-3)


def test_masks_equal_unpadded_and_padding_is_zero() -> None:
    x = tone().expand(3, -1, 2).clone() + 0.1 * noise(1004, 3)
    mask = torch.arange(STEPS) < torch.tensor([STEPS, 300, 0])[:, None]
    found = steady_tones(x.masked_fill(~mask.unsqueeze(-1), 1e6), mask)
    torch.testing.assert_close(found[1:2, :300], steady_tones(x[1:2, :300]))
    torch.testing.assert_close(found[:1], steady_tones(x[:1]))
    assert (found[~mask] == 0).all()
    assert found[1, :300].abs().max() > 1


def test_constants_and_short_windows_have_none() -> None:
    assert (steady_tones(torch.full((2, STEPS, 1), 0.1)) == 0).all()
    assert (steady_tones(tone()[:, :63]) == 0).all()
    assert steady_tones(tone()[:, :64]).abs().max() > 1


def test_the_dtype_is_float32_at_least_and_there_is_no_gradient() -> None:
    assert steady_tones(tone().to(torch.bfloat16)).dtype == torch.float32
    assert steady_tones(tone()).dtype == torch.float64
    assert not steady_tones(tone().requires_grad_()).requires_grad


def test_it_is_a_kind_of_background() -> None:
    x = tone() + burst() + 5.0
    assert "tones" in KINDS
    parts = split(x, "tones+level")
    torch.testing.assert_close(parts.transient, burst() - burst().mean(), rtol=0, atol=0.02)


@pytest.mark.unchecked
def test_options_are_checked_by_name() -> None:
    with pytest.raises(ValueError, match=r"^tones must be a whole number, 1 or more, got 0"):
        steady_tones(tone(), tones=0)
    with pytest.raises(ValueError, match=r"^signals must have shape \(B, T, C\)"):
        steady_tones(torch.zeros(4, 5))
