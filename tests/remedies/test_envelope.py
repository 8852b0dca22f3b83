from typing import Any

import pytest
import torch
from torch import Tensor, nn

from crest.nuisances.scale import in_own_units
from crest.remedies import Envelope
from crest.remedies.kurtogram import envelope_in_band, most_impulsive_band


def knocks(rows: int = 4, steps: int = 512, frequency: float = 0.3) -> Tensor:
    x = torch.randn(rows, steps, 2, generator=torch.Generator().manual_seed(steps))
    time = torch.arange(30.0)
    ring = 5 * torch.exp(-time / 8) * torch.cos(2 * torch.pi * frequency * time)
    for start in range(50, steps - 30, 120):
        x[:, start : start + 30] += ring[None, :, None]
    return x


def test_it_is_the_envelope_in_the_band() -> None:
    x = knocks()
    plain = Envelope((0.2, 0.4), standardised=False)(x)
    torch.testing.assert_close(plain, envelope_in_band(x, 0.2, 0.4), rtol=0, atol=1e-5)
    torch.testing.assert_close(Envelope((0.2, 0.4))(x), in_own_units(plain), rtol=0, atol=1e-4)


def test_hertz_are_cycles_per_step_times_the_rate() -> None:
    assert torch.allclose(Envelope((2000.0, 4000.0), sample_rate=10_000.0).band, Envelope((0.2, 0.4)).band)


def test_it_is_calibrated_on_signals_and_keeps_the_band() -> None:
    layer = Envelope()
    assert layer.band.tolist() == [0.0, 0.5]
    x = knocks()
    assert layer.calibrate(x) is layer
    assert layer.band.tolist() == pytest.approx(most_impulsive_band(x))
    assert layer.band[0] <= 0.3 <= layer.band[1] < 0.5
    first = Envelope(channels_first=True).calibrate(x.mT)
    assert torch.equal(first.band, layer.band)
    again = Envelope()
    again.load_state_dict(layer.state_dict())
    assert torch.equal(again(x), layer(x))
    assert not torch.equal(Envelope()(x), layer(x))


def test_a_band_that_was_given_stays() -> None:
    layer = Envelope((0.1, 0.2)).calibrate(knocks())
    assert layer.band.tolist() == pytest.approx([0.1, 0.2])


def test_gain_and_offset_are_gone_and_what_rings_elsewhere_too() -> None:
    x, layer = knocks(), Envelope((0.2, 0.4))
    torch.testing.assert_close(layer(20 * x + 100), layer(x), rtol=0, atol=1e-2)
    hum = 3 * torch.cos(2 * torch.pi * 16 / 512 * torch.arange(512.0))[None, :, None]
    torch.testing.assert_close(layer(x + hum), layer(x), rtol=0, atol=1e-3)


def test_masks_equal_unpadded_and_padding_is_zero() -> None:
    x, layer = knocks(), Envelope((0.2, 0.4))
    mask = torch.arange(512) < torch.tensor([512, 300, 0, 1])[:, None]
    made = layer(x.masked_fill(~mask.unsqueeze(-1), float("nan")), mask)
    torch.testing.assert_close(made[1:2, :300], layer(x[1:2, :300]), rtol=0, atol=1e-4)
    assert (made[~mask] == 0).all()
    dirty = x.masked_fill(~mask.unsqueeze(-1), 1e6)
    assert torch.equal(Envelope().calibrate(dirty, mask).band, Envelope().calibrate(x, mask).band)


def test_a_constant_and_one_step_are_zero() -> None:
    for x in (torch.full((2, 50, 1), 1e6 + 0.1), torch.randn(2, 1, 1)):
        assert (Envelope()(x) == 0).all()


def test_gradients_are_finite_and_right() -> None:
    x = torch.randn(
        2, 12, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1000)
    ).requires_grad_()
    assert torch.autograd.gradcheck(Envelope(standardised=False), (x,))
    flat = torch.ones(1, 8, 1, requires_grad=True)
    Envelope()(flat).sum().backward()
    assert flat.grad.isfinite().all()


def test_it_says_what_it_is() -> None:
    assert repr(Envelope((0.2, 0.4), standardised=False)) == "Envelope(band=(0.2, 0.4), standardised=False)"
    assert repr(Envelope(channels_first=True)) == "Envelope(band=(0, 0.5), channels_first=True)"
    assert not list(Envelope().parameters())


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"band": (0.4, 0.2)}, r"^band must rise and lie in \[0, 0.5\] cycles per step, got \(0.4, 0.2\)"),
        ({"band": (0.1, 0.6)}, r"^band must rise and lie in"),
        ({"band": (1.0, 60.0), "sample_rate": 100.0}, r"^band must rise and lie in \[0, 50.0\] Hz at a sample rate of 100.0 Hz"),
        ({"band": (0.1, 0.2, 0.3)}, r"^band must be"),
        ({"sample_rate": 0.0}, r"^sample_rate must be positive"),
    ],
)  # fmt: skip
def test_options_are_checked_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Envelope(**options)


@pytest.mark.unchecked
@pytest.mark.slow
def test_it_compiles_and_exports_with_dynamic_axes_and_its_band() -> None:
    layer: nn.Module = Envelope().calibrate(knocks())
    axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    program = torch.export.export(layer, (knocks(4, 256),), dynamic_shapes=(axes,))
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager", dynamic=True)
    for batch, steps in ((1, 90), (7, 333)):
        x = knocks(batch, steps)
        for made in (program.module(), compiled):
            torch.testing.assert_close(made(x), layer(x), rtol=0, atol=1e-4)
