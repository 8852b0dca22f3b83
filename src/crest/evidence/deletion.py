"""Figure S1: Are the steps that a readout rates highest those that it uses?"""

from crest.evidence.experiment import Experiment, Found
from crest.evidence.main import MAIN
from crest.evidence.settings import settings_table
from crest.report.shown import Shown


def show(found: Found) -> Shown:
    """The table."""
    return Shown(tables=(settings_table(found),))


DELETION = Experiment(
    name="deletion",
    evidence="Figure S1",
    summary="Are the steps that a readout rates highest those that it uses?",
    show=show,
    runs=MAIN.runs,
)
