"""The evidence: one file per table or figure, with its runs, its statistics and its figure."""

from crest.lab.evidence.adaptive import ADAPTIVE
from crest.lab.evidence.baselines import BASELINES
from crest.lab.evidence.budget import BUDGET
from crest.lab.evidence.convergence import CONVERGENCE
from crest.lab.evidence.cross import CROSS
from crest.lab.evidence.cwru import CWRU
from crest.lab.evidence.deletion import DELETION
from crest.lab.evidence.direction import DIRECTION
from crest.lab.evidence.dynamics import DYNAMICS
from crest.lab.evidence.experiment import Experiment
from crest.lab.evidence.isolation import ISOLATION
from crest.lab.evidence.main import MAIN
from crest.lab.evidence.readouts import READOUTS
from crest.lab.evidence.regimes import REGIMES
from crest.lab.evidence.splitting import SPLITTING
from crest.lab.evidence.teaser import TEASER
from crest.lab.evidence.theory import THEORY

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
