"""Experiment: the runs and studies behind a table or figure, and the function that makes it from their results."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from crest.lab.evidence.settings import DEVELOPMENT_SEED
from crest.lab.evidence.shown import Piece, Shown
from crest.lab.evidence.stats import Number
from crest.lab.evidence.trial import as_trial
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from crest.lab.runs.study import Study
from crest.lab.systems import Sizes


class Found:
    """The records that an experiment has so far.

    Args:
        runs: what was declared.
        records: by id. Records of other experiments are ignored.
        studies: results of the experiment's studies so far, by name.
    """

    def __init__(
        self, runs: Iterable[RunSpec], records: Mapping[str, Record], studies: Mapping[str, Any]
    ) -> None:
        self.runs = tuple(runs)
        self.records = {spec.id: records[spec.id] for spec in self.runs if spec.id in records}
        self.studies = studies

    def __len__(self) -> int:
        return len(self.records)

    def of(self, **fields: Any) -> list[Record]:
        """The records whose spec has these fields, by seed: `found.of(system="gear", readout="crest")`.

        The fields must name one setting, because a mean over two settings would mean nothing.
        """
        declared = self.declared(**fields)
        settings = {spec.setting for spec in declared}
        if len(settings) > 1:
            raise ValueError(f"fields must name one setting, got {len(settings)} for {fields}")
        # A run that two experiments measure in different ways counts once.
        records = {spec.seed: self.records[spec.id] for spec in declared if spec.id in self.records}
        return [records[seed] for seed in sorted(records)]

    def declared(self, **fields: Any) -> list[RunSpec]:
        """The declared runs with these fields."""
        return [
            spec for spec in self.runs if all(getattr(spec, name) == value for name, value in fields.items())
        ]

    def part(self, runs: Iterable[RunSpec]) -> "Found":
        """Of what was found, only these runs: for an experiment with several settings that share fields."""
        return Found(runs, self.records, self.studies)

    def count(self, **fields: Any) -> Number:
        """How many of the declared runs with these fields are there: 7/10."""
        found = len(self.of(**fields))
        return Number(f"{found}/{len(self.declared(**fields))}", found)

    def complete(self, **fields: Any) -> bool:
        """Whether runs with these fields are declared and every one of them is there."""
        declared = self.declared(**fields)
        return bool(declared) and all(spec.id in self.records for spec in declared)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
    """A piece of evidence.

    Args:
        name: what `crest run` is told.
        evidence: the paper's table or figure, or the page of the docs that shows it.
        summary: what it asks, in one line.
        show: makes tables, charts and claims of what was found.
        runs: the specs; two experiments may share some.
        studies: what it computes without training.
        trial: whether the runs are those of a trial, whose numbers mean nothing.
        called: what `crest run` is told if that is not the name: the file of a study.
        check: called before anything is trained; it raises if training would be in vain, and returns what is worth saying.
    """

    name: str
    evidence: str
    summary: str
    show: Callable[[Found], Shown]
    runs: tuple[RunSpec, ...] = ()
    studies: tuple[Study, ...] = ()
    trial: bool = False
    called: str = ""
    check: Callable[[], str] = str

    def quick(self) -> "Experiment":
        """The experiment as a trial: one seed, few trajectories, two epochs, in seconds. Its studies stay as they are."""
        first = min((spec.seed for spec in self.runs), default=0)
        # All trials have one short schedule, so runs that differ in nothing else become one.
        runs = dict.fromkeys(_quick(spec) for spec in self.runs if spec.seed == first)
        return dataclasses.replace(self, runs=tuple(runs), trial=bool(runs))

    def piece(self, store: Store) -> Piece:
        """What the store's records show so far. It reads records and trains nothing."""
        there = store.ids()
        records = {spec.id: store.record(spec) for spec in self.runs if spec.id in there}
        studies = {study.name: study.read(store.folder) for study in self.studies if study.done(store.folder)}
        return Piece(
            name=self.name,
            evidence=self.evidence,
            summary=self.summary,
            found=len(records) + len(studies),
            declared=len(self.runs) + len(self.studies),
            command=f"crest run {self.called or self.name}{' --quick' if self.trial else ''}",
            shown=self._shown(records, studies),
        )

    def _shown(self, records: Mapping[str, Record], studies: Mapping[str, Any]) -> Shown:
        shown = self.show(Found(self.runs, records, studies))
        return as_trial(shown, self.show(Found(self.runs, {}, studies)).claims) if self.trial else shown


def _quick(spec: RunSpec) -> RunSpec:
    return dataclasses.replace(
        spec,
        seed=DEVELOPMENT_SEED,
        sizes=Sizes(train=32, id=16, ood=16),
        schedule=dataclasses.replace(spec.training, epochs=2, batch=16),
        observe_every=min(spec.observe_every, 1),
    )


def distinct(experiments: Iterable[Experiment]) -> tuple[RunSpec, ...]:
    """The runs of several experiments, each once, in the order given."""
    return tuple({spec.id: spec for experiment in experiments for spec in experiment.runs}.values())
