import dataclasses

import pytest

from crest.remedies import Reanchored, TriedBudget

ROWS = (
    TriedBudget(budget="pooled", penalty=0.01, error=0.25, accuracy=0.75),
    TriedBudget(budget=0.1, penalty=0.1, error=0.125, accuracy=1.0),
)


def test_the_chosen_row_speaks_for_the_whole() -> None:
    found = Reanchored(chosen=ROWS[1], tried=ROWS, trajectories=8, before=None, accuracy_before=0.5)
    assert (found.budget, found.penalty, found.error, found.accuracy) == (0.1, 0.1, 0.125, 1.0)
    assert repr(found).splitlines() == [
        "Reanchored on 8 trajectories: budget 0.1, penalty 0.1",
        "               error  accuracy  left out",
        "  before           -     0.500        no",
        "  pooled       0.250     0.750       yes",
        "  0.1          0.125     1.000       yes",
    ]


def test_large_errors_are_short() -> None:
    row = TriedBudget(budget="trajectory", penalty=1e-6, error=123456.0)
    lines = repr(Reanchored(chosen=row, tried=(row,), trajectories=2, before=0.5)).splitlines()
    assert lines[-1] == "  trajectory 1.23e+05       yes"
    assert lines[0].endswith("budget trajectory, penalty 1e-06")


def test_it_is_frozen() -> None:
    found = Reanchored(chosen=ROWS[0], tried=ROWS, trajectories=8, before=0.5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.before = 0.0
