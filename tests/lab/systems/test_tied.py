"""Ties by selection: the shares of the cells by hand."""

from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest

from crest.lab.systems.tied import as_text, drawn_rows, held_out, tied_rows


def numbers(seed: int = 1000) -> np.random.Generator:
    return np.random.default_rng(seed)


def crossed(counts: dict[tuple[int, int], int]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Classes and conditions of so many rows of each pair."""
    pairs = np.array([pair for pair, count in counts.items() for _ in range(count)], dtype=bool)
    return pairs[:, 0], pairs[:, 1]


def cells(
    rows: npt.NDArray[np.int64], target: npt.NDArray[np.bool_], condition: npt.NDArray[np.bool_]
) -> list[int]:
    """How many of the rows are (no, no), (no, yes), (yes, no), (yes, yes)."""
    return np.bincount(2 * target[rows] + condition[rows], minlength=4).tolist()


@pytest.mark.parametrize(
    ("tie", "expected"),
    [(1.0, [100, 0, 0, 100]), (0.95, [95, 5, 5, 95]), (0.5, [50] * 4), (0.0, [0, 100, 100, 0])],
)
def test_a_share_has_the_condition_of_its_class(tie: float, expected: list[int]) -> None:
    target, condition = crossed({(0, 0): 300, (0, 1): 250, (1, 0): 200, (1, 1): 150})
    rows = tied_rows(target, condition, tie, 200, numbers())
    assert cells(rows, target, condition) == expected
    assert len(set(rows.tolist())) == 200


@pytest.mark.parametrize(
    ("tie", "expected"), [(1.0, [30, 0, 0, 30]), (0.75, [12, 4, 4, 12]), (0.5, [4] * 4), (0.0, [0, 4, 4, 0])]
)
def test_the_scarcest_cell_limits_all_and_classes_stay_equal(tie: float, expected: list[int]) -> None:
    target, condition = crossed({(0, 0): 300, (0, 1): 250, (1, 0): 4, (1, 1): 30})
    assert cells(tied_rows(target, condition, tie, 1000, numbers()), target, condition) == expected


def test_a_cell_without_a_share_limits_nothing() -> None:
    target, condition = crossed({(0, 0): 6, (0, 1): 0, (1, 0): 0, (1, 1): 6})
    assert cells(tied_rows(target, condition, 1.0, 1000, numbers()), target, condition) == [6, 0, 0, 6]
    with pytest.raises(
        ValueError, match=r"tie must be one that the recordings allow, got no row of \(False, True\)"
    ):
        tied_rows(target, condition, 0.9, 1000, numbers())


def test_a_seed_repeats_the_draw_and_another_draws_others() -> None:
    target, condition = crossed({(0, 0): 300, (0, 1): 300, (1, 0): 300, (1, 1): 300})
    first, again, other = (tied_rows(target, condition, 0.5, 100, numbers(seed)) for seed in (1, 1, 2))
    assert first.tolist() == again.tolist()
    assert set(first.tolist()) != set(other.tolist())
    # In random order: classes do not stand one after the other.
    assert target[first[:50]].any()
    assert not target[first[:50]].all()


def test_rows_of_cells_in_proportion() -> None:
    found = {"a": np.arange(0, 10), "b": np.arange(10, 20), "c": np.arange(20, 30)}
    rows = drawn_rows(found, {"a": 1.0, "b": 0.3, "c": 0.7}, 10, numbers())
    assert Counter(row // 10 for row in rows.tolist()) == {0: 10, 1: 3, 2: 7}
    # The first of each.
    assert sorted(rows.tolist()) == [*range(13), *range(20, 27)]
    assert len(drawn_rows(found, {"a": 1.0, "b": 0.3, "c": 0.7}, 5, numbers())) == 5 + 2 + 4


@pytest.mark.parametrize("seed", range(8))
def test_one_of_each_neighbourhood_is_held_out(seed: int) -> None:
    weights = numbers(3).permutation(23)
    groups = [f"p{weight}" for weight in weights]
    apart = held_out(groups, weights.tolist(), 3, numbers(seed))
    # Seven neighbourhoods of three; the two heaviest are left over and stay.
    assert [int(name[1:]) // 3 for name in apart] == list(range(7))


def test_every_member_of_a_neighbourhood_can_be_drawn() -> None:
    drawn = {held_out(["a", "b", "c"], [0.0] * 3, 3, numbers(seed))[0] for seed in range(30)}
    assert drawn == {"a", "b", "c"}


def test_names_of_truths() -> None:
    assert as_text(np.array([True, False]), ("no", "yes")).tolist() == ["yes", "no"]
