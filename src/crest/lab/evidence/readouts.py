"""The other readouts on both simulators, and the reference that sees the events."""

from crest.lab.evidence.bars import both_errors
from crest.lab.evidence.compare import by_seed, credit, error, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import FORMS, MAIN, SYSTEMS
from crest.lab.evidence.names import SYSTEM_NAMES, named
from crest.lab.evidence.seeds import FIVE
from crest.lab.evidence.shown import Chart, Panel, Shown, Table
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid

OTHERS = ["mean", "max", "gated_attention", "registers", "windowed", "conjunctive", "event_window"]
HEADER = (
    "system",
    "readout",
    "ID",
    "OOD",
    "CREST against it",
    "p",
    "CiE@1",
    "ECM",
    "Prec@|E|",
    "chance",
    "seeds",
)


def _table(found: Found) -> Table:
    lines = []
    for system in SYSTEMS:
        crest = found.of(system=system, readout="crest")
        for readout in [*OTHERS, *FORMS]:
            records = found.of(system=system, readout=readout)
            change, p = "", ""
            if readout != "crest" and records and by_seed(records).keys() == by_seed(crest).keys():
                result = paired(by_seed(crest), by_seed(records))
                change, p = percent(result.change), f"{result.p:.3f}"
            lines.append(
                (
                    SYSTEM_NAMES[system],
                    named(readout),
                    error(records, "id"),
                    error(records),
                    change,
                    p,
                    *(credit(records, part) for part in ("cie", "ecm", "precision", "chance")),
                    f"{len(records)}/{len(found.declared(system=system, readout=readout))}",
                )
            )
    return Table(
        name="readouts",
        caption="The same five seeds for every readout. CREST against it: relative change of the mean OOD error, "
        "one-sided paired signed-rank p; the smallest that five seeds can give is 0.031.",
        header=HEADER,
        rows=tuple(lines),
    )


def _chart(found: Found) -> Chart:
    panels = []
    for system in SYSTEMS:
        every = {name: found.of(system=system, readout=name) for name in [*OTHERS, *FORMS]}
        there = {name: records for name, records in every.items() if records}
        groups = {named(name): records for name, records in there.items()}
        panels.append(
            Panel(title=SYSTEM_NAMES[system], x_label="", y_label="error", series=both_errors(groups))
        )
    return Chart(name="errors", caption="Errors of every readout.", panels=tuple(panels))


def show(found: Found) -> Shown:
    """The table and the errors."""
    note = (
        "The event window averages features over the annotated steps: it knows where the events are, but not how to take "
        "away what load or drift add to them, as a contrast with the rest does. It is a reference for the place, no upper bound."
    )
    return Shown(tables=(_table(found),), charts=(_chart(found),), notes=(note,))


READOUTS = Experiment(
    name="readouts",
    evidence="Baselines and metrics",
    summary="How do the other readouts fare, and how far is the reference that sees the events?",
    show=show,
    runs=(
        *grid(seed=FIVE, system=["gear", "impact"], readout=OTHERS),
        *(spec for spec in MAIN.runs if spec.seed in FIVE),
    ),
)
