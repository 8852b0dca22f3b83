"""What `reanchor` returns."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

BudgetChoice: TypeAlias = Literal["pooled", "trajectory"] | float
"""A budget of `CrestReadout`."""


@dataclass(frozen=True, kw_only=True)
class TriedBudget:
    """One budget, with the penalty that does best for it.

    Example:
        >>> TriedBudget(budget=0.1, penalty=0.01, error=0.25).accuracy is None
        True
    """

    budget: BudgetChoice
    penalty: float
    error: float
    """Leave-one-out root mean square error."""
    accuracy: float | None = None
    """Leave-one-out accuracy, for class labels."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Reanchored:
    """Which budget and penalty a model got, and the errors that decided it.

    The model's error before is that of its own predictions to the same trajectories. If it was trained on them, this is its
    training error, and no match for an error with each trajectory left out.

    Example:
        >>> row = TriedBudget(budget=0.1, penalty=0.01, error=0.25)
        >>> Reanchored(chosen=row, tried=(row,), trajectories=32, before=0.4)
        Reanchored on 32 trajectories: budget 0.1, penalty 0.01
                       error  left out
          before       0.400        no
          0.1          0.250       yes
    """

    chosen: TriedBudget
    """The row of `tried` with the lowest error."""
    tried: tuple[TriedBudget, ...]
    """A row for each budget, in the order in which they were given."""
    trajectories: int
    """How many there were."""
    before: float | None
    """Root mean square error of the model's own predictions; None for class labels."""
    accuracy_before: float | None = None
    """Accuracy of the model's own predictions, for class labels."""

    @property
    def budget(self) -> BudgetChoice:
        """The budget that the model has now."""
        return self.chosen.budget

    @property
    def penalty(self) -> float:
        """The penalty that its head was fitted with."""
        return self.chosen.penalty

    @property
    def error(self) -> float:
        """Its leave-one-out root mean square error; for class labels, that of their one-hot form."""
        return self.chosen.error

    @property
    def accuracy(self) -> float | None:
        """Its leave-one-out accuracy, for class labels."""
        return self.chosen.accuracy

    def __repr__(self) -> str:
        head = f"Reanchored on {self.trajectories} trajectories: budget {self.budget}, penalty {self.penalty:.3g}"
        rows = [("before", self.before, self.accuracy_before, "no")]
        rows += [(str(row.budget), row.error, row.accuracy, "yes") for row in self.tried]
        classes = self.accuracy is not None
        lines = [f"{'':<13}{'error':>7}{'  accuracy' if classes else ''}  left out"]
        for name, error, accuracy, left_out in rows:
            share = f"{_shown(accuracy):>10}" if classes else ""
            lines.append(f"  {name:<11}{_shown(error):>7}{share}{left_out:>10}")
        return "\n".join([head, *lines])


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"
