from collections.abc import Callable

import pytest
import torch

from crest._cues.readers import left_out_groups, read, widened
from crest.remedies.ridge import fit_ridge


def drawn(rows: int, columns: int = 1, seed: int = 1000) -> torch.Tensor:
    return torch.randn(rows, columns, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def explained(left_out: torch.Tensor, target: torch.Tensor) -> float:
    return float(1 - (left_out - target).square().mean() / target.var(correction=0))


@pytest.mark.parametrize("penalty", [1e-4, 0.1])
def test_leaving_a_group_out_is_refitting_without_it(penalty: float) -> None:
    """Against normal equations without the group's rows; the scale of the vectors and the penalty's part stay."""
    vectors, target = drawn(24, 5), drawn(24, 2, seed=1001)
    groups = torch.arange(24) % 5
    found = left_out_groups(vectors, target, groups, [penalty])
    standard = (vectors - vectors.mean(0)) / vectors.std(0, correction=0)
    for group in range(5):
        kept, left = groups != group, groups == group
        design = torch.cat([standard, torch.ones(24, 1, dtype=torch.float64)], 1)
        shrink = 24 * penalty * torch.diag(torch.tensor([1.0] * 5 + [0.0], dtype=torch.float64))
        weights = torch.linalg.solve(design[kept].T @ design[kept] + shrink, design[kept].T @ target[kept])
        torch.testing.assert_close(found[left], design[left] @ weights)


def test_groups_of_one_are_rows() -> None:
    vectors, target = drawn(30, 4), drawn(30, 1, seed=1001)
    penalties = [1e-3, 1e-1, 10.0]
    torch.testing.assert_close(
        left_out_groups(vectors, target, torch.arange(30), penalties),
        fit_ridge(vectors, target, penalties).left_out,
    )


def test_a_group_that_is_known_by_heart_is_not_read_when_it_is_left_out() -> None:
    """Windows of one machine look alike: left out one by one, their target is read from their neighbours."""
    groups = torch.arange(60) // 6
    own, target = drawn(10, 8)[groups], drawn(10, seed=1001)[groups]
    vectors = widened(own + 0.01 * drawn(60, 8, seed=1002))
    assert explained(read(vectors, target), target) > 0.8
    assert explained(read(vectors, target, groups), target) < 0.1


@pytest.mark.parametrize(
    "relation", [lambda x: x, torch.abs, lambda x: x.square(), lambda x: torch.sin(2 * x), torch.exp]
)
def test_a_relation_that_rises_and_falls_is_seen(relation: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = drawn(300)
    target = relation(x)
    assert explained(read(widened(x), target), target) > 0.9


def test_noise_tells_nothing() -> None:
    for seed in range(1000, 1005):
        target = drawn(200, seed=seed + 100)
        assert explained(read(widened(drawn(200, 10, seed)), target), target) < 0.05


def test_an_outlier_and_a_unit_change_little() -> None:
    x = drawn(200)
    target = x + 0.1 * drawn(200, seed=1001)
    wild = x.clone()
    wild[7] = 1e9
    # The wild row itself cannot be told.
    assert explained(read(widened(wild), target), target) > 0.85
    assert explained(read(widened(1e6 * x), target), target) > 0.95


def test_columns_that_do_not_vary_are_dropped_and_nothing_is_the_mean_of_the_others() -> None:
    same = torch.ones(6, 2)
    assert widened(same).shape == (6, 0)
    target = torch.arange(6.0, dtype=torch.float64).unsqueeze(1)
    for groups in (None, torch.arange(6)):
        torch.testing.assert_close(read(widened(same), target, groups), (target.sum() - target) / 5)


def test_many_columns_are_brought_down() -> None:
    assert widened(drawn(300, 500)).shape == (300, 4 * 64)
    assert widened(drawn(20, 500)).shape == (20, 3 * 19 + 64)


def test_the_seed_draws_the_waves() -> None:
    x = drawn(20, 2)
    assert torch.equal(widened(x, 1000), widened(x, 1000))
    assert not torch.equal(widened(x, 1000), widened(x, 1001))
