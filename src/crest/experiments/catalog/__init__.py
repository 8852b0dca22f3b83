"""The catalog: one file per table or figure. To add one: a file, a line here."""

from crest.experiments.catalog.convergence import CONVERGENCE
from crest.experiments.catalog.main import MAIN
from crest.experiments.experiment import Experiment

CATALOG: dict[str, Experiment] = {experiment.name: experiment for experiment in (MAIN, CONVERGENCE)}
"""Experiments by name."""


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
