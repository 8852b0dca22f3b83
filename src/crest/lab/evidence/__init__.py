"""The evidence: one file for each table or figure of the paper, with its runs, its claims and what it shows."""

from collections.abc import Iterable

from crest._base.arguments import require_choice
from crest.lab.evidence.adaptive import ADAPTIVE_EXPERIMENT
from crest.lab.evidence.audited import AUDIT_EXPERIMENT
from crest.lab.evidence.baselines import BASELINES_EXPERIMENT
from crest.lab.evidence.budget import BUDGET_EXPERIMENT
from crest.lab.evidence.calibration import CALIBRATION_EXPERIMENT
from crest.lab.evidence.constants import CONSTANTS_EXPERIMENT
from crest.lab.evidence.convergence import CONVERGENCE_EXPERIMENT
from crest.lab.evidence.cross import CROSS_EXPERIMENT
from crest.lab.evidence.cwru import CWRU_EXPERIMENT
from crest.lab.evidence.deletion import DELETION_EXPERIMENT
from crest.lab.evidence.direction import DIRECTION_EXPERIMENT
from crest.lab.evidence.dynamics import DYNAMICS_EXPERIMENT
from crest.lab.evidence.experiment import Experiment
from crest.lab.evidence.field import FIELD_EXPERIMENT
from crest.lab.evidence.isolation import ISOLATION_EXPERIMENT
from crest.lab.evidence.longer import LONGER_EXPERIMENT
from crest.lab.evidence.main import MAIN_EXPERIMENT
from crest.lab.evidence.nearest import NEAREST_EXPERIMENT
from crest.lab.evidence.readouts import READOUTS_EXPERIMENT
from crest.lab.evidence.regimes import REGIMES_EXPERIMENT
from crest.lab.evidence.remedies import REMEDIES_EXPERIMENT
from crest.lab.evidence.severe import SEVERE_EXPERIMENT
from crest.lab.evidence.splitting import SPLITTING_EXPERIMENT
from crest.lab.evidence.steady import STEADY_EXPERIMENT
from crest.lab.evidence.teaser import TEASER_EXPERIMENT
from crest.lab.evidence.theory import THEORY_EXPERIMENT
from crest.lab.evidence.vibration import VIBRATION_EXPERIMENT

CATALOG: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        FIELD_EXPERIMENT,
        TEASER_EXPERIMENT,
        MAIN_EXPERIMENT,
        CROSS_EXPERIMENT,
        DYNAMICS_EXPERIMENT,
        ISOLATION_EXPERIMENT,
        BUDGET_EXPERIMENT,
        DIRECTION_EXPERIMENT,
        ADAPTIVE_EXPERIMENT,
        READOUTS_EXPERIMENT,
        BASELINES_EXPERIMENT,
        DELETION_EXPERIMENT,
        THEORY_EXPERIMENT,
        SPLITTING_EXPERIMENT,
        CWRU_EXPERIMENT,
        REGIMES_EXPERIMENT,
        SEVERE_EXPERIMENT,
        NEAREST_EXPERIMENT,
        REMEDIES_EXPERIMENT,
        AUDIT_EXPERIMENT,
        VIBRATION_EXPERIMENT,
        CALIBRATION_EXPERIMENT,
        CONVERGENCE_EXPERIMENT,
        CONSTANTS_EXPERIMENT,
        STEADY_EXPERIMENT,
        LONGER_EXPERIMENT,
    )
}
"""Experiments by name, in the order of the page."""


GROUPS: dict[str, tuple[str, ...]] = {
    "paper": (
        "main", "severe", "nearest", "teaser", "cross", "dynamics", "isolation", "budget", "direction", "adaptive", "readouts",
        "baselines", "deletion", "theory", "splitting", "cwru", "regimes",
    ),
    "all": tuple(CATALOG),
}  # fmt: skip
"""Several experiments under one name. "paper" is what the paper's tables, figures and claims need, its headline first."""


def experiments_of(names: list[str]) -> list[Experiment]:
    """The experiments of these names, each once; "paper" and "all" stand for several, in the order of the page.

    Example:
        >>> [experiment.name for experiment in experiments_of(["main"])]
        ['main']
    """
    for name in names:
        require_choice("name", name, [*CATALOG, *GROUPS])
    wanted = {one for name in names for one in GROUPS.get(name, ())}
    if not wanted:
        return [CATALOG[name] for name in dict.fromkeys(names)]
    return [one for name, one in CATALOG.items() if name in wanted or name in names]


def headline_first(chosen: Iterable[Experiment]) -> list[Experiment]:
    """Experiments in the order in which they are run: studies of one's own, the paper's, others, and what takes longest last.

    Example:
        >>> [one.name for one in headline_first(experiments_of(["paper"]))][:2]
        ['main', 'severe']
    """
    last = [name for name in CATALOG if name not in GROUPS["paper"] and name != "field"]
    order = [*GROUPS["paper"], *last, "field"]
    return sorted(chosen, key=lambda one: order.index(one.name) if one.name in order else -1)
