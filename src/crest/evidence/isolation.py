"""Figure 3: Is it the missing supervision, or the reach of the aggregation?"""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.main import MAIN
from crest.evidence.seeds import FIVE
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown

WEIGHTS = (0.01, 0.1, 1.0)
WINDOWS = (8, 32, 128, 256)


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


ISOLATION = Experiment(
    name="isolation",
    evidence="Figure 3",
    summary="Is it the missing supervision, or the reach of the aggregation?",
    show=show,
    runs=(
        *(
            spec
            for spec in MAIN.runs
            if spec.system == "gear" and spec.seed in FIVE and spec.readout != "crest"
        ),
        *grid(
            [{"objective_options": {"weight": weight}} for weight in WEIGHTS],
            seed=FIVE,
            system="gear",
            readout="scored_attention",
            objective="event_auxiliary",
        ),
        *grid(
            [{"readout_options": {"window": window}} for window in WINDOWS],
            seed=FIVE,
            system="gear",
            readout="windowed",
        ),
    ),
)
