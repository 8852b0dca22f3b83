"""The row "core" by itself: the same number as that of all cues, and nothing where nothing brief tells."""

import pytest
import torch
from torch import Tensor

import crest
from crest._cues.brief import brief_cue


def bursts(count: int = 64, seed: int = 1000) -> tuple[Tensor, Tensor, Tensor]:
    """A burst and a level of sizes that have nothing to do with each other."""
    numbers = torch.Generator().manual_seed(seed)
    size, level = torch.randn(2, count, generator=numbers)
    x = 2 * level[:, None] + 0.05 * torch.randn(count, 120, generator=numbers)
    x[:, 50:56] += (6 + size)[:, None]
    return x.unsqueeze(-1), size, level


def test_it_is_the_row_of_all_cues() -> None:
    x, size, _ = bursts()
    found = brief_cue(x, size)
    (row,) = [one for one in crest.cues(x, size).rows if one.name == "core"]
    assert found.score == pytest.approx(row.score, rel=1e-6)
    assert found.chance == row.chance


def test_the_size_of_a_burst_is_read_and_a_level_is_not() -> None:
    x, size, level = bursts()
    assert brief_cue(x, size).score > 0.9
    told = brief_cue(x, level)
    assert told.score < 0.2
    assert told.interval[0] <= told.score <= told.interval[1]


def test_classes_have_a_chance() -> None:
    x, size, level = bursts()
    good, bad = brief_cue(x, (size > 0).long()), brief_cue(x, (level > 0).long())
    assert good.chance == bad.chance > 0.4
    assert good.score > 0.85
    assert bad.interval[0] < bad.chance


def test_padding_is_not_read() -> None:
    x, size, _ = bursts()
    mask = (torch.arange(150) < 120).expand(len(x), -1)
    padded = torch.nn.functional.pad(x, (0, 0, 0, 30), value=1e3)
    assert brief_cue(padded, size, mask).score == pytest.approx(brief_cue(x, size).score, abs=0.02)


def test_a_constant_channel_changes_nothing() -> None:
    x, size, _ = bursts()
    assert brief_cue(torch.cat([x, torch.ones_like(x)], 2), size) == brief_cue(x, size)


def test_the_same_seed_gives_the_same_interval() -> None:
    x, size, _ = bursts()
    assert brief_cue(x, size, bootstrap=50) == brief_cue(x, size, bootstrap=50)


def test_targets_that_do_not_vary_are_refused() -> None:
    x, size, _ = bursts()
    with pytest.raises(ValueError, match=r"^y must"):
        brief_cue(x, torch.ones_like(size))
