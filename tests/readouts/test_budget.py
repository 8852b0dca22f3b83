import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.filters import threshold_otsu

from crest.readouts import CrestConfig
from crest.readouts.budget import (
    contrast_weight,
    event_budget,
    otsu_tail,
    participation_width,
    unit_profile,
    width_and_tail,
)
from reference import crest_reference


def profile(seed: int, steps: int) -> torch.Tensor:
    return torch.rand(steps, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) ** 3


def test_unit_profile_reaches_both_ends_over_valid_steps_only() -> None:
    values = torch.tensor([[2.0, 4.0, 3.0, 99.0]])
    mask = torch.tensor([[True, True, True, False]])
    torch.testing.assert_close(unit_profile(values, mask), torch.tensor([[0.0, 1.0, 0.5, 0.0]]))


@pytest.mark.parametrize("mask", [None, torch.ones(2, 4, dtype=torch.bool)])
def test_unit_profile_of_zeros_and_of_a_constant_is_zero(mask: torch.Tensor | None) -> None:
    flat = torch.tensor([[0.0], [3.0]]).expand(2, 4)
    assert torch.equal(unit_profile(flat, mask), torch.zeros(2, 4))


def test_width_of_a_spike_of_a_box_and_of_a_flat_profile() -> None:
    values = torch.zeros(3, 100, dtype=torch.float64)
    values[0, 3] = 1.0
    values[1, 10:35] = 0.2
    values[2] = 7.0
    torch.testing.assert_close(
        participation_width(values), torch.tensor([0.01, 0.25, 1.0], dtype=torch.float64)
    )


def test_rounding_noise_is_flat() -> None:
    values = 0.3 * torch.ones(2, 50)
    values[0, 7] += 1e-7
    values[1, 7] += 1e-5
    assert participation_width(values)[0] == 1
    assert otsu_tail(values)[0] == 1
    assert participation_width(values)[1] == pytest.approx(0.02)


@given(st.integers(2, 60), st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_width_and_tail_match_the_reference(steps: int, seed: int) -> None:
    values = profile(seed, steps)
    width, tail = crest_reference.width_and_tail(values.numpy(), np.ones(steps, dtype=bool))
    assert float(participation_width(values)) == pytest.approx(width, abs=1e-11)
    assert float(otsu_tail(values)) == pytest.approx(tail, abs=1e-12)


@pytest.mark.parametrize("masked", [False, True])
def test_both_at_once_are_the_two_by_themselves(masked: bool) -> None:
    values = torch.rand(3, 2, 40, generator=torch.Generator().manual_seed(0))
    mask = torch.arange(40).expand(3, 1, -1) < torch.tensor([40, 31, 7]).reshape(3, 1, 1) if masked else None
    width, tail = width_and_tail(values, mask)
    assert torch.equal(width, participation_width(values, mask))
    assert torch.equal(tail, otsu_tail(values, mask))
    if masked:
        assert torch.equal(width[2], participation_width(values[2, :, :7]))


def test_no_padding_is_a_mask_of_ones() -> None:
    values = torch.rand(4, 50, generator=torch.Generator().manual_seed(1))
    ones = torch.ones(4, 50, dtype=torch.bool)
    for measure in (unit_profile, participation_width, otsu_tail):
        assert torch.equal(measure(values), measure(values, ones))


def test_otsu_agrees_with_scikit_image_on_two_humps() -> None:
    generator = np.random.default_rng(0)
    for share in (0.05, 0.2, 0.4):
        events = int(1000 * share)
        values = np.concatenate(
            [generator.normal(0.2, 0.04, 1000 - events), generator.normal(0.8, 0.04, events)]
        )
        unit = unit_profile(torch.from_numpy(values)).numpy()
        expected = (unit > threshold_otsu(unit, nbins=4096)).mean()
        assert float(otsu_tail(torch.from_numpy(values))) == pytest.approx(expected, abs=0.003)
        assert expected == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("function", [participation_width, otsu_tail])
def test_padding_and_leading_axes_change_nothing(function: object) -> None:
    values = torch.stack([profile(seed, 40) for seed in range(6)])
    padded = torch.nn.functional.pad(values, (0, 9), value=50.0)
    mask = torch.nn.functional.pad(torch.ones(6, 40, dtype=torch.bool), (0, 9))
    torch.testing.assert_close(function(padded, mask), function(values), rtol=0, atol=1e-14)
    torch.testing.assert_close(function(values.reshape(2, 3, 40)), function(values).reshape(2, 3))


@pytest.mark.parametrize(
    ("width", "tail", "expected"),
    [
        (0.01, 0.15, 0.02),  # core below its range
        (0.40, 0.15, 0.05),  # 0.55 * 0.40 - 0.17, gate shut
        (0.45, 0.15, 0.0775),  # where the gate begins to open
        (0.50, 0.15, 0.5 * 0.105 + 0.5 * 0.15),
        (0.55, 0.15, 0.15),  # gate open: the tail alone
        (1.00, 0.90, 0.30),  # tail above its range
        (1.00, 0.001, 0.02),  # tail below its range
    ],
)
def test_event_budget_by_hand(width: float, tail: float, expected: float) -> None:
    budget = event_budget(torch.tensor(width, dtype=torch.float64), torch.tensor(tail, dtype=torch.float64))
    assert float(budget) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "expected"), [(0.005, 1.0), (0.02, 0.9725), (0.1, 0.7625), (0.2, 0.5), (0.3, 0.5)]
)
def test_contrast_weight_by_hand(epsilon: float, expected: float) -> None:
    assert float(contrast_weight(torch.tensor(epsilon, dtype=torch.float64))) == pytest.approx(
        expected, abs=1e-12
    )


def test_the_constants_come_from_the_config() -> None:
    config = CrestConfig(core_slope=1.0, core_offset=0.0, epsilon_max=0.9, alpha_slope=1.0, alpha_min=0.0)
    assert float(event_budget(torch.tensor(0.4), torch.tensor(0.1), config)) == pytest.approx(0.4)
    assert float(contrast_weight(torch.tensor(0.9), config)) == pytest.approx(0.125)
