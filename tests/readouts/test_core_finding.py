from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import crest.readouts.fast
from crest.readouts import CrestConfig, CrestReadout
from eventful import lengths_mask, trajectories


def test_no_graph_hangs_on_the_selection() -> None:
    features = trajectories().requires_grad_()
    core = CrestReadout().double().select(features)
    assert not any(value.requires_grad for value in core)


def test_a_fixed_budget_covers_its_share() -> None:
    features = trajectories(batch=2, steps=500)
    core = CrestReadout(0.1, config=CrestConfig(dilation=0)).select(features)
    assert (core.selected.sum(1) == 50).all()
    torch.testing.assert_close(core.alpha, torch.full((2, 1), 0.7625, dtype=torch.float64))


def test_the_stable_direction_avoids_the_event() -> None:
    features = 0.1 * torch.randn(4, 200, 8)
    features[:, 100:104] += 3.0
    transient = CrestReadout("trajectory").votes(features)
    stable = CrestReadout("trajectory", direction="stable").votes(features)
    assert (transient[:, 101:103] == 8).all()
    assert stable[:, 100:104].float().mean() < 1
    assert not torch.equal(transient.argmax(1), stable.argmax(1))


def test_splitting_keeps_a_channel_out_of_its_own_mask() -> None:
    """Whatever a channel holds, the steps that it is pooled over stay; in the plain selector they move."""
    features = trajectories(width=6)
    changed = features.clone()
    changed[:, :, 2] = 5 * torch.randn(3, 70, dtype=torch.float64)
    split = CrestReadout("trajectory", split=True)
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
    split = CrestReadout(0.1, split=True, config=config).select(noise).selected
    assert float(noise[split].square().mean()) == pytest.approx(1.0, abs=0.05)
    assert float(noise[plain].square().mean()) > 4


class Passes(TorchDispatchMode):
    """Counts operators that write a tensor as large as the features."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor) and made.numel() == self.size:
            self.counts[func.overloadpacket.__name__] += 1
        return made


@pytest.mark.parametrize("masked", [False, True])
def test_plain_torch_turns_the_axes_once_and_takes_the_first_step_off_once(masked: bool) -> None:
    features = trajectories().requires_grad_()
    mask = lengths_mask(70, [70, 40, 0]) if masked else None
    readout = CrestReadout().double().eval()
    with crest.readouts.fast.backend("torch"), Passes(features.numel()) as passes:
        readout(features, mask)
    assert passes.counts["clone"] == 1
    # The first step, the background, and what is selected from all valid steps.
    assert passes.counts["sub"] == 3
