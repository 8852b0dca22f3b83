"""Records of an experiment in one row per setting: means and deviations over seeds."""

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crest.experiments.record import Record
from crest.experiments.spec import RunSpec
from crest.systems import Sizes
from crest.training import SCHEDULES, Schedule


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spread:
    """Mean and standard deviation over seeds; one value has no deviation."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of these values.

        Example:
            >>> Spread.of([1.0, 3.0]).deviation
            1.4142135623730951
        """
        return cls(
            mean=statistics.fmean(values), deviation=statistics.stdev(values) if len(values) > 1 else None
        )

    def text(self, digits: int) -> str:
        """The mean, and the deviation if there is one.

        Example:
            >>> Spread.of([0.1, 0.3]).text(2)
            '0.20 ± 0.14'
        """
        spread = "" if self.deviation is None else f" ± {self.deviation:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"

    def __str__(self) -> str:
        return self.text(3)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One setting: everything of a spec but its seed."""

    name: str
    found: int
    declared: int
    id: Spread | None
    ood: Spread | None
    credit: Mapping[str, Spread]
    """CiE@1, ECM, Prec@|E| and chance level on the ID split; empty without events."""


def setting(spec: RunSpec) -> str:
    """A setting in words: system, encoder and readout, then what differs from the defaults.

    Example:
        >>> setting(RunSpec(system="gear", readout="crest", readout_options={"budget": 0.1}, seed=1000))
        'gear pointwise crest budget=0.1'
    """
    words = [spec.system, *([spec.regime] if spec.regime != "default" else []), spec.encoder, spec.readout]
    words += [spec.objective] if spec.objective != "mse" else []
    words += [f"keep={spec.keep}"] if spec.keep != "last" else []
    for part in ("system", "encoder", "readout", "objective"):
        options: Mapping[str, Any] = getattr(spec, f"{part}_options")
        words += [f"{key}={value}" for key, value in options.items()]
    words += _changes(spec.sizes, Sizes()) + _changes(spec.training, SCHEDULES[spec.encoder])
    return " ".join(words)


def _changes(value: Sizes | Schedule, usual: Sizes | Schedule) -> list[str]:
    """What differs from the usual, in words."""
    now, then = dataclasses.asdict(value), dataclasses.asdict(usual)
    return [f"{key}={now[key]}" for key in now if now[key] != then[key]]


def rows(runs: Iterable[RunSpec], records: Mapping[str, Record]) -> list[Row]:
    """One row per setting, in the order of the runs.

    Args:
        runs: what was declared.
        records: by id; where some are missing, the row says how many were found.
    """
    groups: dict[str, list[RunSpec]] = {}
    for spec in runs:
        groups.setdefault(spec.setting, []).append(spec)
    return [
        _row(specs, [records[spec.id] for spec in specs if spec.id in records]) for specs in groups.values()
    ]


def _row(specs: Sequence[RunSpec], records: Sequence[Record]) -> Row:
    name = setting(specs[0])
    credit = [record.credit["id"] for record in records if "id" in record.credit]
    if len(credit) not in (0, len(records)):
        raise ValueError(f"{name}: only {len(credit)} of {len(records)} records have credit")
    parts = ("cie", "ecm", "precision", "chance")
    return Row(
        name=name,
        found=len(records),
        declared=len(specs),
        id=Spread.of([record.score.id for record in records]) if records else None,
        ood=Spread.of([record.score.ood for record in records]) if records else None,
        credit={part: Spread.of([getattr(means, part) for means in credit]) for part in parts}
        if credit
        else {},
    )


HEADER = ("setting", "runs", "ID error", "OOD error", "CiE@1 (ID)", "ECM (ID)", "Prec@|E| (ID)", "chance")


def cells(row: Row) -> tuple[str, ...]:
    """A row as text; a dash where there is nothing."""
    credit = [
        f"{row.credit[part].mean:.2f}" if row.credit else "-"
        for part in ("cie", "ecm", "precision", "chance")
    ]
    errors = ["-" if part is None else str(part) for part in (row.id, row.ood)]
    return (row.name, f"{row.found}/{row.declared}", *errors, *credit)
