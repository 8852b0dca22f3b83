"""The budget of the signals: near the share of the events, without labels, whatever the encoder does."""

import pytest
import torch

import crest
from crest.lab.systems import Sizes, make_system
from crest.readouts import CrestConfig, CrestReadout, signal_budget


@pytest.mark.parametrize("system", ["gear", "impact"])
def test_it_is_near_the_share_of_the_events(system: str) -> None:
    train = make_system(system).splits(1000, Sizes(train=96, id=8, ood=8)).train
    found = signal_budget(torch.as_tensor(train.x))
    share = float(torch.as_tensor(train.events).float().mean())
    assert 0.5 * share < found < 1.5 * share


def test_it_is_what_a_calibrated_readout_selects() -> None:
    x = torch.randn(70, 120, 3, generator=torch.Generator().manual_seed(0)).cumsum(1)
    readout = CrestReadout(run_up=0).calibrate([x[:64], x[64:]]).eval()
    assert signal_budget(x) == pytest.approx(float(readout.select(x).epsilon[0, 0]))


def test_neither_units_nor_padding_change_it() -> None:
    x = torch.randn(8, 100, 2, generator=torch.Generator().manual_seed(0)).cumsum(1)
    plain = signal_budget(x)
    assert signal_budget(x * torch.tensor([1e3, 1e-3])) == pytest.approx(plain, rel=1e-4)
    padded = torch.cat([x, torch.full((8, 30, 2), 99.0)], 1)
    assert signal_budget(padded, torch.arange(130).expand(8, -1) < 100) == pytest.approx(plain, rel=1e-5)


def test_it_keeps_the_range_of_the_constants() -> None:
    noise = torch.randn(8, 100, 2, generator=torch.Generator().manual_seed(0))
    assert signal_budget(noise, config=CrestConfig(epsilon_max=0.11)) == pytest.approx(0.11)


def test_training_does_not_move_it() -> None:
    readout = CrestReadout(crest.signal_budget(torch.randn(8, 100, 2).cumsum(1)))
    before = readout.select(torch.randn(8, 100, 4)).epsilon
    readout(torch.randn(8, 100, 4).cumsum(1))
    assert torch.equal(before, readout.select(torch.randn(8, 100, 4)).epsilon)


@pytest.mark.unchecked
@pytest.mark.parametrize(
    ("signals", "message"),
    [
        (torch.randn(4, 30), "^signals must have shape"),
        (torch.full((4, 30, 1), torch.nan), "^signals must be finite"),
    ],
)
def test_bad_signals_are_named(signals: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        signal_budget(signals)
