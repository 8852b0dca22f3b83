"""Figure 5b: selecting transient steps against selecting stable ones."""

from crest.lab.evidence.bars import both_errors
from crest.lab.evidence.compare import by_seed, credit, error, mean_error, missing, percent, verdict
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import FORMS, SYSTEMS
from crest.lab.evidence.names import SYSTEM_NAMES, named
from crest.lab.evidence.readouts import OTHERS, READOUTS
from crest.lab.evidence.seeds import FIVE
from crest.lab.evidence.shown import Chart, Claim, Panel, Shown, Table
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record

STABLE = {"direction": "stable"}


def _groups(found: Found, system: str) -> dict[str, list[Record]]:
    """Records of every readout of the study; the stable selection last."""
    groups = {
        named(readout): found.of(system=system, readout=readout, readout_options={})
        for readout in [*OTHERS, *FORMS]
    }
    return groups | {"CREST, stable": found.of(system=system, readout="crest", readout_options=STABLE)}


def _claim(found: Found, system: str) -> Claim:
    text = f"Selecting stable steps is the worst configuration of the study on {SYSTEM_NAMES[system]}"
    groups = _groups(found, system)
    if not all(len(records) == len(FIVE) for records in groups.values()):
        return missing(text, "worst")
    errors = {name: mean_error(records) for name, records in groups.items()}
    order = sorted(errors, key=errors.__getitem__, reverse=True)
    place = order.index("CREST, stable") + 1
    result = paired(by_seed(groups["CREST"]), by_seed(groups["CREST, stable"]))
    return Claim(
        text=text,
        paper="worst",
        measured=f"place {place} from the worst of {len(order)}: {errors['CREST, stable']:.3f}, worst {order[0]} "
        f"{errors[order[0]]:.3f}; transient steps {percent(result.change, 1)} against stable ones",
        bar="the highest OOD error of all readouts",
        verdict=verdict(place == 1, result.change < 0 and result.lower == result.seeds),
        seeds=result.seeds,
        p=result.p,
        smallest_p=result.smallest_p,
    )


def show(found: Found) -> Shown:
    """Both directions beside every other readout."""
    rows, panels = [], []
    for system in SYSTEMS:
        groups = {name: records for name, records in _groups(found, system).items() if records}
        for name, records in _groups(found, system).items():
            rows.append(
                (
                    SYSTEM_NAMES[system],
                    name,
                    error(records, "id"),
                    error(records),
                    credit(records, "cie"),
                    f"{len(records)}",
                )
            )
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
                name="direction",
                caption="CREST, stable selects the steps of the smallest residual instead of the largest.",
                header=("system", "readout", "ID", "OOD", "CiE@1", "seeds"),
                rows=tuple(rows),
            ),
        ),
        charts=(
            Chart(name="direction", caption="Errors of every readout of the study.", panels=tuple(panels)),
        ),
        claims=tuple(_claim(found, system) for system in SYSTEMS),
    )


DIRECTION = Experiment(
    name="direction",
    evidence="Figure 5b",
    summary="Is it the transient steps that matter, or would stable ones do?",
    show=show,
    runs=(
        *READOUTS.runs,
        *grid([{"readout_options": STABLE}], seed=FIVE, system=["gear", "impact"], readout="crest"),
    ),
)
