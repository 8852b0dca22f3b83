"""Signals separated once: the parts add up, and rows are exchanged as pairs of signals would be."""

import pytest
import torch
from torch import Tensor

from crest.nuisances import NAMES, SeparatedSignals, exchange, nuisances_of, stretched

DONORS = [name for name in NAMES if name != "rate"]


def signals(dtype: torch.dtype = torch.float32) -> Tensor:
    numbers = torch.Generator().manual_seed(1000)
    steps = torch.arange(256.0)
    x = torch.randn(5, 256, 2, generator=numbers) * (1 + torch.arange(5.0))[:, None, None]
    x += torch.randn(5, 1, 2, generator=numbers) * 4
    x += torch.arange(5.0)[:, None, None] * 3 * torch.cos(0.9 * steps)[None, :, None]
    return x.to(dtype)


MASK = torch.arange(256) < torch.tensor([256, 200, 200, 90, 0])[:, None]


@pytest.mark.parametrize("mask", [None, MASK])
def test_the_parts_add_up(mask: Tensor | None) -> None:
    x = signals()
    parts = SeparatedSignals(x, mask)
    whole = sum(parts.part(name) for name in ("offset", "drift", "fast"))
    expected = x if mask is None else x.masked_fill(~mask.unsqueeze(-1), 0.0)
    torch.testing.assert_close(whole, expected, rtol=0, atol=1e-5)
    assert parts.part("tones").abs().amax() > 1


def test_parts_of_masked_rows_are_those_of_rows_alone() -> None:
    x = signals()
    for name in ("offset", "drift", "tones", "fast", "around"):
        made = SeparatedSignals(x, MASK).part(name)
        alone = SeparatedSignals(x[1:2, :200]).part(name)
        torch.testing.assert_close(made[1:2, :200], alone, rtol=1e-4, atol=1e-5)
        assert (made[~MASK] == 0).all()


@pytest.mark.parametrize("name", [*DONORS, "gain+colour", "offset+drift+tones"])
def test_rows_are_exchanged_as_pairs_would_be(name: str) -> None:
    x = signals(torch.float64)
    own, donors = torch.tensor([0, 3, 2]), torch.tensor([4, 1, 2])
    made = SeparatedSignals(x).exchanged(name, own, donors)
    torch.testing.assert_close(made, exchange(x[own], x[donors], name))
    assert torch.equal(made[2], x[2])
    assert not torch.equal(made[0], x[0])


@pytest.mark.parametrize("name", DONORS)
def test_rows_without_a_valid_step_neither_give_nor_take(name: str) -> None:
    x = signals()
    made = SeparatedSignals(x, MASK).exchanged(name, torch.tensor([0, 4]), torch.tensor([4, 0]))
    assert torch.equal(made, x[[0, 4]])


def test_one_row_can_only_keep_what_it_has() -> None:
    x = signals()[:1]
    for name in DONORS:
        assert torch.equal(SeparatedSignals(x).exchanged(name, torch.tensor([0]), torch.tensor([0])), x)


def test_the_rate_is_a_stretch_by_the_factor() -> None:
    x = signals()
    rows = torch.arange(5)
    made = SeparatedSignals(x).exchanged("rate", rows, rows, factor=torch.linspace(0.5, 2, 5))
    torch.testing.assert_close(made, stretched(x, torch.linspace(0.5, 2, 5)))


def test_the_dtype_stays() -> None:
    rows = torch.arange(5)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        parts = SeparatedSignals(signals(dtype))
        assert parts.exchanged("gain", rows, rows.roll(1)).dtype == dtype


def test_names_are_read_in_every_form() -> None:
    assert nuisances_of("colour + gain") == nuisances_of(["gain", "colour", "gain"]) == ("gain", "colour")
    with pytest.raises(ValueError, match=r"^what must be of offset, drift, .*, got 'loudness'"):
        nuisances_of(["gain+loudness"], "what")


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7])
def test_a_window_that_is_core_throughout_has_a_level_too(steps: int) -> None:
    x = torch.randn(6, steps, 1, generator=torch.Generator().manual_seed(1000)) + 10
    offset = SeparatedSignals(x).part("offset")[:, 0, 0]
    assert (offset > 8).all()
    if steps in (2, 3):
        torch.testing.assert_close(offset, x.mean((1, 2)), rtol=1e-3, atol=0.0)


def test_a_loud_tone_is_found_whole() -> None:
    """A core takes its crests for events, so tones are sought beside it."""
    numbers = torch.Generator().manual_seed(1000)
    quiet = 0.3 * torch.randn(4, 1024, 1, generator=numbers, dtype=torch.float64)
    wave = torch.cos(0.7 * torch.arange(1024, dtype=torch.float64)).reshape(1, -1, 1)
    for size in (1.0, 6.0):
        parts = SeparatedSignals(quiet + size * wave)
        left = quiet + size * wave - parts.part("tones")
        assert float((left - quiet).square().mean().sqrt()) < 0.05
