import numpy as np
import pytest
import torch

from crest._cues.readers import read
from crest._cues.scores import Draws, Wanted, by_condition, score_of


def drawn(rows: int, columns: int = 1, seed: int = 1000) -> torch.Tensor:
    return torch.randn(rows, columns, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def alone(rows: int, samples: int = 300) -> Draws:
    return Draws.made(np.arange(rows), samples, seed=1000)


def one_hot(classes: torch.Tensor) -> Wanted:
    return Wanted(torch.nn.functional.one_hot(classes).double(), True)


def test_the_share_of_the_variance_is_that_of_the_formula() -> None:
    target, error = drawn(100), 0.3 * drawn(100, seed=1001)
    value, (low, high), beats = score_of(Wanted(target + 1000, False), target + 1000 + error, alone(100))
    assert value == pytest.approx(float(1 - error.square().mean() / target.var(correction=0)))
    assert low < value < high
    assert high - low < 0.15
    assert beats


def test_worse_than_the_mean_is_negative() -> None:
    target = drawn(50)
    target = target - target.mean()
    assert score_of(Wanted(target, False), -target, alone(50))[0] == pytest.approx(-3.0)


def test_groups_that_are_drawn_as_a_whole_widen_the_interval() -> None:
    groups = np.arange(100) // 20
    target = drawn(100)
    said = target + drawn(5, seed=1001)[torch.from_numpy(groups)]
    by_row, by_group = (
        score_of(Wanted(target, False), said, Draws.made(one, 500, 1000))[1]
        for one in (np.arange(100), groups)
    )
    assert by_group[1] - by_group[0] > 1.5 * (by_row[1] - by_row[0])


def test_a_reader_of_classes_that_knows_nothing_is_at_chance() -> None:
    """Where each row is left out, the shares of the classes among the others must not tell it."""
    classes = (torch.arange(90) % 9).clamp(max=2)
    wanted = one_hot(classes)
    others = (wanted.columns.sum(0) - wanted.columns) / 89
    noise = 1e-3 * drawn(90, 3)
    assert wanted.chance == pytest.approx(1 / 3)
    assert score_of(wanted, others + noise * others, alone(90))[0] == pytest.approx(1 / 3, abs=0.15)


@pytest.mark.parametrize("counts", [(2, 2), (3, 5), (13, 17), (18, 12), (90, 10), (7, 7, 7), (5, 11, 23, 2)])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_reader_that_sees_nothing_is_at_chance_exactly(counts: tuple[int, ...], groups: int) -> None:
    """Rounding says which class is ahead, the same for all rows of a class: 0 or 1 as often as not."""
    classes = torch.cat([torch.full((count,), number) for number, count in enumerate(counts)])
    wanted = one_hot(classes)
    # Each class is in two groups or more.
    alone_in = torch.arange(len(classes)) if groups == 1 else torch.arange(len(classes)) % 2
    nothing = torch.zeros(len(classes), 0, dtype=torch.float64)
    for seen in (nothing, torch.full((len(classes), 3), 0.1, dtype=torch.float64)):
        said = read(seen, wanted.columns, None if groups == 1 else alone_in)
        found = score_of(wanted, said, Draws.made(alone_in.numpy(), 50, 1000))
        assert (found.value, *found.interval) == pytest.approx((wanted.chance,) * 3)


def test_over_all_pairs_of_counts_nothing_is_read_from_nothing() -> None:
    nothing = {}
    for first in range(2, 30):
        for second in range(2, 30):
            wanted = one_hot(torch.tensor([0] * first + [1] * second))
            said = read(torch.zeros(first + second, 0, dtype=torch.float64), wanted.columns)
            nothing[first, second] = score_of(wanted, said, alone(first + second, 1)).value
    assert set(nothing.values()) == {0.5}


@pytest.mark.parametrize(("shift", "beats"), [(0.2, True), (0.9, False)])
def test_two_readers_of_one_accuracy_differ_in_the_squared_error(shift: float, beats: bool) -> None:
    """Both tell three of four right; the second is as sure of the fourth."""
    wanted, others = one_hot(torch.arange(80) % 2), torch.full((80, 2), 0.5, dtype=torch.float64)
    told_right = torch.where(torch.arange(80) % 8 < 6, 1.0, -1.0).unsqueeze(1)
    found = score_of(wanted, others + shift * told_right * (2 * wanted.columns - 1), alone(80))
    assert found.value == 0.75
    assert found.interval[0] > 0.6
    assert found.beats_constant == beats


def test_a_rare_class_counts_as_much_as_a_common_one() -> None:
    classes = torch.tensor([0] * 90 + [1] * 10)
    wanted = one_hot(classes)
    assert score_of(wanted, wanted.columns, alone(100))[0] == 1.0
    # All of the common class and none of the rare one.
    wrong = torch.tensor([[1.0, 0.0]], dtype=torch.float64).expand(100, 2)
    assert score_of(wanted, wrong, alone(100))[0] == 0.5


def test_a_class_of_one_group_alone_cannot_be_told() -> None:
    classes, groups = torch.tensor([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 2, 2])
    wanted = one_hot(classes)
    assert score_of(wanted, wanted.columns, Draws.made(groups, 50, 1000))[0] == pytest.approx(2 / 3)


def test_the_condition_explains_what_follows_it_and_chance_is_none() -> None:
    conditions = torch.arange(200) % 4
    follows = conditions.double().unsqueeze(1) + 0.1 * drawn(200)
    assert by_condition(torch.cat([drawn(200, 3), follows], 1), conditions) > 0.95
    assert by_condition(drawn(200, 25, seed=1002), conditions) < 0.1
    assert by_condition(torch.ones(200, 2), conditions) == 0.0
