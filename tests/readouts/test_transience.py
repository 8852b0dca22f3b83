import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from crest.readouts import transience
from crest.readouts.transience import channel_transience, low_pass, transience_profile
from reference import crest_reference


def noise(batch: int = 2, steps: int = 90, width: int = 3, seed: int = 0) -> torch.Tensor:
    return torch.randn(
        batch, steps, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )


@pytest.mark.parametrize("sigma", [0.7, 3.0, 8.0, 25.0])
def test_the_fourier_path_equals_the_exportable_path(sigma: float) -> None:
    for steps in (1, 2, 17, 90, 700):
        features = noise(steps=steps)
        kernel = transience._kernel(sigma, features)
        torch.testing.assert_close(
            transience._convolve_fourier(features, kernel),
            transience._convolve_direct(features, kernel),
            rtol=0,
            atol=1e-13,
        )


def test_far_from_the_ends_it_is_the_textbook_gaussian_filter() -> None:
    """Multiplying a sine's amplitude by exp(-2 pi^2 sigma^2 f^2) is what a Gaussian low-pass does."""
    time = torch.arange(2000, dtype=torch.float64)
    for frequency in (0.005, 0.02, 0.05):
        sine = torch.sin(2 * torch.pi * frequency * time).reshape(1, -1, 1)
        gain = np.exp(-2 * np.pi**2 * 8.0**2 * frequency**2)
        middle = low_pass(sine, sigma=8.0)[:, 500:1500]
        torch.testing.assert_close(middle, gain * sine[:, 500:1500], rtol=0, atol=1e-8)


def test_a_constant_comes_back_up_to_the_ends() -> None:
    torch.testing.assert_close(
        low_pass(torch.full((1, 50, 2), 3.0, dtype=torch.float64)),
        torch.full((1, 50, 2), 3.0, dtype=torch.float64),
    )


def test_nothing_wraps_around() -> None:
    """A step at the end must not be felt at the start."""
    features = torch.zeros(1, 200, 1, dtype=torch.float64)
    changed = features.clone()
    changed[0, -1] = 100.0
    torch.testing.assert_close(low_pass(changed)[:, :100], low_pass(features)[:, :100], rtol=0, atol=1e-12)


@given(st.integers(1, 60), st.integers(1, 60), st.sampled_from([1.5, 8.0]), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_residual_matches_the_reference(steps: int, valid: int, sigma: float, seed: int) -> None:
    features = noise(batch=1, steps=steps, seed=seed)
    mask = torch.arange(steps)[None] < valid
    mine = channel_transience(features, mask, sigma)
    theirs = crest_reference.channel_residual(features[0].numpy(), mask[0].numpy(), sigma)
    np.testing.assert_allclose(mine[0].numpy(), theirs, rtol=0, atol=1e-9)


def test_transience_sums_to_one_and_marks_a_spike() -> None:
    features = 0.1 * noise(steps=200)
    features[:, 77] += 5.0
    residual = channel_transience(features)
    torch.testing.assert_close(residual.sum(1), torch.ones(2, 3, dtype=torch.float64))
    assert (residual.argmax(1) == 77).all()
    assert (transience_profile(residual).argmax(1) == 77).all()


def test_a_constant_channel_has_no_transience_at_all() -> None:
    """Also where the constant is no exact binary fraction: rounding noise must not be normalised to one."""
    features = noise(steps=64).float()
    features[:, :, 1] = 0.1
    assert (channel_transience(features)[:, :, 1] == 0).all()
    late_start = torch.arange(64).expand(2, 64) >= 5
    assert (channel_transience(features, late_start)[:, :, 1] == 0).all()


def test_a_slow_ramp_is_background() -> None:
    """A spike outweighs the ends of a ramp, which a periodic filter would take for a jump."""
    features = torch.linspace(0, 1, 400, dtype=torch.float64).reshape(1, 400, 1).clone()
    features[0, 200] += 0.2
    assert channel_transience(features).argmax() == 200


@pytest.mark.parametrize("sigma", [0.0, -1.0])
def test_sigma_is_checked(sigma: float) -> None:
    with pytest.raises(ValueError, match="sigma must be positive, in steps, got"):
        low_pass(noise(), sigma=sigma)


@pytest.mark.parametrize("steps", [1, 31, 64, 511, 560, 65584, 100003])
def test_fast_lengths_are_long_enough_and_smooth(steps: int) -> None:
    length = transience._fast_length(steps)
    assert steps <= length <= steps * 1.04 + 1
    odd = length
    while odd % 2 == 0:
        odd //= 2
    assert odd < 64


def test_functions_can_be_used_alone_with_padding_of_any_content() -> None:
    features = noise(steps=40)
    mask = torch.arange(40).expand(2, 40) < 30
    dirty = features.masked_fill(~mask.unsqueeze(-1), float("nan"))
    for function in (low_pass, channel_transience):
        result = function(dirty, mask)
        torch.testing.assert_close(result[:, :30], function(features[:, :30]), rtol=0, atol=1e-12)
        assert (result[:, 30:] == 0).all()
        assert function(features.bfloat16()).dtype == torch.float32


def test_far_from_an_event_nothing_is_left_to_rank() -> None:
    """Beyond the kernel's reach the residual of zeros is zero, not what the Fourier transform rounds it to."""
    features = torch.zeros(1, 512, 1)
    features[0, 100:103] = 1.0
    assert (channel_transience(features, sigma=2.0)[0, 130:] == 0).all()
    raw = (features - low_pass(features, sigma=2.0))[0, 130:]
    assert (raw != 0).any()
