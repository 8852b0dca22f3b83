"""CWRU bearings, Figure 4: Does CREST help on a real held-out load, and on a bearing never seen?"""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.main import FORMS
from crest.evidence.seeds import FIVE
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


CWRU = Experiment(
    name="cwru",
    evidence="CWRU bearings, Figure 4",
    summary="Does CREST help on a real held-out load, and on a bearing never seen?",
    show=show,
    runs=grid(
        seed=FIVE,
        system="cwru",
        regime=["default", "bearing"],
        readout=["mean", *FORMS, "event_window"],
    ),
)
