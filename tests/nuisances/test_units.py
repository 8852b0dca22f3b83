import pytest
import torch

from crest.background import low_pass
from crest.nuisances import sigma_of


@pytest.mark.parametrize("cutoff", [5.0, 20.0])
def test_the_low_pass_halves_the_power_there(cutoff: float) -> None:
    rate = 1000.0
    wave = torch.cos(2 * torch.pi * cutoff / rate * torch.arange(4000.0, dtype=torch.float64))
    inside = low_pass(wave.reshape(1, -1, 1), sigma=sigma_of(cutoff, rate)).flatten()[1000:3000]
    assert float(inside.square().mean() / wave[1000:3000].square().mean()) == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize(("cutoff", "rate", "name"), [(0.0, 10.0, "cutoff"), (1.0, -1.0, "sample_rate")])
def test_numbers_are_checked_by_name(cutoff: float, rate: float, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be positive"):
        sigma_of(cutoff, rate)
