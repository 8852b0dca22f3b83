"""The evidence: one file per table or figure, with its runs, its statistics and its figure."""

from crest.evidence.adaptive import ADAPTIVE
from crest.evidence.baselines import BASELINES
from crest.evidence.budget import BUDGET
from crest.evidence.convergence import CONVERGENCE
from crest.evidence.cross import CROSS
from crest.evidence.cwru import CWRU
from crest.evidence.deletion import DELETION
from crest.evidence.direction import DIRECTION
from crest.evidence.dynamics import DYNAMICS
from crest.evidence.experiment import Experiment
from crest.evidence.isolation import ISOLATION
from crest.evidence.main import MAIN
from crest.evidence.readouts import READOUTS
from crest.evidence.regimes import REGIMES
from crest.evidence.splitting import SPLITTING
from crest.evidence.teaser import TEASER
from crest.evidence.theory import THEORY

CATALOG: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        TEASER,
        MAIN,
        CROSS,
        DYNAMICS,
        ISOLATION,
        BUDGET,
        DIRECTION,
        ADAPTIVE,
        READOUTS,
        BASELINES,
        DELETION,
        THEORY,
        SPLITTING,
        CWRU,
        REGIMES,
        CONVERGENCE,
    )
}
"""Experiments by name, in the order of the page."""


def experiments_of(names: list[str]) -> list[Experiment]:
    """The experiments of these names; "all" stands for every one.

    Example:
        >>> [experiment.name for experiment in experiments_of(["main"])]
        ['main']
    """
    choices = [*CATALOG, "all"]
    for name in names:
        if name not in choices:
            raise ValueError(f"name must be one of {', '.join(choices)}, got {name!r}")
    return list(CATALOG.values()) if "all" in names else [CATALOG[name] for name in dict.fromkeys(names)]
