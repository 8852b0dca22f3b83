"""docs/choices.md, schedules: Has every readout converged by the end of the schedule?"""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


CONVERGENCE = Experiment(
    name="convergence",
    evidence="docs/choices.md, schedules",
    summary="Has every readout converged by the end of the schedule?",
    show=show,
    runs=(
        *grid(
            seed=1000,
            system=["gear", "impact"],
            readout=["mean", "attention", "scored_attention", "crest"],
            observe_every=4,
        ),
        *grid(
            seed=1000,
            system=["gear", "impact"],
            encoder=["local", "gru", "attention"],
            readout=["scored_attention", "crest"],
            observe_every=4,
        ),
    ),
)
