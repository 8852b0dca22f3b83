"""The table that every piece has: one row per setting, means and deviations over seeds."""

from crest.evidence.experiment import Found
from crest.report.shown import Table
from crest.report.summary import HEADER, cells, rows

CAPTION = "Every setting: means and standard deviations over seeds; credit on the ID split."


def settings_table(found: Found, caption: str = CAPTION) -> Table:
    """One row per setting of the experiment, in its order."""
    return Table(
        name="settings",
        caption=caption,
        header=HEADER,
        rows=tuple(cells(row) for row in rows(found.runs, found.records)),
    )
