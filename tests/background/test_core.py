"""The transient core of a signal, and the signal without it."""

import pytest
import torch

from crest.background import around_core, transient_core


def bursts(places: list[int], steps: int = 200) -> torch.Tensor:
    """A slow wave in two channels with a short burst at each place, a trajectory per place."""
    time = torch.arange(steps, dtype=torch.float64)
    wave = torch.sin(2 * torch.pi * time / steps)
    signals = torch.stack([wave, 0.5 * wave], -1).repeat(len(places), 1, 1)
    for row, place in enumerate(places):
        signals[row, place : place + 4] += 3.0
    return signals


def test_the_core_is_where_the_burst_is() -> None:
    core = transient_core(bursts([50, 120]), budget=0.05)
    for row, place in enumerate([50, 120]):
        assert core[row, place : place + 4].all()
        assert not core[row, : place - 8].any()
        assert not core[row, place + 12 :].any()


def test_around_the_core_the_signal_is_as_it_was_and_the_burst_is_gone() -> None:
    signals = bursts([50, 120])
    core, around = transient_core(signals, budget=0.05), around_core(signals, budget=0.05)
    assert torch.equal(around[~core], signals[~core])
    assert around.amax() < 1.05 < signals.amax()


def test_a_larger_budget_takes_more_steps_and_padding_is_never_among_them() -> None:
    signals, mask = bursts([50, 60]), torch.arange(200).expand(2, 200) < 90
    dirty = signals.masked_fill(~mask.unsqueeze(-1), float("nan"))
    small, large = (transient_core(dirty, mask, budget=share) for share in (0.05, 0.3))
    assert small.sum() < large.sum()
    assert not large[:, 90:].any()
    assert torch.equal(large[:, :90], transient_core(signals[:, :90], budget=0.3))
    assert (around_core(dirty, mask)[:, 90:] == 0).all()


def test_a_constant_signal_has_no_core() -> None:
    flat = torch.full((2, 50, 3), 0.1)
    assert not transient_core(flat).any()
    assert torch.equal(around_core(flat), flat)


def test_the_budget_is_checked() -> None:
    with pytest.raises(ValueError, match=r"^budget must lie in \(0, 1\), got 1$"):
        transient_core(torch.zeros(1, 10, 1), budget=1)
