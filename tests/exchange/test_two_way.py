"""Shares of variance against closed forms and slow loops, and the intervals' coverage."""

import numpy as np
import pytest

from crest.exchange.two_way import component_shares, resampled_counts, resampled_intervals, sums_of_squares

SIZES = (16,) * 8


def slow_sums(grid: np.ndarray) -> list[float]:
    """The textbook's sums, cell by cell."""
    size = len(grid)
    found = [0.0, 0.0, 0.0]
    for output in range(grid.shape[2]):
        cells = grid[:, :, output]
        mean = cells.mean()
        for i in range(size):
            for j in range(size):
                row, column = cells[i].mean() - mean, cells[:, j].mean() - mean
                found[0] += row**2
                found[1] += column**2
                found[2] += (cells[i, j] - mean - row - column) ** 2
    return found


@pytest.mark.parametrize("shape", [(2, 2, 1), (5, 5, 1), (4, 4, 3)])
def test_sums_are_the_textbooks(shape: tuple[int, int, int]) -> None:
    grid = np.random.default_rng(0).normal(3.0, 1.0, shape)
    np.testing.assert_allclose(sums_of_squares(grid)[0], slow_sums(grid), rtol=1e-10)


def test_counts_stand_for_repeated_and_left_out_trajectories() -> None:
    grid = np.random.default_rng(0).normal(size=(4, 4, 2))
    counts = np.array([[2.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 1.0]])
    repeated, left_out = [0, 0, 1, 3], [1, 2, 3]
    expected = [slow_sums(grid[np.ix_(rows, rows)]) for rows in (repeated, left_out)]
    np.testing.assert_allclose(sums_of_squares(grid, counts), expected, rtol=1e-10)


def test_a_large_mean_costs_no_digits() -> None:
    grid = np.random.default_rng(0).normal(size=(6, 6, 1))
    np.testing.assert_allclose(sums_of_squares(grid + 1e6), sums_of_squares(grid), rtol=1e-6)


def made(
    generator: np.random.Generator, weights: tuple[float, float, float], tied: float = 0.0
) -> np.ndarray:
    """Grids of a * transient + b * level + c * transient * level, all of unit variance; the two may be correlated."""
    transient = generator.standard_normal((len(SIZES), SIZES[0]))
    level = tied * transient + np.sqrt(1 - tied**2) * generator.standard_normal(transient.shape)
    rows, columns = transient[:, :, None, None], level[:, None, :, None]
    a, b, c = weights
    return a * rows + b * columns + c * rows * columns


def true_shares(weights: tuple[float, float, float]) -> np.ndarray:
    squares = np.square(weights)
    return squares / squares.sum()


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (3.0, 1.0, 0.5), (0.0, 0.0, 1.0), (0.2, 1.0, 0.0)])
@pytest.mark.parametrize("tied", [0.0, 0.9])
def test_components_find_known_shares_where_plain_sums_are_biased(
    weights: tuple[float, float, float], tied: float
) -> None:
    generator, components, plain = np.random.default_rng(1000), [], []
    for _ in range(200):
        sums = np.sum([sums_of_squares(grid) for grid in made(generator, weights, tied)], 0)
        components.append(component_shares(sums, SIZES)[0])
        plain.append(sums[0] / sums.sum())
    truth = true_shares(weights)
    assert np.abs(np.mean(components, 0) - truth).max() < 0.03
    if weights == (0.0, 0.0, 1.0):
        # Of a pure interaction the sums of squares give 1 / (b + 1) to rows and to columns.
        assert np.mean(plain, 0)[2] < 0.9
        assert np.mean(components, 0)[2] > 0.96


def test_shares_add_up_to_one_and_none_is_negative() -> None:
    sums = np.array([[0.01, 3.0, 40.0], [5.0, 0.0, 0.0]])
    shares = component_shares(sums, [4, 3])
    np.testing.assert_allclose(shares.sum(1), 1.0)
    assert (shares >= 0).all()
    assert shares[0, 0] == 0.0


def test_grids_of_different_sizes_are_pooled() -> None:
    """Each mean square has the same expectation whatever the size: rows of variance 1, nothing else."""
    generator, found = np.random.default_rng(0), []
    for _ in range(300):
        sums = np.zeros((1, 3))
        for size in (3, 9):
            rows, noise = generator.standard_normal((size, 1, 1)), generator.standard_normal((size, size, 1))
            sums += sums_of_squares(rows + noise)
        found.append(component_shares(sums, [3, 9])[0])
    assert np.mean(found, 0) == pytest.approx([0.5, 0.0, 0.5], abs=0.06)


def test_nothing_that_varies_has_no_shares() -> None:
    assert np.isnan(component_shares(np.zeros((1, 3)), [4])).all()


@pytest.mark.slow
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (3.0, 1.0, 0.5)])
@pytest.mark.parametrize("tied", [0.0, 0.9])
def test_intervals_hold_the_true_shares_about_as_often_as_they_say(
    weights: tuple[float, float, float], tied: float
) -> None:
    generator, inside = np.random.default_rng(1000), []
    truth = true_shares(weights)
    for _ in range(200):
        ends = resampled_intervals(list(made(generator, weights, tied)), 200, generator)
        inside.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    covered = np.mean(inside, 0)
    # Two hundred repetitions: 0.95 +- 0.05 is three deviations.
    assert (covered > 0.89).all()
    assert (covered < 1.0).all()


def test_intervals_hold_the_estimate_and_stay_between_zero_and_one() -> None:
    generator = np.random.default_rng(0)
    for size in (2, 3, 5):
        grids = [generator.standard_normal((size, size, 1))]
        share = component_shares(sums_of_squares(grids[0]), [size])[0]
        ends = resampled_intervals(grids, 50, generator)
        assert ((ends[:, 0] <= share) & (share <= ends[:, 1])).all()
        assert ((ends >= 0) & (ends <= 1)).all()


def test_two_trajectories_say_nothing_about_the_rest() -> None:
    grid = np.array([[[0.0], [1.0]], [[2.0], [3.0]]])
    assert resampled_intervals([grid], 50, np.random.default_rng(0)).tolist() == [[0.0, 1.0]] * 3


def test_what_one_trajectory_does_alone_is_uncertain() -> None:
    grid = np.zeros((3, 3, 1))
    grid[0, :] = 1.0
    ends = resampled_intervals([grid], 50, np.random.default_rng(0))
    assert ends.tolist() == [[0.0, 1.0]] * 3


def test_the_draws_of_the_bootstrap_have_as_many_trajectories() -> None:
    counts = resampled_counts(5, 40, np.random.default_rng(0))
    assert counts.shape == (40, 5)
    assert (counts.sum(1) == 5).all()
    assert counts.min() == 0


def test_trajectories_of_a_group_are_drawn_together() -> None:
    counts = resampled_counts(5, 40, np.random.default_rng(0), np.array([0, 0, 1, 2, 2]))
    assert (counts[:, 0] == counts[:, 1]).all()
    assert (counts[:, 3] == counts[:, 4]).all()
    assert (counts[:, [0, 2, 3]].sum(1) == 3).all()
    assert counts.max() == 3
