"""Stronger baselines: Do last state, ERM or group DRO repair a recurrent encoder on the gear?"""

from crest.evidence.cross import CROSS
from crest.evidence.experiment import Experiment, Found
from crest.evidence.seeds import FIVE
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


BASELINES = Experiment(
    name="baselines",
    evidence="Stronger baselines",
    summary="Do last state, ERM or group DRO repair a recurrent encoder on the gear?",
    show=show,
    runs=(
        *(spec for spec in CROSS.runs if spec.system == "gear" and spec.encoder == "gru"),
        *grid(seed=FIVE, system="gear", encoder="gru", readout=["last", "mean"]),
        *grid(seed=FIVE, system="gear", encoder="gru", readout="mean", objective="group_dro"),
    ),
)
