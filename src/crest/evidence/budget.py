"""Figure 5: Is the error U-shaped in the budget, and does the adaptive one find the bottom? Which direction?"""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.main import MAIN
from crest.evidence.seeds import FIVE, THREE
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown

BUDGETS = (0.01, 0.03, 0.06, 0.12, 0.25, 0.5)


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


BUDGET = Experiment(
    name="budget",
    evidence="Figure 5",
    summary="Is the error U-shaped in the budget, and does the adaptive one find the bottom? Which direction?",
    show=show,
    runs=(
        *(spec for spec in MAIN.runs if spec.readout == "crest" and spec.seed in FIVE),
        *grid(
            [{"readout_options": {"budget": budget}} for budget in BUDGETS],
            seed=THREE,
            system=["gear", "impact"],
            readout="crest",
        ),
        *grid(
            [{"readout_options": {"direction": "stable"}}],
            seed=FIVE,
            system=["gear", "impact"],
            readout="crest",
        ),
    ),
)
