import pytest
import torch

import crest
from crest.lab.ablations import LAB_READOUTS, AblatedCrestReadout, make_lab_readout
from crest.readouts import READOUTS, REFERENCES, CrestConfig, CrestReadout
from crest.readouts.fast import backend
from eventful import trajectories

# That both ablations agree with the reference and obey CREST's laws is tested in tests/readouts/test_crest.py.


def test_the_stable_direction_avoids_the_event() -> None:
    features = 0.1 * torch.randn(4, 200, 8)
    features[:, 100:104] += 3.0
    transient = CrestReadout("trajectory").votes(features)
    stable = AblatedCrestReadout("trajectory", direction="stable").votes(features)
    assert (transient[:, 101:103] == 8).all()
    assert stable[:, 100:104].float().mean() < 1
    assert not torch.equal(transient.argmax(1), stable.argmax(1))


def test_splitting_keeps_a_channel_out_of_its_own_mask() -> None:
    """Whatever a channel holds, the steps that it is pooled over stay; in the plain selector they move."""
    features = trajectories(width=6)
    changed = features.clone()
    changed[:, :, 2] = 5 * torch.randn(3, 70, dtype=torch.float64)
    split = AblatedCrestReadout("trajectory", split=True)
    even = slice(0, None, 2)
    torch.testing.assert_close(
        split.select(changed).selected[..., even], split.select(features).selected[..., even]
    )
    torch.testing.assert_close(split.select(changed).alpha[:, even], split.select(features).alpha[:, even])
    assert not torch.equal(split.select(changed).selected[..., 1], split.select(features).selected[..., 1])
    plain = CrestReadout("trajectory")
    assert not torch.equal(plain.select(changed).selected[..., 2], plain.select(features).selected[..., 2])


def test_splitting_removes_the_bias_of_selecting_on_noise() -> None:
    """On pure noise of power 1, the selected steps have power 1 only if the mask is independent of them."""
    noise = torch.randn(400, 200, 8, generator=torch.Generator().manual_seed(0))
    config = CrestConfig(dilation=0)
    plain = CrestReadout(0.1, config=config).select(noise).selected
    split = AblatedCrestReadout(0.1, split=True, config=config).select(noise).selected
    assert float(noise[split].square().mean()) == pytest.approx(1.0, abs=0.05)
    assert float(noise[plain].square().mean()) > 4


@pytest.mark.parametrize("code", ["torch", "numba"])
def test_without_an_ablation_it_is_crest_to_the_bit(code: str) -> None:
    features = trajectories(batch=9)
    plain, ablated = (
        CrestReadout(alpha=0.8, run_up=2).double(),
        AblatedCrestReadout(alpha=0.8, run_up=2).double(),
    )
    with backend(code):
        assert torch.equal(plain(features), ablated(features))
    assert plain.state_dict().keys() == ablated.state_dict().keys()


def test_the_lab_builds_an_ablation_where_options_ask_for_one() -> None:
    assert set(LAB_READOUTS) == {*READOUTS, *REFERENCES}
    assert type(make_lab_readout("crest", 4, budget=0.1)) is CrestReadout
    assert make_lab_readout("crest", 4, direction="stable").direction == "stable"
    assert make_lab_readout("crest", 4, split=True).split
    with pytest.raises(ValueError, match="crest has no option speed; it has budget, alpha"):
        make_lab_readout("crest", 4, speed=1)
    with pytest.raises(ValueError, match="mean has no option split"):
        make_lab_readout("mean", 4, split=True)
    with pytest.raises(ValueError, match="crest has no option split"):
        crest.make_readout("crest", 4, split=True)


@pytest.mark.unchecked
def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="direction must be one of transient, stable, got 'up'"):
        AblatedCrestReadout(direction="up")
    with pytest.raises(ValueError, match="split must be True or False, got 3"):
        AblatedCrestReadout(split=3)


def test_one_channel_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="split=True needs at least two channels in features, got 1"):
        AblatedCrestReadout(split=True)(torch.randn(2, 100, 1))


def test_repr_shows_the_ablation() -> None:
    shown = repr(AblatedCrestReadout(0.1, direction="stable", split=True, run_up=0))
    assert shown == "AblatedCrestReadout(budget=0.1, direction='stable', split=True)"
