"""Experiment: the runs behind one table or figure, as a value; `grid` writes them down."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crest.experiments.spec import RunSpec
from crest.systems import Sizes

# For development: reported results use 0 to 9.
QUICK_SEED = 1000


def grid(*variants: Sequence[Mapping[str, Any]], **axes: Any) -> tuple[RunSpec, ...]:
    """Every combination of the axes, as specs; the last axis varies fastest.

    Args:
        *variants: lists of fields that change together, such as a readout with its options.
        **axes: a field of `RunSpec` each, with one value or a list, tuple or range of them.

    Example:
        >>> runs = grid([{"readout": "mean"}, {"readout": "crest"}], system="gear", seed=range(1000, 1002))
        >>> [(spec.readout, spec.seed) for spec in runs]
        [('mean', 1000), ('mean', 1001), ('crest', 1000), ('crest', 1001)]
    """
    named = [
        [{name: value} for value in (values if isinstance(values, list | tuple | range) else [values])]
        for name, values in axes.items()
    ]
    combinations = itertools.product(*variants, *named)
    return tuple(
        RunSpec(**{key: value for part in parts for key, value in part.items()}) for parts in combinations
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
    """The runs behind one piece of evidence.

    Args:
        name: what `crest run` is told.
        evidence: the paper's table or figure, or the page of the docs that shows it.
        summary: what it asks, in one line.
        runs: the specs; an experiment may share some with another.
    """

    name: str
    evidence: str
    summary: str
    runs: tuple[RunSpec, ...]

    def quick(self) -> "Experiment":
        """The same shape in seconds: the first seed, few trajectories, two epochs. Its numbers mean nothing."""
        first = min(spec.seed for spec in self.runs)
        return dataclasses.replace(self, runs=tuple(_quick(spec) for spec in self.runs if spec.seed == first))


def _quick(spec: RunSpec) -> RunSpec:
    return dataclasses.replace(
        spec,
        seed=QUICK_SEED,
        sizes=Sizes(train=32, id=16, ood=16),
        schedule=dataclasses.replace(spec.training, epochs=2, batch=16),
        observe_every=min(spec.observe_every, 1),
    )


def distinct(experiments: Iterable[Experiment]) -> tuple[RunSpec, ...]:
    """The runs of several experiments, each once, in the order given."""
    return tuple({spec.id: spec for experiment in experiments for spec in experiment.runs}.values())
