"""Ties by selection: a collection bias is made by choosing among real windows, and nothing is ever added to a recording."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Cell = TypeVar("Cell", bound=Hashable)


def drawn_rows(
    cells: Mapping[Cell, Rows], shares: Mapping[Cell, float], most: float, numbers: np.random.Generator
) -> Rows:
    """Rows of each cell in these proportions, in random order; as many as the scarcest cell allows.

    Args:
        cells: the rows that each cell has, in random order; the first are taken.
        shares: how many of a cell, in units that are the same for all.
        most: of those units.
        numbers: draws the order.

    Example:
        >>> cells = {"a": np.arange(10), "b": np.arange(10, 14)}
        >>> rows = drawn_rows(cells, {"a": 1.0, "b": 0.5}, 100, np.random.default_rng(0))
        >>> sorted(rows.tolist())[-4:]
        [10, 11, 12, 13]
    """
    empty = [cell for cell, share in shares.items() if share > 0 and len(cells[cell]) == 0]
    if empty:
        raise ValueError(f"tie must be one that the recordings allow, got no row of {empty[0]}")
    scale = min([most, *(len(cells[cell]) / share for cell, share in shares.items() if share > 0)])
    return numbers.permutation(
        np.concatenate([cells[cell][: round(scale * share)] for cell, share in shares.items()])
    )


def tied_rows(
    target: npt.NDArray[np.bool_],
    condition: npt.NDArray[np.bool_],
    tie: float,
    most: int,
    numbers: np.random.Generator,
) -> Rows:
    """Rows of two classes, equally many, of which a share `tie` has the condition of its class.

    Args:
        target: the class of each row (N,).
        condition: the condition of each row (N,); that of class True is True.
        tie: 1 for all, 0.5 for no tie, 0 for a tie the other way round.
        most: rows of both classes together.
        numbers: draws them.

    Example:
        >>> target, condition = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=bool)
        >>> sorted(tied_rows(target, condition, 1.0, 4, np.random.default_rng(0)).tolist())
        [0, 3]
    """
    cells = {
        (a, b): numbers.permutation(np.flatnonzero((target == a) & (condition == b)))
        for a in (False, True)
        for b in (False, True)
    }
    shares = {(a, b): tie if a == b else 1 - tie for a, b in cells}
    return drawn_rows(cells, shares, most / 2, numbers)


def held_out(
    groups: Sequence[str], weights: Sequence[float], share: int, numbers: np.random.Generator
) -> list[str]:
    """One of every `share` groups, drawn so that the groups held out are like the others in their weights.

    Neighbours in the order of the weights stand together, and one of each neighbourhood is drawn. What is left over at the
    end stays on the other side.

    Example:
        >>> sorted(held_out(["a", "b", "c", "d"], [0, 9, 1, 8], 2, np.random.default_rng(0)))
        ['b', 'c']
    """
    order = np.argsort(np.asarray(weights), kind="stable")
    whole = len(order) // share * share
    return [groups[int(numbers.choice(order[k : k + share]))] for k in range(0, whole, share)]


def as_text(values: npt.NDArray[Any], names: tuple[str, str]) -> npt.NDArray[Any]:
    """The first name for False, the second for True."""
    return np.where(values, names[1], names[0])
