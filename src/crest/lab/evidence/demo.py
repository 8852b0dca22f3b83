"""`make demo`: the failure and its repair on a small SG-Drive, on a development seed."""

import dataclasses

from crest.lab.evidence.compare import contest, percent, stronger_attention
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import RECORD_COLUMNS, by_readout, error_panel, errors_of, grouped_table
from crest.lab.evidence.settings import DEVELOPMENT_SEED, FORMS
from crest.lab.evidence.shown import Chart, Panel, Shown, Table
from crest.lab.evidence.teaser import trajectory_panels
from crest.lab.runs.grid import grid
from crest.systems import Sizes


def _table(found: Found) -> Table:
    """Errors and credit of each readout; the change is against the form of attention that has a star."""
    duel = contest(found)
    return grouped_table(
        "demo",
        f"SG-Drive, {found.runs[0].sizes.train} training trajectories, one seed; errors in units of the label's "
        "deviation. ID: as in training; OOD: the speed no longer tells the severity. * the form of attention with the lower ID "
        "error: ΔOOD is against it. CiE@1: how often the step with the most credit is an event; ECM: the share of the "
        "credit on events.",
        ("readout", "ID error", "OOD error", "ΔOOD", "CiE@1", "ECM", "chance"),
        {(form,): records for form, records in by_readout(found).items()},
        {**RECORD_COLUMNS, "ID error": RECORD_COLUMNS["ID"], "OOD error": RECORD_COLUMNS["OOD"]},
        extra={"ΔOOD": {} if duel is None else {("crest",): percent(duel.ood.change)}},
        starred=[(stronger_attention(found) or "",)],
    )


def _errors(found: Found) -> Panel:
    """Errors of the one seed. One value has no deviation, so the bars have no whiskers."""
    panel = error_panel("(d) errors", errors_of(by_readout(found)))
    return dataclasses.replace(
        panel, series=tuple(dataclasses.replace(series, spread=None) for series in panel.series)
    )


def _show(found: Found) -> Shown:
    duel = contest(found)
    if duel is None:
        return Shown(tables=(_table(found),))
    chart = Chart(
        name="demo",
        caption="The first OOD trajectory, its events shaded, and the errors of all three.",
        panels=(*trajectory_panels(duel.attention[0], duel.crest[0]), _errors(found)),
    )
    return Shown(tables=(_table(found),), charts=(chart,))


DEMO_EXPERIMENT = Experiment(
    name="demo",
    evidence="Figure 1, in small",
    summary="A pooled model that looks right and fails when the cue breaks, and CREST in its place.",
    show=_show,
    runs=grid(
        [{"measures": ("traces",), "sizes": Sizes(train=512, id=128, ood=128)}],
        seed=DEVELOPMENT_SEED,
        system="gear",
        readout=FORMS,
    ),
)
