import dataclasses

import pytest

from crest.lab.evidence.shown import Claim, Series, Table
from crest.lab.evidence.stats import paired

CLAIM = Claim(text="CREST errs less", paper="0.29")


def test_a_claim_is_not_measured_until_it_is_judged() -> None:
    assert (CLAIM.verdict, CLAIM.measured, CLAIM.bar, CLAIM.seeds, CLAIM.p) == (
        "not measured",
        "",
        "",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("holds", "partly", "verdict"),
    [
        (True, True, "holds"),
        (True, False, "holds"),
        (False, True, "partly"),
        (False, False, "does not hold"),
    ],
)
def test_a_verdict_follows_from_the_bar_and_the_direction(holds: bool, partly: bool, verdict: str) -> None:
    judged = CLAIM.judged("0.31", holds=holds, partly=partly, bar="at most 0.3", seeds=4)
    assert judged == dataclasses.replace(
        CLAIM, measured="0.31", bar="at most 0.3", seeds=4, verdict=judged.verdict
    )
    assert judged.verdict == verdict


def test_a_test_brings_its_seeds_and_p() -> None:
    result = paired({0: 0.9, 1: 0.8}, {0: 1.0, 1: 1.0})
    judged = CLAIM.judged("0.31", holds=True, partly=True, test=result)
    assert (judged.seeds, judged.p, judged.smallest_p) == (2, 0.25, 0.25)


@pytest.mark.parametrize("field", ["y", "spread", "hover"])
def test_a_series_has_a_value_for_each_x(field: str) -> None:
    usual = {"name": "a", "x": ["b", "c"], "y": [1.0, 2.0]}
    wrong = ["d"] if field == "hover" else [1.0]
    with pytest.raises(ValueError, match=f"{field} must have one value per x, 2, got 1"):
        Series(**{**usual, field: wrong})


def test_a_row_has_as_many_cells_as_the_header() -> None:
    with pytest.raises(ValueError, match="rows must have 2 cells as the header has"):
        Table(name="a", caption="b", header=("c", "d"), rows=(("1", "2"), ("3",)))
