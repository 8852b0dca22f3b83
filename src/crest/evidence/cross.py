"""Figure 4: Does the change in OOD error hold across encoders, and on real bearings?"""

from crest.evidence.cwru import CWRU
from crest.evidence.experiment import Experiment, Found
from crest.evidence.main import FORMS, MAIN
from crest.evidence.seeds import FIVE, THREE
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


CROSS = Experiment(
    name="cross",
    evidence="Figure 4",
    summary="Does the change in OOD error hold across encoders, and on real bearings?",
    show=show,
    runs=(
        *MAIN.runs,
        *grid(seed=FIVE, system=["gear", "impact"], encoder="local", readout=FORMS),
        *grid(seed=FIVE, system="gear", encoder="gru", readout=FORMS),
        *grid(seed=THREE, system="impact", encoder="gru", readout=FORMS),
        *grid(seed=THREE, system=["gear", "impact"], encoder="attention", readout=FORMS),
        *(spec for spec in CWRU.runs if spec.regime == "default" and spec.readout in FORMS),
    ),
)
