"""What a trial shows: the same tables and charts, without what a reader could take for a result.

A trial (`--quick`) sends two epochs on 32 trajectories through all the code. Its errors show that the machinery works;
a verdict or a relative change computed from them would look like a finding.
"""

import dataclasses
from collections.abc import Sequence

from crest._pages.panels import FindingLine, FirstScreen
from crest.lab.evidence.shown import Chart, Claim, Comparison, Shown, Table

TRIAL_NOTE = "A trial: one seed, 32 trajectories, two epochs. Its numbers mean nothing."
_FIRST = FirstScreen(
    findings=(
        FindingLine(
            mark="doubt", word="no finding", sentence=TRIAL_NOTE, todo="Run the study without --quick."
        ),
    )
)


def as_trial(shown: Shown, claims: Sequence[Claim]) -> Shown:
    """The tables and charts of a trial without comparisons, and claims without verdicts on its runs.

    Args:
        shown: what the piece makes of the trial's records.
        claims: what the piece claims without any record: verdicts among them rest on studies, which are the same in
            a trial, and stay.

    Example:
        >>> claim = Claim(text="CREST errs less", paper="0.29")
        >>> trial = as_trial(Shown(claims=(claim.judged("0.1", holds=True, partly=True),)), [claim])
        >>> trial.claims[0].verdict, trial.claims[0].measured
        ('not measured', 'a trial')
    """
    charts = (_without_comparisons(chart) for chart in shown.charts)
    return Shown(
        headline=TRIAL_NOTE if shown.headline else "",
        first=None if shown.first is None else _FIRST,
        tables=tuple(_masked(table) for table in shown.tables),
        charts=tuple(chart for chart in charts if chart.panels),
        claims=tuple(
            dataclasses.replace(claim, measured="a trial") if claim.verdict == "not measured" else claim
            for claim in claims
        ),
        notes=(TRIAL_NOTE, *shown.notes),
    )


def _masked(table: Table) -> Table:
    rows = (tuple("trial" if isinstance(cell, Comparison) else cell for cell in row) for row in table.rows)
    return dataclasses.replace(table, rows=tuple(rows))


def _without_comparisons(chart: Chart) -> Chart:
    """The panels whose axis is not in per cent; hover texts may hold changes and are left out."""
    panels = (
        dataclasses.replace(
            panel, series=tuple(dataclasses.replace(series, hover=None) for series in panel.series)
        )
        for panel in chart.panels
        if not panel.y_label.endswith("%")
    )
    return dataclasses.replace(chart, panels=tuple(panels))
