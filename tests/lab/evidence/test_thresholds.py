import math

import pytest

from crest.lab.evidence.remedy_runs import ModelOutcome
from crest.lab.evidence.thresholds import ClearCase, best_threshold, threshold_table
from crest.lab.runs.record import Shares
from evidence_made import column


def case(background: float, *, breaks: bool, seen: bool, moved: float | None = None) -> ClearCase:
    shares = Shares(
        transient=1 - background, background=background, interaction=0.0, background_alone=0.0, moved=moved
    )
    return ClearCase(ModelOutcome(id=0.1, ood=0.2, shares=shares), breaks, seen)


@pytest.mark.parametrize(
    ("cases", "threshold"),
    [
        ([(0.2, False), (0.6, True)], 0.2),
        ([(0.2, False), (0.3, True), (0.4, False), (0.6, True), (0.7, True)], 0.2),
        ([(0.2, True), (0.6, False), (0.7, False)], 0.7),
    ],
)
def test_the_best_threshold_gets_most_of_them_right(
    cases: list[tuple[float, bool]], threshold: float
) -> None:
    assert best_threshold(cases) == threshold


def test_what_was_seen_sets_the_threshold_and_the_others_are_counted() -> None:
    seen = [case(0.2, breaks=False, seen=True), case(0.6, breaks=True, seen=True)]
    others = [
        case(0.1, breaks=False, seen=False),
        case(0.9, breaks=True, seen=False),
        case(0.15, breaks=True, seen=False),
    ]
    table = threshold_table([*seen, *others])
    # Nobody measured how far predictions move, nor the error: these have no row.
    assert column(table, "number") == [
        "share that does not follow the transient",
        "share that follows the background",
    ]
    assert column(table, "right") == ["2 of 3"] * 2
    assert all(math.isclose(float(cell), 0.2) for cell in column(table, "threshold"))
    assert threshold_table(seen).rows == ()
