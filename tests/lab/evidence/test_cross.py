from collections.abc import Callable

import pytest

from crest.lab.evidence.cross import CROSS_EXPERIMENT, PLACES
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, shown, verdicts


def cross(worse: int) -> Callable[[RunSpec], Numbers]:
    """CREST is worse in the first so many places."""

    def rule(spec: RunSpec) -> Numbers:
        above = PLACES.index((spec.system, spec.encoder)) < worse
        return Numbers(ood=(0.5 if above else 0.3) if spec.readout == "crest" else 0.4)

    return rule


@pytest.mark.parametrize(
    ("worse", "measured", "verdict"),
    [
        (0, "11 of 11", "holds"),
        (2, "9 of 11; not with SG-Drive (pointwise, convolution)", "partly"),
        (
            4,
            "7 of 11; not with SG-Drive (pointwise, convolution, GRU, Transformer)",
            "partly",
        ),
    ],
)
def test_places_where_crest_is_lower_are_counted(worse: int, measured: str, verdict: str) -> None:
    claim, _ = claims(CROSS_EXPERIMENT, cross(worse))
    assert (claim.measured, claim.verdict) == (measured, verdict)


def test_a_place_counts_only_where_crest_is_lower_on_every_seed() -> None:
    def rule(spec: RunSpec) -> Numbers:
        if (spec.system, spec.readout, spec.seed) == ("cwru", "crest", 4):
            return Numbers(ood=0.41)
        return cross(0)(spec)

    claim, _ = claims(CROSS_EXPERIMENT, rule)
    assert (claim.measured, claim.verdict, claim.seeds) == (
        "10 of 11; not with CWRU (pointwise)",
        "partly",
        5,
    )


def test_lower_in_less_than_half_of_the_places_does_not_hold() -> None:
    assert verdicts(CROSS_EXPERIMENT, cross(6))[0] == "does not hold"


def test_a_place_without_all_of_its_runs_is_left_out_and_the_claim_with_it() -> None:
    there = shown(CROSS_EXPERIMENT, cross(0), without=lambda spec: spec.system == "cwru" and spec.seed == 4)
    assert [row[0] for row in there.tables[0].rows] == [
        f"{system}, {encoder}"
        for system in ("SG-Drive", "Impact")
        for encoder in ("pointwise", "convolution", "GRU", "Transformer", "CNN")
    ]
    assert there.claims[0].verdict == "not measured"
    assert all(len(series.x) == 10 for series in there.charts[0].panels[0].series)


def test_every_place_says_how_small_its_p_can_be() -> None:
    rows = shown(CROSS_EXPERIMENT, cross(0)).tables[0].rows
    assert [row[7] for row in rows] == [f"{n}/{n}" for n in (10, 5, 5, 5, 5, 10, 5, 5, 5, 5, 5)]
    assert all(row[8] == row[9] for row in rows)


def test_the_papers_own_attention_is_compared_in_the_four_places_that_have_it() -> None:
    _, own = claims(CROSS_EXPERIMENT, cross(1))
    assert (own.measured, own.verdict) == ("3 of 4; not with SG-Drive (pointwise)", "partly")
