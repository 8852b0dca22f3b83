"""Where a model of a study stands: its records, seed by seed, and what they say."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from crest.lab.evidence.experiment import Found
from crest.lab.evidence.names import ENCODER_NAMES, named
from crest.lab.evidence.remedy_runs import REANCHORED, ModelOutcome, mean_of
from crest.lab.runs.record import ReanchoredScore, Record
from crest.remedies import CONTROL


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Contender:
    """One encoder with a readout, a front and a remedy."""

    encoder: str
    readout: str
    front: str = CONTROL
    """A name of `crest.remedies.REMEDIES`, the control if the model has no front of its own."""
    remedy: str
    """A name of `crest.remedies.REMEDIES`."""
    fields: Mapping[str, Any]
    """Fields of its runs."""

    @property
    def place(self) -> str:
        """The encoder in words."""
        return ENCODER_NAMES.get(self.encoder, self.encoder)

    @property
    def name(self) -> str:
        """Readout, front and remedy in words."""
        return " + ".join(
            [named(self.readout), *(one for one in (self.front, self.remedy) if one != CONTROL)]
        )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Standing:
    """A contender with its records, seed by seed, and how many were declared."""

    contender: Contender
    records: Sequence[Record]
    declared: int

    @property
    def sources(self) -> dict[int, Record | ReanchoredScore]:
        """What was measured of the model by seed: the record, or its part about the re-anchored model."""
        found = {}
        for record in self.records:
            source = record.reanchored if self.contender.remedy == REANCHORED else record
            if source is not None:
                found[record.spec.seed] = source
        return found

    @property
    def outcomes(self) -> dict[int, ModelOutcome]:
        """Errors and shares by seed."""
        return {
            seed: ModelOutcome(id=source.score.id, ood=source.score.ood, shares=source.spectral)
            for seed, source in self.sources.items()
            if source.spectral is not None
        }

    @property
    def mean(self) -> ModelOutcome:
        """Errors and shares over seeds."""
        return mean_of(self.outcomes)

    @property
    def credit(self) -> list[tuple[float, float]]:
        """CiE@1 beside chance on the ID windows, of each seed; none if the events are not known, or after re-anchoring."""
        if self.contender.remedy == REANCHORED:
            return []
        means = [record.credit["id"] for record in self.records if "id" in record.credit]
        return [(one.cie, one.chance) for one in means]

    @property
    def worst(self) -> list[float]:
        """The largest OOD error over label x condition, of each seed that has it."""
        return [source.worst for source in self.sources.values() if source.worst is not None]

    def under(self, split: str, condition: str) -> list[float]:
        """The error under a condition on the ID or the OOD windows, of each seed that has it."""
        found = (source.conditions.get(split, {}).get(condition) for source in self.sources.values())
        return [one for one in found if one is not None]


def standing_of(found: Found, contender: Contender) -> Standing:
    """Where a contender stands by what was found."""
    fields = dict(contender.fields)
    for name in ("remedy", "front"):
        fields.setdefault(name, "none")
    for name in ("remedy_options", "front_options", "readout_options", "encoder_options"):
        fields.setdefault(name, {})
    # Not by `found.of`: a trial has other sizes and another schedule.
    shared = {name: value for name, value in fields.items() if name not in ("sizes", "schedule")}
    declared = found.declared(**shared)
    records = [found.records[spec.id] for spec in declared if spec.id in found.records]
    return Standing(
        contender=contender,
        records=sorted(records, key=lambda record: record.spec.seed),
        declared=len(declared),
    )
