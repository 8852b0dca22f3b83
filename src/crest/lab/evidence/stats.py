"""Statistics over seeds: mean and standard deviation of a setting, and the paired comparison of two."""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence

from scipy.stats import wilcoxon


class Number(str):
    """A number as a table shows it; `value` is the number itself, so that no code reads it out of the text. Words have none, NaN."""

    value: float

    def __new__(cls, text: str, value: float = math.nan) -> "Number":
        """The text, with its number."""
        made = super().__new__(cls, text)
        made.value = value
        return made


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spread:
    """Mean and standard deviation over seeds; one value has no standard deviation."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Mean and standard deviation of these values.

        Example:
            >>> Spread.of([1.0, 3.0]).deviation
            1.4142135623730951
        """
        return cls(
            mean=statistics.fmean(values), deviation=statistics.stdev(values) if len(values) > 1 else None
        )

    def text(self, digits: int) -> Number:
        """The mean, and the standard deviation if there is one; its number is the mean.

        Example:
            >>> Spread.of([0.1, 0.3]).text(2)
            '0.20 ± 0.14'
        """
        spread = "" if self.deviation is None else f" ± {self.deviation:.{digits}f}"
        return Number(f"{self.mean:.{digits}f}{spread}", self.mean)

    def __str__(self) -> str:
        return self.text(3)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Paired:
    """How much lower a setting's errors are than a baseline's on the same seeds."""

    seeds: int
    change: float
    """Relative change of the mean: -0.3 is 30 % below the baseline."""
    lower: int
    """Seeds on which the setting is below the baseline."""
    p: float
    """One-sided signed-rank test (Wilcoxon, exact) of lower errors."""
    smallest_p: float
    """The smallest p that this many seeds can give: 2**-seeds."""

    def reaches(self, bar: float) -> bool:
        """Whether the mean changed by at least `bar` (-0.29 for 29 % lower), and every seed in that direction.

        Example:
            >>> paired({0: 0.2, 1: 0.3}, {0: 0.4, 1: 0.5}).reaches(-0.4)
            True
        """
        return self.change <= bar and self.lower == self.seeds


def paired(errors: Mapping[int, float], baseline: Mapping[int, float]) -> Paired:
    """How errors by seed compare with a baseline's.

    Args:
        errors: by seed.
        baseline: by seed, the same seeds.

    Example:
        >>> found = paired({0: 0.2, 1: 0.3, 2: 0.4}, {0: 0.4, 1: 0.5, 2: 0.9})
        >>> round(found.change, 3), found.lower, found.p == found.smallest_p == 0.125
        (-0.5, 3, True)
    """
    if set(errors) != set(baseline) or not errors:
        raise ValueError(
            f"errors and baseline must have the same seeds, got {sorted(errors)} and {sorted(baseline)}"
        )
    seeds = sorted(errors)
    differences = [errors[seed] - baseline[seed] for seed in seeds]
    # Two settings that agree on every seed leave nothing to rank.
    p = (
        1.0
        if not any(differences)
        else float(wilcoxon(differences, alternative="less", method="exact").pvalue)
    )
    return Paired(
        seeds=len(seeds),
        change=statistics.fmean(errors.values()) / statistics.fmean(baseline.values()) - 1,
        lower=sum(difference < 0 for difference in differences),
        p=p,
        smallest_p=2.0 ** -len(seeds),
    )
