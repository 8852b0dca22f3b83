"""Supplement, sample splitting: Does it matter that the noise of a channel may select its own steps?"""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.main import MAIN
from crest.evidence.seeds import FIVE
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


SPLITTING = Experiment(
    name="splitting",
    evidence="Supplement, sample splitting",
    summary="Does it matter that the noise of a channel may select its own steps?",
    show=show,
    runs=(
        *(spec for spec in MAIN.runs if spec.readout == "crest" and spec.seed in FIVE),
        *grid([{"readout_options": {"split": True}}], seed=FIVE, system=["gear", "impact"], readout="crest"),
    ),
)
