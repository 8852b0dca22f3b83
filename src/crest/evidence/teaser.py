"""Figure 1: Where does each readout read? Trajectories of each system, step by step."""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.main import FORMS
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


TEASER = Experiment(
    name="teaser",
    evidence="Figure 1",
    summary="Where does each readout read? Trajectories of each system, step by step.",
    show=show,
    runs=grid(
        [{"measures": ("traces",)}],
        seed=0,
        system=["gear", "impact", "cwru"],
        readout=["mean", *FORMS, "event_window"],
    ),
)
