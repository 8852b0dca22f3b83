import pytest
import torch
from torch import Tensor

from crest.nuisances.spectra import smoothed_power
from crest.remedies import Whiten

SHAPES = [(1, 40), (7, 333)]


def signals(batch: int = 3, steps: int = 512) -> Tensor:
    made = torch.randn(batch, steps, 2, generator=torch.Generator().manual_seed(steps))
    return (made + 0.9 * made.roll(1, 1)) * 7 + 5.0


def test_spectra_are_flat_and_deviations_one() -> None:
    x = signals()
    made = Whiten()(x)
    torch.testing.assert_close(made.mean(1), torch.zeros(3, 2), rtol=0, atol=1e-5)
    torch.testing.assert_close(made.std(1, correction=0), torch.ones(3, 2))
    before, after = (float(smoothed_power(one)[:, 20:-20].log10().std()) for one in (x, made))
    assert after < 0.3 * before


def test_gain_offset_and_a_filter_change_little() -> None:
    x, layer = signals(), Whiten()
    torch.testing.assert_close(layer(x * 40 - 300), layer(x), rtol=0, atol=1e-3)
    filtered = x + 0.5 * x.roll(1, 1)
    change = (layer(filtered) - layer(x)).square().mean().sqrt()
    plain = (filtered / filtered.std() - x / x.std()).square().mean().sqrt()
    # The phases of the filter stay: whitening knows sizes alone.
    assert change < 1.2 * plain
    spectra = [smoothed_power(layer(one))[:, 20:-20].log10() for one in (filtered, x)]
    torch.testing.assert_close(*spectra, rtol=0, atol=0.1)


def test_masks_equal_unpadded_and_padding_is_zero() -> None:
    x = signals()
    mask = torch.arange(512) < torch.tensor([512, 300, 0])[:, None]
    made = Whiten()(x.masked_fill(~mask.unsqueeze(-1), float("nan")), mask)
    torch.testing.assert_close(made[1:2, :300], Whiten()(x[1:2, :300]), rtol=0, atol=1e-5)
    torch.testing.assert_close(made[:1], Whiten()(x[:1]), rtol=0, atol=1e-5)
    assert (made[~mask] == 0).all()


def test_a_constant_and_one_step_are_zero() -> None:
    for x in (torch.full((2, 50, 1), 1e6 + 0.1), torch.randn(2, 1, 1)):
        assert (Whiten()(x) == 0).all()


@pytest.mark.parametrize("steps", [2, 3, 9])
def test_short_windows_are_finite(steps: int) -> None:
    assert Whiten()(signals(steps=steps)).isfinite().all()


def test_gradients_are_those_of_the_formula() -> None:
    x = torch.randn(
        2, 12, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1000)
    ).requires_grad_()
    assert torch.autograd.gradcheck(Whiten(), (x,))


def test_it_says_what_it_is() -> None:
    assert repr(Whiten(channels_first=True)) == "Whiten(channels_first=True)"
    assert not Whiten().state_dict()


@pytest.mark.unchecked
@pytest.mark.slow
def test_it_compiles_and_exports_with_dynamic_axes() -> None:
    layer = Whiten()
    axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    program = torch.export.export(layer, (signals(4, 256),), dynamic_shapes=(axes,))
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager", dynamic=True)
    for batch, steps in SHAPES:
        x = signals(batch, steps)
        for made in (program.module(), compiled):
            torch.testing.assert_close(made(x), layer(x), rtol=0, atol=1e-4)
