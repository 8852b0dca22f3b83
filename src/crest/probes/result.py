"""What the credit probe returns."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from crest._base.arrays import PerTrajectory, StepScores
from crest._base.fragment import FindingMark, finding, table

# The order in which the paper's figures show them; CiE@1 is the one that carries the chance level.
LABELS = {"cie": "CiE@1", "precision": "Prec@|E|", "ecm": "ECM"}


@dataclass(frozen=True, kw_only=True)
class CreditMeans:
    """Averages of a `Credit` over the trajectories that have an event step, as plain numbers.

    Example:
        >>> CreditMeans(cie=1.0, ecm=0.5, precision=0.75, chance=0.25, counted=8, without_events=2).ecm
        0.5
    """

    cie: float
    ecm: float
    precision: float
    chance: float
    counted: int
    """Trajectories with events: those that the averages are over."""
    without_events: int
    """Trajectories without, which have no credit."""


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

    def _mean(self, values: PerTrajectory, dtype: torch.dtype = torch.float64) -> float:
        return values[self.counted].cpu().to(dtype).mean().item()

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

    def averages(self, dtype: torch.dtype = torch.float64) -> CreditMeans | None:
        """The averages and what they are over, as plain numbers; None if no trajectory has an event.

        Args:
            dtype: what the averages are added up in.
        """
        if not self.counted.any():
            return None
        return CreditMeans(
            cie=self._mean(self.cie, dtype),
            ecm=self._mean(self.ecm, dtype),
            precision=self._mean(self.precision, dtype),
            chance=self._mean(self.chance, dtype),
            counted=self.n_trajectories - self.n_without_events,
            without_events=self.n_without_events,
        )

    @classmethod
    def joined(cls, parts: Iterable["Credit"]) -> "Credit":
        """One credit of the trajectories of all parts, in their order: what batches are measured by.

        Batches that were padded to different lengths are padded to the longest: their scores are 0 there.

        Example:
            >>> score, row, counted = torch.ones(1, 2), torch.tensor([0.5]), torch.tensor([True])
            >>> part = Credit(score, score, row, row, row, row, counted)
            >>> Credit.joined([part, part]).n_trajectories
            2
        """
        parts = list(parts)
        if not parts:
            raise ValueError("parts must hold the credit of at least one batch, got none")
        steps = max(part.scores.shape[1] for part in parts)

        def column(name: str) -> Tensor:
            values: list[Tensor] = [getattr(part, name) for part in parts]
            if values[0].ndim == 1:
                return torch.cat(values)
            return torch.cat([torch.nn.functional.pad(rows, (0, steps - rows.shape[1])) for rows in values])

        return cls(**{field.name: column(field.name) for field in fields(cls)})

    def _repr_html_(self) -> str:
        """What notebooks show: green if all three lie above chance, red if none does."""
        head, _, rest = repr(self).partition("\n")
        if not rest:
            return finding(head, "doubt")
        means = self.mean
        above = sum(means[key] > means["chance"] for key in LABELS)
        rows = [[label, f"{means[key]:.3f}", f"{means['chance']:.3f}"] for key, label in LABELS.items()]
        mark: FindingMark = "good" if above == len(LABELS) else "doubt" if above else "bad"
        where = {"good": "above chance", "doubt": "partly above chance", "bad": "not above chance"}[mark]
        return finding(f"{head}: {where}", mark, parts=[table(["", "mean", "chance"], rows)])

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
