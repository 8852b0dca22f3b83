"""`make demo`: the failure and its repair on a small SG-Drive, on a development seed."""

from crest.lab.evidence.compare import credit, error, percent, stronger_attention
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import FORMS
from crest.lab.evidence.names import named
from crest.lab.evidence.shown import Chart, Panel, Series, Shown, Table
from crest.lab.evidence.teaser import trajectory_panels
from crest.lab.runs.grid import grid
from crest.systems import Sizes

SIZES = Sizes(train=512, id=128, ood=128)


def table(found: Found) -> Table:
    """Errors and credit of each readout; the change is against the form of attention marked *."""
    form = stronger_attention(found)
    rows = []
    for readout in FORMS:
        records = found.of(readout=readout)
        change = ""
        if readout == "crest" and form is not None and records:
            change = percent(records[0].score.ood / found.of(readout=form)[0].score.ood - 1)
        errors = (error(records, "id"), error(records), change)
        where = (credit(records, part) for part in ("cie", "ecm", "chance"))
        rows.append((named(readout) + (" *" if readout == form else ""), *errors, *where))
    return Table(
        name="demo",
        caption=f"SG-Drive, {found.runs[0].sizes.train} training trajectories, one seed; errors in units of the label's "
        "deviation. ID: as in training; OOD: the speed no longer tells the severity. * the form of attention with the lower ID "
        "error: ΔOOD is against it. CiE@1: how often the step with the most credit is an event; ECM: the share of the "
        "credit on events.",
        header=("readout", "ID error", "OOD error", "ΔOOD", "CiE@1", "ECM", "chance"),
        rows=tuple(rows),
    )


def show(found: Found) -> Shown:
    """The table, one trajectory, and the errors."""
    form = stronger_attention(found)
    if form is None or not found.complete():
        return Shown(tables=(table(found),))
    bars = tuple(
        Series(
            name=f"{split.upper()} error",
            x=[named(readout) for readout in FORMS],
            y=[getattr(found.of(readout=readout)[0].score, split) for readout in FORMS],
            look="bars",
            colour=split,
        )
        for split in ("id", "ood")
    )
    panels = trajectory_panels(found.of(readout=form)[0], found.of(readout="crest")[0])
    panels.append(Panel(title="(d) errors", x_label="", y_label="error", series=bars))
    caption = "The first OOD trajectory, its events shaded, and the errors of all three."
    return Shown(tables=(table(found),), charts=(Chart(name="demo", caption=caption, panels=tuple(panels)),))


DEMO = Experiment(
    name="demo",
    evidence="Figure 1, in small",
    summary="A pooled model that looks right and fails when the cue breaks, and CREST in its place.",
    show=show,
    runs=grid([{"measures": ("traces",), "sizes": SIZES}], seed=1000, system="gear", readout=FORMS),
)
