"""Limitations: Where does CREST help against attention, and where not?"""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown
from crest.systems import REGIMES as SIMULATED
from crest.systems import Sizes

# Half of the training trajectories: twenty-five regimes must not cost more than the headline.
SIZES = Sizes(train=512)


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


REGIMES = Experiment(
    name="regimes",
    evidence="Limitations",
    summary="Where does CREST help against attention, and where not?",
    show=show,
    runs=grid(
        [{"system": system, "regime": regime} for system, regimes in SIMULATED.items() for regime in regimes],
        [{"sizes": SIZES}],
        seed=range(2),
        readout=["scored_attention", "crest"],
    ),
)
