"""Which readouts, systems and seeds the pieces share, and the runs of Table 1 that many of them build on."""

from typing import Any

from crest.lab.runs.combination import HALF_BUDGET, SIGNALS_BUDGET
from crest.lab.runs.grid import grid
from crest.lab.runs.spec import RunSpec

ATTENTION = ("attention", "scored_attention")
"""Both forms of attention: a learned query's dot product, and an MLP's score."""
FORMS = (*ATTENTION, "crest")
"""Both forms of attention, and CREST."""
OTHER_READOUTS = ("mean", "max", "gated_attention", "registers", "windowed", "conjunctive", "event_window")
"""The other readouts that work with a pointwise encoder. The event window sees the events."""
FEW_READOUTS = ("mean", *FORMS, "event_window")
"""One plain readout, those of the headline, and the reference that sees the events."""

OF_SIGNALS = {"budget": SIGNALS_BUDGET}
"""Options of a CREST whose budget is that of its training signals."""
OF_HALF = {"budget": HALF_BUDGET}
"""Options of a CREST that has half of that."""
OF_EACH = {"budget": "trajectory"}
"""Options of a CREST with a budget for each trajectory, as the paper's text has it."""

HEADLINE_SYSTEMS = ("gear", "impact")
STEPS = 512
"""Length of a simulated trajectory."""

SIMULATED_ENCODERS = ("pointwise", "local", "gru", "attention", "cnn")
"""Encoders of the pieces on simulators."""

DEVELOPMENT_SEED = 1000
"""The first seed for trials and for choosing constants. Reported results use the seeds 0 to 9."""
TEN = range(10)
"""Seeds of the headline systems."""
FIVE = range(5)
"""Seeds of most other pieces."""
THREE = range(3)
"""Seeds of grids with many settings, and of encoders that are slower to train."""
ONE = range(1)
"""The seed of the slowest encoders, and of the regimes, which are many."""


def headline_runs(**axes: Any) -> tuple[RunSpec, ...]:
    """The runs of Table 1, or those of them with these values.

    Pieces share these runs, so that no model is trained twice.

    Example:
        >>> len(headline_runs()), len(headline_runs(seed=THREE, readout="crest"))
        (60, 6)
    """
    every: dict[str, Any] = {"seed": TEN, "system": HEADLINE_SYSTEMS, "readout": FORMS}
    return grid([{"measures": ("deletion", "saliency")}], **{**every, **axes})
