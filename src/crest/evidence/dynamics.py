"""Figure 2: What happens to event credit while attention learns?"""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.seeds import FIVE
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


DYNAMICS = Experiment(
    name="dynamics",
    evidence="Figure 2",
    summary="What happens to event credit while attention learns?",
    show=show,
    runs=grid(seed=FIVE, system="gear", readout=["attention", "scored_attention"], observe_every=4),
)
