"""Figure 6: Does estimating the core matter, against Otsu's tail, the best fixed budget and the annotation?"""

from crest.evidence.budget import BUDGET
from crest.evidence.experiment import Experiment, Found
from crest.evidence.readouts import READOUTS
from crest.evidence.seeds import FIVE
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown

# The gate is open whatever the width: Otsu's tail alone is the budget.
OTSU = {"gate_start": -1.0}


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


ADAPTIVE = Experiment(
    name="adaptive",
    evidence="Figure 6",
    summary="Does estimating the core matter, against Otsu's tail, the best fixed budget and the annotation?",
    show=show,
    runs=(
        *(spec for spec in BUDGET.runs if spec.readout_options.get("direction") != "stable"),
        *(spec for spec in READOUTS.runs if spec.readout == "event_window"),
        *grid([{"readout_options": {"config": OTSU}}], seed=FIVE, system=["gear", "impact"], readout="crest"),
    ),
)
