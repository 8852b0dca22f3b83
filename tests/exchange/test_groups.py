"""Groups of trajectories as numbers, and what they do to intervals."""

from typing import Any

import numpy as np
import pytest
import torch

import crest
from crest._base.rng import generator
from crest.exchange.groups import groups_of


def test_groups_are_numbered_in_the_order_in_which_they_come() -> None:
    assert groups_of(["b", "a", "b", 3], 4).tolist() == [0, 1, 0, 2]
    assert groups_of(np.array([7, 7, 2]), 3).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1] * 8, "^groups must name two groups or more, got 1 for every trajectory"),
        ([1, 2] * 3, r"^groups must have shape \(N,\) = \(8,\), got \(6,\)"),
        ([None] * 8, "^groups must name a group for each trajectory, got None"),
        ("ab", "^groups must name a group for each trajectory, got str"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        crest.exchange_test(lambda x: x.mean((1, 2)), torch.randn(8, 40, 1), groups=groups)


def read(x: torch.Tensor) -> torch.Tensor:
    """Half of the level, half of the largest step."""
    return x.median(1).values[:, 0] + 0.5 * x.amax((1, 2))


def windows(recordings: int, of_each: int) -> tuple[torch.Tensor, list[int]]:
    """Windows of recordings, all of one recording alike but for a little noise."""
    numbers = torch.Generator().manual_seed(1000)
    level, knock = torch.randn(2, recordings, generator=numbers).repeat_interleave(of_each, 1)
    x = level[:, None, None] + 0.02 * torch.randn(len(level), 60, 1, generator=numbers)
    x[:, 30:33, 0] += 3 * knock.abs()[:, None]
    return x, [number for number in range(recordings) for _ in range(of_each)]


def test_windows_that_are_alike_tell_no_more_than_their_recordings() -> None:
    """With ten windows of each recording, intervals over windows shrink by about the root of ten; over recordings they do not."""
    once = crest.exchange_test(read, windows(12, 1)[0])
    x, recording = windows(12, 10)
    alone, together = crest.exchange_test(read, x), crest.exchange_test(read, x, groups=recording)

    def width(interval: tuple[float, float]) -> float:
        return interval[1] - interval[0]

    for name in ("moved_interval", "transient_interval"):
        narrow, wide, true = (width(getattr(one, name)) for one in (alone, together, once))
        assert narrow < 0.5 * true
        assert 0.6 * true < wide < 1.7 * true
    assert together.moved == alone.moved
    assert width(together.nuisances["offset"].moved_interval) > 2 * width(
        alone.nuisances["offset"].moved_interval
    )


def test_each_trajectory_as_its_own_group_is_no_group() -> None:
    x, _ = windows(12, 1)
    assert crest.exchange_test(read, x, groups=range(12)).moved == crest.exchange_test(read, x).moved


def test_a_draw_that_leaves_one_group_is_refused() -> None:
    """All draws of a single group are the same, and intervals would have no width."""
    x, _ = windows(12, 1)
    last = int(generator(crest.ExchangeSettings().seed, "exchange").permutation(12)[-1])
    groups = ["rare" if place == last else "usual" for place in range(12)]
    assert crest.exchange_test(read, x, groups=groups).trajectories == 12
    with pytest.raises(
        ValueError, match=r"^groups must name two groups or more among the 4 of 12 trajectories"
    ):
        crest.exchange_test(read, x, groups=groups, exchange=crest.ExchangeSettings(trajectories=4))


def test_the_first_of_two_groups_alone_is_told_as_such() -> None:
    message = r"^groups must name two groups or more among the first 4 of 6 trajectories, got 'a' for each of them\. Pass exchange="
    with pytest.raises(ValueError, match=message):
        groups_of([*"aaaabb"], 6, first=4)
    with pytest.raises(
        ValueError, match=r"^groups must name two groups or more, got 'a' for every trajectory"
    ):
        groups_of([*"aaaaaa"], 6, first=4)
