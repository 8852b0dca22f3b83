"""Sample splitting: each half of the channels is pooled over the steps that the other half selects."""

from crest.lab.evidence.bars import both_errors
from crest.lab.evidence.compare import by_seed, credit, error, missing, percent, verdict
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import MAIN, SYSTEMS
from crest.lab.evidence.names import SYSTEM_NAMES
from crest.lab.evidence.seeds import THREE
from crest.lab.evidence.shown import Chart, Claim, Panel, Shown, Table
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record

SPLIT = {"split": True}
NAMES = {"plain selector": {}, "sample splitting": SPLIT}
PAPER = "reduces the dependence (Supplement)"


def _groups(found: Found, system: str) -> dict[str, list[Record]]:
    return {name: found.of(system=system, readout_options=options) for name, options in NAMES.items()}


def _claim(found: Found, system: str) -> Claim:
    text = f"Sample splitting leaves the OOD error of CREST on {SYSTEM_NAMES[system]} as it is, within 10 %"
    groups = _groups(found, system)
    if not all(len(records) == len(THREE) for records in groups.values()):
        return missing(text, PAPER)
    result = paired(by_seed(groups["sample splitting"]), by_seed(groups["plain selector"]))
    return Claim(
        text=text,
        paper=PAPER,
        measured=f"{percent(result.change, 1)}, lower on {result.lower} of {result.seeds}",
        bar="a change of at most 10 %",
        verdict=verdict(abs(result.change) <= 0.1, result.change <= 0.1),
        seeds=result.seeds,
        p=result.p,
        smallest_p=result.smallest_p,
    )


def show(found: Found) -> Shown:
    """Both selectors on both systems."""
    rows, panels = [], []
    for system in SYSTEMS:
        groups = {name: records for name, records in _groups(found, system).items() if records}
        for name, records in groups.items():
            parts = (error(records, "id"), error(records), credit(records, "cie"), credit(records, "ecm"))
            rows.append((SYSTEM_NAMES[system], name, *parts, f"{len(records)}"))
        panels.append(
            Panel(
                title=SYSTEM_NAMES[system],
                x_label="",
                y_label="error",
                series=both_errors(groups),
            )
        )
    return Shown(
        tables=(
            Table(
                name="splitting",
                caption="The plain selector lets a channel's noise choose its own steps; splitting does not.",
                header=("system", "selector", "ID", "OOD", "CiE@1", "ECM", "seeds"),
                rows=tuple(rows),
            ),
        ),
        charts=(Chart(name="splitting", caption="Errors of both selectors.", panels=tuple(panels)),),
        claims=tuple(_claim(found, system) for system in SYSTEMS),
    )


SPLITTING = Experiment(
    name="splitting",
    evidence="Supplement, sample splitting",
    summary="Does it matter that the noise of a channel may select its own steps?",
    show=show,
    runs=(
        *(spec for spec in MAIN.runs if spec.readout == "crest" and spec.seed in THREE),
        *grid([{"readout_options": SPLIT}], seed=THREE, system=["gear", "impact"], readout="crest"),
    ),
)
