"""The slow background by closed form, by the slow reference and by its laws."""

import inspect

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from crest.background import low_pass, slow
from crest.background.slow import local_line
from reference import crest_reference

SIGMA = 6.0


def noise(batch: int = 2, steps: int = 90, width: int = 3, seed: int = 0) -> torch.Tensor:
    return torch.randn(
        batch, steps, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )


@pytest.mark.parametrize("sigma", [0.7, 3.0, 8.0, 25.0])
def test_the_fourier_path_equals_the_exportable_path(sigma: float) -> None:
    for steps in (1, 2, 17, 90, 700):
        features = noise(steps=steps)
        kernel = slow._kernel(sigma, features)
        torch.testing.assert_close(
            slow._convolve_fourier(features, kernel),
            slow._convolve_direct(features, kernel),
            rtol=0,
            atol=1e-13,
        )


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize(
    ("batch", "steps", "width"), [(1, 1, 16), (3, 5, 17), (2, 16, 20), (3, 33, 16), (2, 700, 3)]
)
def test_the_product_equals_the_fourier_path(batch: int, steps: int, width: int, odd: bool) -> None:
    features = noise(batch, steps, width)
    for sigma in (0.7, 6.0, 12.0):
        kernel = slow._kernel(sigma, features)
        kernel = kernel * (torch.arange(len(kernel)) - len(kernel) // 2) if odd else kernel
        found = slow._convolve_by_product(features, kernel)
        torch.testing.assert_close(found, slow._convolve_fourier(features, kernel, odd), rtol=0, atol=1e-13)


def test_wide_features_give_what_their_channels_give() -> None:
    """Many channels go through a product, few through Fourier transforms, with a mask and without."""
    features, mask = noise(steps=200, width=20), torch.arange(200).expand(2, 200) % 50 != 3
    for valid in (None, mask):
        wide = low_pass(features, valid, sigma=SIGMA)
        torch.testing.assert_close(wide[..., :2], low_pass(features[..., :2], valid, sigma=SIGMA))
    leaf = features.requires_grad_()
    torch.testing.assert_close(low_pass(leaf, sigma=SIGMA), low_pass(features.detach(), sigma=SIGMA))


def test_far_from_the_ends_it_is_the_textbook_gaussian_filter() -> None:
    """Multiplying a sine's amplitude by exp(-2 pi^2 sigma^2 f^2) is what a Gaussian low-pass does."""
    time = torch.arange(2000, dtype=torch.float64)
    for frequency in (0.005, 0.02, 0.05):
        sine = torch.sin(2 * torch.pi * frequency * time).reshape(1, -1, 1)
        gain = np.exp(-2 * np.pi**2 * 8.0**2 * frequency**2)
        middle = low_pass(sine, sigma=8.0)[:, 500:1500]
        torch.testing.assert_close(middle, gain * sine[:, 500:1500], rtol=0, atol=1e-8)


@given(st.integers(1, 60), st.integers(1, 60), st.sampled_from([1.5, 8.0]), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_it_matches_the_reference(steps: int, valid: int, sigma: float, seed: int) -> None:
    features = noise(batch=1, steps=steps, seed=seed)
    mask = torch.arange(steps)[None] < valid
    mine = low_pass(features, mask, sigma=sigma)
    theirs = crest_reference.low_pass(features[0].numpy(), mask[0].numpy(), sigma)
    # The reference has the whole Gaussian; ours ends at 6 sigma, beyond which 2e-9 of its weight lies.
    np.testing.assert_allclose(mine[0].numpy(), theirs, rtol=0, atol=2e-8)


def test_a_constant_comes_back_up_to_the_ends() -> None:
    torch.testing.assert_close(
        low_pass(torch.full((1, 50, 2), 3.0, dtype=torch.float64), sigma=SIGMA),
        torch.full((1, 50, 2), 3.0, dtype=torch.float64),
    )


def test_nothing_wraps_around() -> None:
    """A step at the end must not be felt at the start."""
    features = torch.zeros(1, 200, 1, dtype=torch.float64)
    changed = features.clone()
    changed[0, -1] = 100.0
    before, after = (low_pass(x, sigma=SIGMA)[:, :100] for x in (features, changed))
    torch.testing.assert_close(after, before, rtol=0, atol=1e-12)


def test_padding_may_hold_anything() -> None:
    features = noise(steps=40)
    mask = torch.arange(40).expand(2, 40) < 30
    dirty = features.masked_fill(~mask.unsqueeze(-1), float("nan"))
    result = low_pass(dirty, mask, sigma=SIGMA)
    torch.testing.assert_close(result[:, :30], low_pass(features[:, :30], sigma=SIGMA), rtol=0, atol=1e-12)
    assert (result[:, 30:] == 0).all()


def test_it_is_computed_in_float32_at_least() -> None:
    assert low_pass(noise().bfloat16(), sigma=SIGMA).dtype == torch.float32
    assert low_pass(noise(), sigma=SIGMA).dtype == torch.float64


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan"), float("inf")])
def test_sigma_is_checked(sigma: float) -> None:
    with pytest.raises(ValueError, match=rf"^sigma must be positive, got {sigma}$"):
        low_pass(noise(), sigma=sigma)


def test_how_slow_is_for_the_caller_to_say() -> None:
    """Readouts, probes and remedies share this module: no constant of one of them may be its default."""
    assert inspect.signature(low_pass).parameters["sigma"].default is inspect.Parameter.empty
    with pytest.raises(TypeError, match="sigma"):
        low_pass(noise())


@pytest.mark.parametrize("steps", [1, 31, 64, 511, 560, 65584, 100003])
def test_fast_lengths_are_long_enough_and_smooth(steps: int) -> None:
    length = slow._fast_length(steps)
    assert steps <= length <= steps * 1.04 + 1
    odd = length
    while odd % 2 == 0:
        odd //= 2
    assert odd < 64


def test_a_mask_of_zeros_and_ones_is_a_mask() -> None:
    features, mask = torch.randn(2, 30, 3), torch.arange(30).expand(2, -1) < 20
    assert torch.equal(low_pass(features, mask.long(), sigma=2.0), low_pass(features, mask, sigma=2.0))


@pytest.mark.parametrize("sigma", [2e6, 1e300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_background_slower_than_the_trajectory_is_its_mean_and_its_line(
    sigma: float, dtype: torch.dtype
) -> None:
    features, mask = noise(steps=20).to(dtype), torch.arange(20).expand(2, 20) < 13
    assert len(slow._kernel(sigma, features)) == 39
    close = {"rtol": 0, "atol": 1e-5 if dtype == torch.float32 else 1e-8}
    mean = features.mean(1, keepdim=True).expand_as(features)
    torch.testing.assert_close(low_pass(features, sigma=sigma), mean, **close)
    inside = features[:, :13].mean(1, keepdim=True).expand(2, 13, 3)
    torch.testing.assert_close(low_pass(features, mask, sigma=sigma)[:, :13], inside, **close)
    time = torch.arange(13, dtype=torch.float64)
    slope, start = np.polyfit(time.numpy(), features[0, :13].double().numpy(), 1)
    line = torch.tensor(start) + time[:, None] * torch.tensor(slope)
    found = local_line(features, mask, sigma=sigma)[0, :13]
    torch.testing.assert_close(found, line.to(dtype), **close)


def test_a_kernel_cut_to_the_trajectory_gives_what_the_whole_one_gives() -> None:
    for steps in (1, 2, 30):
        features, mask = noise(steps=steps), torch.arange(steps).expand(2, steps) != 1
        cut = [low_pass(features, mask, sigma=9.0), local_line(features, mask, sigma=9.0)]
        # More steps than there are: the kernel is as long as sigma asks for.
        whole = (
            torch.cat([features, torch.zeros(2, 60, 3)], 1),
            torch.cat([mask, torch.zeros(2, 60).bool()], 1),
        )
        assert len(slow._kernel(9.0, features)) < len(slow._kernel(9.0, whole[0]))
        for found, low in zip(cut, (low_pass, local_line), strict=True):
            torch.testing.assert_close(found, low(*whole, sigma=9.0)[:, :steps], rtol=0, atol=1e-9)


@pytest.mark.parametrize("sigma", [1e-3, 1e-50, 1e-310])
def test_a_background_that_is_not_slow_at_all_is_the_signal(sigma: float) -> None:
    for features in (noise(), noise().float()):
        for low in (low_pass(features, sigma=sigma), local_line(features, None, sigma=sigma)):
            torch.testing.assert_close(low, features, rtol=0, atol=1e-5)


@pytest.mark.unchecked
def test_enormous_sigmas_export() -> None:
    class Low(torch.nn.Module):
        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return low_pass(features, sigma=2e6)

    features, axis = noise(), {1: torch.export.Dim("T", min=2, max=5000)}
    for axes in (None, (axis,)):
        program = torch.export.export(Low(), (features,), dynamic_shapes=axes).module()
        torch.testing.assert_close(program(features), low_pass(features, sigma=2e6))


@pytest.mark.unchecked
def test_the_door_names_what_is_wrong() -> None:
    with pytest.raises(
        ValueError, match=r"features must have shape \(B, T, D\), none of them 0, got \(3, 4\)"
    ):
        low_pass(torch.zeros(3, 4), sigma=1.0)
    with pytest.raises(ValueError, match=r"mask must have shape \(B, T\) = \(1, 4\), got \(1, 3\)"):
        low_pass(torch.zeros(1, 4, 2), torch.ones(1, 3).bool(), sigma=1.0)


# -- the line, fair at the ends


def test_a_line_is_the_weighted_least_squares_fit_at_each_step() -> None:
    signals, sigma = noise(batch=1, steps=30), 3.0
    mask = torch.ones(1, 30, dtype=torch.bool)
    mask[0, 11:14] = False
    found = local_line(signals.masked_fill(~mask.unsqueeze(-1), float("nan")), mask, sigma=sigma)
    time = np.arange(30)
    inside = mask[0].numpy()
    for step in (0, 3, 10, 29):
        weights = np.sqrt(np.exp(-0.5 * ((time - step) / sigma) ** 2))[inside]
        values = signals[0, inside, 1].numpy()
        _, value = np.polyfit(time[inside] - step, values, 1, w=weights)
        np.testing.assert_allclose(found[0, step, 1], value, rtol=0, atol=1e-6)
    assert (found[0, 11:14] == 0).all()


def test_a_slope_comes_back_as_it_is_and_one_step_as_itself() -> None:
    slope = torch.linspace(-2, 5, 60, dtype=torch.float64).reshape(1, 60, 1)
    torch.testing.assert_close(local_line(slope, None, sigma=SIGMA), slope, rtol=0, atol=1e-9)
    assert local_line(torch.full((1, 1, 1), 3.0), None, sigma=SIGMA).item() == pytest.approx(3.0)
