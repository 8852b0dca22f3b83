"""Every kind of background obeys the same laws; a new kind in `KINDS` is held to them by being there."""

import pytest
import torch

from crest.background import KINDS, kinds_of, low_pass, split

EVERY = [*KINDS, "slow+core", "level + slow", "periodic+slow"]


def signals(seed: int = 0, steps: int = 96, channels: int = 2) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    made = torch.randn(3, steps, channels, generator=generator) + 5.0
    made[:, 40:44] += 8.0
    return made


@pytest.mark.parametrize("kind", EVERY)
def test_the_parts_add_up(kind: str) -> None:
    x = signals()
    background, transient = split(x, kind)
    assert background.shape == transient.shape == x.shape
    # One rounding of the sum, of numbers as large as the larger part.
    largest = torch.maximum(background.abs(), transient.abs()).maximum(x.abs())
    assert ((background + transient - x).abs() <= torch.finfo(x.dtype).eps * largest).all()


@pytest.mark.parametrize("kind", EVERY)
def test_rows_are_separated_alone_and_padding_may_hold_anything(kind: str) -> None:
    x, mask = signals(), torch.arange(96)[None] < torch.tensor([[96], [70], [0]])
    dirty = x.masked_fill(~mask.unsqueeze(-1), float("nan"))
    parts = split(dirty, kind, mask)
    for part in parts:
        assert (part[~mask] == 0).all()
    alone = split(x[1:2, :70], kind)
    torch.testing.assert_close(parts.background[1:2, :70], alone.background, rtol=1e-5, atol=1e-5)


# A constant is no tone: `periodic` alone takes nothing of it, and tests/background/test_periodic.py says so.
@pytest.mark.parametrize("kind", [kind for kind in EVERY if kind not in ("periodic", "tones")])
def test_a_constant_is_all_background(kind: str) -> None:
    flat = torch.full((2, 50, 1), 0.1)
    torch.testing.assert_close(split(flat, kind).background, flat, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_a_window_shorter_than_the_filter_is_separated_too(kind: str, steps: int) -> None:
    parts = split(signals()[:, :steps], kind)
    assert all(part.isfinite().all() for part in parts)


def test_a_composition_takes_one_off_what_the_other_left() -> None:
    x = signals().double()
    slow = split(x, "slow", sigma=3.0)
    both = split(x, "slow+level", sigma=3.0)
    expected = slow.background + slow.transient.mean(1, keepdim=True)
    torch.testing.assert_close(both.background, expected)
    torch.testing.assert_close(slow.background, low_pass(x, sigma=3.0))


@pytest.mark.parametrize("kind", ["", "fast", "slow+", "slow+slow"])
def test_the_kind_is_checked(kind: str) -> None:
    with pytest.raises(ValueError, match=r"^kind must be one of level, slow"):
        kinds_of(kind)
