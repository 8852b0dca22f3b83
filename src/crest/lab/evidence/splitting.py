"""Sample splitting: each half of the channels is pooled over the steps that the other half selects."""

from crest.lab.evidence.compare import by_seed, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import shown_by_system
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import HEADLINE_SYSTEMS, THREE, headline_runs
from crest.lab.evidence.shown import Claim
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record

_SPLIT = {"split": True}


def _groups(found: Found, system: str) -> dict[str, list[Record]]:
    return {
        "plain selector": found.of(system=system, readout_options={}),
        "sample splitting": found.of(system=system, readout_options=_SPLIT),
    }


def _claim(found: Found, system: str) -> Claim:
    claim = Claim(
        text=f"Sample splitting leaves the OOD error of CREST on {named(system)} as it is, within 10 %",
        paper="reduces the dependence (Supplement)",
    )
    if not found.complete(system=system):
        return claim
    plain, split = map(by_seed, _groups(found, system).values())
    result = paired(split, plain)
    return claim.judged(
        f"{percent(result.change, 1)}, lower on {result.lower} of {result.seeds}",
        holds=abs(result.change) <= 0.1,
        partly=result.change <= 0.1,
        bar="a change of at most 10 %",
        test=result,
    )


SPLITTING_EXPERIMENT = Experiment(
    name="splitting",
    evidence="Supplement, sample splitting",
    summary="Does it matter that the noise of a channel may select its own steps?",
    show=shown_by_system(
        "splitting",
        groups=_groups,
        header=("system", "selector", "ID", "OOD", "CiE@1", "ECM", "seeds"),
        caption="The plain selector lets a channel's noise choose its own steps; splitting does not.",
        chart_caption="Errors of both selectors.",
        claim=_claim,
    ),
    runs=(
        *headline_runs(seed=THREE, readout="crest"),
        *grid([{"readout_options": _SPLIT}], seed=THREE, system=HEADLINE_SYSTEMS, readout="crest"),
    ),
)
