"""How far targets and operating conditions are tied in some data, and which trajectories break the tie."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from crest._base.arguments import require_shape
from crest._base.order import natural_order
from crest.probes.errors import constant_prediction

Conditions: TypeAlias = Iterable[Any] | Tensor | npt.NDArray[Any] | Mapping[str, Iterable[Any]]
"""The condition of each trajectory, (N,), or several columns by name; a numeric column with many values is put in groups."""

Columns: TypeAlias = dict[str, list[Hashable]]
"""Conditions as `condition_columns` reads them: a list by the name of each column, "" for one without a name."""

# our choice: docs/evidence/choices.md#ties
_FEW_VALUES = 10
_GROUPS = 5
TIED = 0.5
"""From this Cramér's V on, target and condition are called tied."""
ENOUGH = 4
"""How many trajectories must break a tie before their error decides anything."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tie:
    """Target x condition: how many trajectories there are of each, and how strongly one tells the other."""

    targets: tuple[str, ...]
    """The values of the target, or the ranges of its groups, in order."""
    conditions: tuple[str, ...]
    """The conditions, in order; those of several columns joined by ", "."""
    rows: Tensor
    """(N,), the place of each trajectory's target in `targets`."""
    columns: Tensor
    """(N,), the place of each trajectory's condition in `conditions`."""

    @property
    def counts(self) -> Tensor:
        """(targets, conditions): the number of trajectories of each."""
        cells = self.rows * len(self.conditions) + self.columns
        return torch.bincount(cells, minlength=len(self.targets) * len(self.conditions)).reshape(
            len(self.targets), len(self.conditions)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """(N,), the condition of each trajectory by its name."""
        return tuple(self.conditions[place] for place in self.columns.tolist())

    @property
    def strength(self) -> float:
        """Cramér's V, with the correction for chance: 0 if the condition tells nothing of the target, 1 if it tells it."""
        counts = self.counts.double()
        # A target or a condition that no trajectory has would only lower it.
        counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
        total, (r, k) = float(counts.sum()), counts.shape
        if min(r, k) < 2 or total < 2:
            return 0.0
        expected = counts.sum(1, keepdim=True) * counts.sum(0, keepdim=True) / total
        phi = float(((counts - expected).square() / expected.clamp(min=1e-12)).sum()) / total
        phi = max(0.0, phi - (r - 1) * (k - 1) / (total - 1))
        rows, columns = (size - (size - 1) ** 2 / (total - 1) for size in (r, k))
        return float(min(1.0, (phi / max(min(rows, columns) - 1, 1e-12)) ** 0.5))

    @property
    def tied(self) -> bool:
        """Whether the condition tells the target for most trajectories."""
        return self.strength >= TIED

    @property
    def repeats(self) -> bool:
        """Whether some condition has several trajectories; else nothing can be said about a tie."""
        return len(self.conditions) < len(self.rows)

    @property
    def breaking(self) -> Tensor:
        """(N,), True for trajectories whose target is rare under their condition: less than half as often as by chance."""
        counts = self.counts.double()
        expected = counts.sum(1, keepdim=True) * counts.sum(0, keepdim=True) / counts.sum()
        return (counts < expected / 2)[self.rows, self.columns]

    @property
    def cells(self) -> dict[tuple[int, int], Tensor]:
        """The numbers of the trajectories of each pair of target and condition that there is."""
        found: dict[tuple[int, int], list[int]] = {}
        for number, cell in enumerate(zip(self.rows.tolist(), self.columns.tolist(), strict=True)):
            found.setdefault(cell, []).append(number)
        return {cell: torch.tensor(numbers) for cell, numbers in sorted(found.items())}

    @property
    def even_weights(self) -> Tensor:
        """(N,), weights with which each pair of target and condition counts the same; their mean is 1."""
        counts = self.counts
        weights = 1 / counts[self.rows, self.columns].double()
        return weights / weights.mean()

    def __repr__(self) -> str:
        widths = [max(len(name), 6) for name in self.conditions]
        first = max(map(len, self.targets), default=0)
        head = " " * first + "".join(
            f"  {name:>{width}}" for name, width in zip(self.conditions, widths, strict=True)
        )
        lines = [
            f"{name:>{first}}"
            + "".join(f"  {count:>{width}}" for count, width in zip(row, widths, strict=True))
            for name, row in zip(self.targets, self.counts.tolist(), strict=True)
        ]
        return "\n".join([head, *lines])


def tie_of(targets: Tensor, conditions: Conditions) -> Tie:
    """The tie of targets (N,) and conditions.

    Targets with up to ten values are taken as they are, others in five groups of the same size; numeric conditions as well. A value
    that more than a fifth of the trajectories have is a group of its own, and the others share the fifths that are left.

    Args:
        targets: (N,), numbers or classes; or (N, L), several labels, whose combinations are taken.
        conditions: (N,), or several columns by name: their combinations are the conditions.

    Example:
        >>> tie = tie_of(torch.tensor([0, 0, 0, 1, 1, 1, 1, 0]), ["slow"] * 4 + ["fast"] * 4)
        >>> tie
             fast    slow
        0       1       3
        1       3       1
        >>> round(tie_of(torch.tensor([0, 1] * 8), [600, 900] * 8).strength, 2)
        1.0
    """
    wanted = torch.as_tensor(targets).detach().cpu()
    columns = [_coded(column) for column in condition_columns(conditions, len(wanted)).values()]
    several = wanted.ndim == 2 and wanted.shape[1] > 1
    listed = _combinations(wanted) if several else _listed("targets", wanted.flatten())
    rows, names = _coded(listed)
    codes = list(zip(*(code.tolist() for code, _ in columns), strict=True))
    kinds = sorted(set(codes))
    place = {kind: number for number, kind in enumerate(kinds)}
    return Tie(
        targets=names,
        conditions=tuple(", ".join(columns[axis][1][one] for axis, one in enumerate(kind)) for kind in kinds),
        rows=rows,
        columns=torch.tensor([place[code] for code in codes]),
    )


def _combinations(labels: Tensor) -> list[Hashable]:
    """Which of several labels (N, L) each trajectory has, by their numbers."""
    return ["+".join(map(str, row.nonzero().flatten().tolist())) or "none" for row in labels]


def telling_tie(targets: Tensor, conditions: Conditions) -> Tie:
    """The tie of targets and conditions, if these can tell something: they vary, and some of them repeat.

    Example:
        >>> telling_tie(torch.tensor([0, 1, 0, 1]), [600, 600, 600, 600])
        Traceback (most recent call last):
        ValueError: conditions must vary, got 600 for every trajectory
    """
    columns = condition_columns(conditions, len(targets))
    tie = tie_of(targets, columns)
    if len(tie.conditions) < 2:
        raise ValueError(unvarying(columns)[0])
    if not tie.repeats:
        raise ValueError(
            f"conditions must repeat, got {len(tie.conditions)} of them for {len(tie.rows)} trajectories"
        )
    return tie


def decides(tie: Tie) -> bool:
    """Whether enough trajectories break a tie for their errors to decide."""
    return tie.tied and int(tie.breaking.sum()) >= ENOUGH


def even_error(
    predictions: Tensor, targets: Tensor, tie: Tie, error: Callable[[Tensor, Tensor], Any]
) -> float:
    """The error averaged evenly over the pairs of target and condition that there are, however rare each is.

    Example:
        >>> tie = tie_of(torch.tensor([0, 0, 0, 1]), ["a", "a", "a", "b"])
        >>> even_error(torch.tensor([0.0, 0.0, 0.0, 3.0]), torch.tensor([0, 0, 0, 1]), tie, lambda p, y: (p - y).abs().mean())
        1.0
    """
    found = [float(error(predictions[rows], targets[rows])) for rows in tie.cells.values()]
    return sum(found) / len(found)


def even_constant(
    predictions: Tensor, targets: Tensor, tie: Tie, error: Callable[[Tensor, Tensor], Any]
) -> float:
    """The error, averaged in the same way, of the best prediction that is the same for all: the measure of an even error.

    If a pair is rare, that is far above the constant's plain error, in which the pair hardly counts.

    Args:
        predictions: of a model, which tell whether it gives logits.
        targets: (N,).
        tie: of targets and conditions.
        error: from predictions and targets to one number.

    Example:
        >>> tie = tie_of(torch.tensor([0, 0, 0, 1]), ["a", "a", "a", "b"])
        >>> even_constant(torch.zeros(4), torch.tensor([0, 0, 0, 1]), tie, lambda p, y: (p - y).abs().mean())
        0.5
    """
    return even_error(constant_prediction(targets, predictions, tie.even_weights), targets, tie, error)


def condition_columns(conditions: Conditions, trajectories: int | None = None) -> Columns:
    """Each column as a list of one hashable value for each trajectory, by its name; that of a single column without one is "".

    The one place where conditions are read. What comes back can be read again, also where a column was a generator, and is itself
    a form of conditions.

    Args:
        conditions: (N,), or several columns by name.
        trajectories: N; by default the length of the longest column.

    Example:
        >>> condition_columns({"speed": iter([600, 900]), "load": ["low", "low"]})
        {'speed': [600, 900], 'load': ['low', 'low']}
    """
    if isinstance(conditions, Mapping) and not conditions:
        raise ValueError("conditions must have a column or more, got none")
    several = conditions.items() if isinstance(conditions, Mapping) else [("", conditions)]
    found = {str(name): _listed(_argument(str(name)), column) for name, column in several}
    count = max(map(len, found.values())) if trajectories is None else trajectories
    for name, values in found.items():
        require_shape(_argument(name), np.empty(len(values)), "(N,)", (count,))
    return found


def unvarying(columns: Columns) -> list[str]:
    """For each column that does not vary, what is wrong with it: beside others that do it is of no use, and does no harm.

    Example:
        >>> unvarying({"speed": [600, 900], "load": ["low", "low"]})
        ["conditions['load'] must vary, got 'low' for every trajectory"]
    """
    return [
        f"{_argument(name)} must vary, got {column[0]!r} for every trajectory"
        for name, column in columns.items()
        if len(set(column)) == 1
    ]


def condition_names(conditions: Conditions, trajectories: int | None = None) -> list[Hashable]:
    """One name for each trajectory, in the order of `conditions`; those of several columns are joined.

    Example:
        >>> condition_names({"speed": [600, 900], "load": ["low", "low"]}, 2)
        ['600, low', '900, low']
    """
    first, *others = condition_columns(conditions, trajectories).values()
    return [", ".join(map(str, row)) for row in zip(first, *others, strict=True)] if others else first


def _argument(name: str) -> str:
    return f"conditions[{name!r}]" if name else "conditions"


def _listed(argument: str, column: Any) -> list[Hashable]:
    """One hashable value for each trajectory."""
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise ValueError(f"{argument} must name a condition for each trajectory, got {type(column).__name__}")
    shape = tuple(getattr(column, "shape", (0,)))
    if len(shape) != 1:
        raise ValueError(f"{argument} must name a condition for each trajectory, got shape {shape}")
    values: list[Hashable] = column.tolist() if hasattr(column, "tolist") else list(column)
    # A tensor of one number is that number: tensors are hashed by what they are, not by what they hold.
    values = [one.item() if isinstance(one, Tensor) and one.ndim == 0 else one for one in values]
    for value in values:
        alone = isinstance(value, Hashable) and value is not None and not isinstance(value, Tensor)
        if not alone or value != value:  # noqa: PLR0124
            raise ValueError(f"{argument} must name a condition for each trajectory, got {value!r}")
    return values


def _coded(values: Sequence[Any]) -> tuple[Tensor, tuple[str, ...]]:
    """Whole numbers from 0 for the values of a column, in order, and their names; many numbers are put in groups."""
    kinds: Sequence[Any] = list(dict.fromkeys(values))
    numeric = all(isinstance(one, int | float) and not isinstance(one, bool) for one in kinds)
    kinds = natural_order(kinds)
    if numeric and len(kinds) > _FEW_VALUES:
        return _grouped(torch.tensor(values, dtype=torch.float64))
    place = {kind: number for number, kind in enumerate(kinds)}
    return torch.tensor([place[value] for value in values]), tuple(
        f"{one:g}" if isinstance(one, float) else str(one) for one in kinds
    )


def _grouped(numbers: Tensor) -> tuple[Tensor, tuple[str, ...]]:
    """The groups of numbers (N,) from 0, in order, and their ranges: fifths of the trajectories, none of them empty."""
    values, counts = np.unique(numbers.numpy(), return_counts=True)
    kinds, frequent = torch.from_numpy(values), torch.from_numpy(counts) * _GROUPS > len(numbers)
    # A value that holds more than a group would else be both ends of one, with nothing between them.
    rest = numbers[~torch.isin(numbers, kinds[frequent])]
    fifths = max(1, round(_GROUPS * len(rest) / len(numbers)))
    inner = torch.quantile(rest, torch.linspace(0, 1, fifths + 1, dtype=torch.float64))[1:-1]
    behind = kinds[1:][frequent[:-1]]
    ends = torch.from_numpy(np.unique(torch.cat([inner, kinds[frequent], behind]).numpy()))
    there, codes = np.unique(torch.bucketize(numbers, ends, right=True).numpy(), return_inverse=True)
    low, high = torch.cat([kinds[:1], ends])[there].tolist(), torch.cat([ends, kinds[-1:]])[there].tolist()
    alone = set(kinds[frequent].tolist())
    return torch.from_numpy(codes), tuple(
        f"{first:.3g}" if first in alone else f"{first:.3g} to {last:.3g}"
        for first, last in zip(low, high, strict=True)
    )
