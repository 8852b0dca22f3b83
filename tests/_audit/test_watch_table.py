"""The printed history: its columns, and how many rows are shown."""

import math

from crest._audit import WatchedEpoch
from crest._audit.watch_table import table_of
from crest.exchange.result import Exchange


def row(epoch: int, error: float | None = None) -> WatchedEpoch:
    both = (0.5, 0.5)
    exchange = Exchange(
        transient=0.75, background=0.25, interaction=0.0, transient_interval=both, background_interval=both,
        interaction_interval=both, background_alone=0.0, kind="core", trajectories=8, moved=math.nan,
    )  # fmt: skip
    return WatchedEpoch(epoch=epoch, verdict="unclear", exchange=exchange, error=error)


def test_columns_are_those_that_any_row_has() -> None:
    assert table_of("Head", [row(0), row(5, error=1.5)]).splitlines() == [
        "Head",
        "  epoch  transient  background   both  moved  error  verdict",
        "      0      0.750       0.250  0.000    nan         unclear",
        "      5      0.750       0.250  0.000    nan  1.500  unclear",
    ]


def test_the_last_rows_are_shown() -> None:
    head, _, *rows = table_of("Head", [row(epoch) for epoch in range(12)]).splitlines()
    assert head == "Head, the last 10 of 12 rows"
    assert [int(line.split()[0]) for line in rows] == list(range(2, 12))
