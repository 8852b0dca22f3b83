"""What the credit probe returns."""

from dataclasses import dataclass

import torch
from torch import Tensor

from crest.arrays import PerTrajectory, StepScores

# The order in which the paper's figures show them; CiE@1 is the one that carries the chance level.
LABELS = {"cie": "CiE@1", "precision": "Prec@|E|", "ecm": "ECM"}


@dataclass(frozen=True, eq=False, repr=False)
class Credit:
    """Credit of each trajectory, and averages over the trajectories that have an event step.

    A trajectory without a valid event step has no ECM, Prec@|E| or CiE@1: those entries and its chance
    level are NaN, `counted` is False there, and the averages leave it out.

    Attributes:
        scores: s_t, 0 on padded steps.
        positive: c_t, 0 on padded steps.
        ecm: Event credit mass.
        precision: Prec@|E|.
        cie: CiE@1.
        chance: Event fraction `|E| / T`, what each of the three gives when the scores are all alike.
        counted: (B,), True where the trajectory has an event step.

    Example:
        >>> one, nan = torch.ones(2, 3), float("nan")
        >>> row = torch.tensor([0.5, nan])
        >>> credit = Credit(one, one, row, row, row, row, torch.tensor([True, False]))
        >>> credit.mean_cie, credit.n_without_events
        (0.5, 1)
    """

    scores: StepScores
    positive: StepScores
    ecm: PerTrajectory
    precision: PerTrajectory
    cie: PerTrajectory
    chance: PerTrajectory
    counted: Tensor

    @property
    def n_trajectories(self) -> int:
        """Number of trajectories, those without events included."""
        return len(self.counted)

    @property
    def n_without_events(self) -> int:
        """Number of trajectories that the averages leave out."""
        return self.n_trajectories - int(self.counted.sum())

    def _mean(self, values: PerTrajectory) -> float:
        return values[self.counted].cpu().to(torch.float64).mean().item()

    @property
    def mean_ecm(self) -> float:
        """Average event credit mass; NaN if no trajectory has an event."""
        return self._mean(self.ecm)

    @property
    def mean_precision(self) -> float:
        """Average Prec@|E|; NaN if no trajectory has an event."""
        return self._mean(self.precision)

    @property
    def mean_cie(self) -> float:
        """Average CiE@1; NaN if no trajectory has an event."""
        return self._mean(self.cie)

    @property
    def mean_chance(self) -> float:
        """Average event fraction over the same trajectories; NaN if none has an event."""
        return self._mean(self.chance)

    @property
    def mean(self) -> dict[str, float]:
        """The four averages by name, under the keys that `CreditInEvent.compute` uses."""
        return {
            "ecm": self.mean_ecm,
            "precision": self.mean_precision,
            "cie": self.mean_cie,
            "chance": self.mean_chance,
        }

    def __repr__(self) -> str:
        total, without = self.n_trajectories, self.n_without_events
        head = f"Credit of {total} {'trajectory' if total == 1 else 'trajectories'}"
        if without == total:
            return f"{head}, none with an event step: the averages are undefined (NaN)"
        if without:
            head += f", {without} without an event step left out"
        means = self.mean
        rows = [f"  {label:<8}  {means[key]:.3f}   {means['chance']:.3f}" for key, label in LABELS.items()]
        return "\n".join([head, f"{'':<12}{'mean':>5}{'chance':>8}", *rows])
