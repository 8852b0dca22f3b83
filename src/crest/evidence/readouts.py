"""Baselines and metrics: How do the other readouts fare, and how far is the reference that sees the events?"""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.seeds import FIVE
from crest.evidence.settings import settings_table
from crest.experiments.grid import grid
from crest.report.shown import Shown


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


READOUTS = Experiment(
    name="readouts",
    evidence="Baselines and metrics",
    summary="How do the other readouts fare, and how far is the reference that sees the events?",
    show=show,
    runs=grid(
        seed=FIVE,
        system=["gear", "impact"],
        readout=["mean", "max", "gated_attention", "registers", "windowed", "conjunctive", "event_window"],
    ),
)
