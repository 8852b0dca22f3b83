"""Table 1: CREST against both forms of attention on the two simulators."""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.seeds import TEN
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown

FORMS = ["attention", "scored_attention", "crest"]
"""Both forms of attention, and CREST."""


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


MAIN = Experiment(
    name="main",
    evidence="Table 1",
    summary="Does CREST lower the OOD error and restore event credit against converged attention?",
    show=show,
    runs=grid([{"measures": ("deletion", "saliency")}], seed=TEN, system=["gear", "impact"], readout=FORMS),
)
