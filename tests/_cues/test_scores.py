import numpy as np
import pytest
import torch

from crest._cues.scores import Draws, Wanted, by_condition, score_of


def drawn(rows: int, columns: int = 1, seed: int = 1000) -> torch.Tensor:
    return torch.randn(rows, columns, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def alone(rows: int, samples: int = 300) -> Draws:
    return Draws.made(np.arange(rows), samples, seed=1000)


def one_hot(classes: torch.Tensor) -> Wanted:
    return Wanted(torch.nn.functional.one_hot(classes).double(), True)


def test_the_share_of_the_variance_is_that_of_the_formula() -> None:
    target, error = drawn(100), 0.3 * drawn(100, seed=1001)
    value, (low, high) = score_of(Wanted(target + 1000, False), target + 1000 + error, alone(100))
    assert value == pytest.approx(float(1 - error.square().mean() / target.var(correction=0)))
    assert low < value < high
    assert high - low < 0.15


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
