from collections.abc import Callable

import pytest

from crest.lab.evidence.constants import CONSTANTS_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from crest.lab.runs.store import Store
from evidence_made import Numbers, claims, column, shown
from places import RESULTS

# Thousands of specs and records, whose types other tests check: with each call checked it takes four to twenty times as long.
pytestmark = pytest.mark.unchecked


SIGNALS = {"budget": "signals"}
WEIGHT = 0.9
"""Asked in the third round, where CREST behind a strided encoder has its stride beside."""


def other(error: float, transient: float = 0.6) -> Callable[[RunSpec], Numbers]:
    """ID error and transient share of CREST with what may win: the signals' budget, a constant weight; others have 0.1 and 0.6."""

    def rule(spec: RunSpec) -> Numbers:
        wins = spec.readout_options == SIGNALS or spec.readout_options.get("alpha") == WEIGHT
        return Numbers(id=error, transient=transient) if wins else Numbers()

    return rule


@pytest.mark.parametrize(
    ("error", "transient", "verdict"),
    [
        (0.096, 0.6, "holds"),
        (0.094, 0.6, "does not hold"),
        (0.094, 0.585, "does not hold"),
        (0.094, 0.575, "holds"),
        (0.2, 0.9, "holds"),
    ],
    ids=["hardly lower", "lower", "with little less", "at a price", "higher"],
)
def test_a_lower_error_without_a_larger_share_beside_is_a_reason_to_change(
    error: float, transient: float, verdict: str
) -> None:
    found = claims(CONSTANTS_EXPERIMENT, other(error, transient))
    assert [(claim.verdict, claim.seeds) for claim in found] == [(verdict, 2), (verdict, 4), (verdict, 2)]
    for claim, name in zip(found, ("of the signals", "of the signals", "weight 0.9 throughout"), strict=True):
        assert (f"better by the rule: {name}" in claim.measured) is (verdict == "does not hold")


def test_fresh_seeds_judge_by_themselves() -> None:
    """What did better on the first seeds alone does not count for the second round."""

    def rule(spec: RunSpec) -> Numbers:
        signals = spec.readout_options == {"budget": "signals"}
        return Numbers(id=0.05 if signals and spec.seed < 1002 else 0.1)

    found = claims(CONSTANTS_EXPERIMENT, rule)
    assert [claim.verdict for claim in found] == ["does not hold", "holds", "holds"]


def test_what_is_better_is_told_in_order_with_how_often() -> None:
    def rule(spec: RunSpec) -> Numbers:
        lower = {"{'budget': 'signals'}": 0.08, "{'config': {'epsilon_min': 0.01}}": 0.06}
        high = spec.system == "gear" and spec.encoder == "gru"
        return Numbers(
            id=0.11 if high and spec.readout_options else lower.get(str(spec.readout_options), 0.1)
        )

    again = claims(CONSTANTS_EXPERIMENT, rule)[1]
    assert again.measured == (
        "better by the rule: 0.01 at least (−30.2 %, lower in 12 of 16 models), "
        "of the signals (−13.4 %, lower in 12 of 16 models)"
    )


def test_the_second_round_has_what_passed_the_first() -> None:
    first, again, _ = CONSTANTS_EXPERIMENT.piece(Store(RESULTS)).shown.claims
    passed = first.measured.removeprefix("better by the rule: ").split("), ")
    names = {part.partition(" (")[0] for part in passed}
    assert names == {"of the signals", "0.01 at least", "0.04 at least"}
    assert again.seeds == 4
    fresh = {str(spec.readout_options) for spec in CONSTANTS_EXPERIMENT.runs if 1001 < spec.seed < 1012}
    assert len(fresh) == len(names) + 1


def test_places_count_alike_whatever_their_errors() -> None:
    """Half as high in one place and twice as high in another is no change."""

    def rule(spec: RunSpec) -> Numbers:
        factor = 0.5 if spec.system == "gear" else 2.0
        level = 0.1 if spec.encoder == "gru" else 0.4
        return Numbers(id=level * (factor if spec.readout_options == {"budget": "signals"} else 1.0))

    there = shown(CONSTANTS_EXPERIMENT, rule)
    assert there.claims[0].measured.startswith("none; ")
    table = there.tables[0]
    changes = dict(zip(column(table, "setting"), column(table, "against"), strict=True))
    assert changes["of the signals"] == "+0.0 %"


def test_no_error_out_of_distribution_is_shown_or_used() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return Numbers(ood=0.7654 if spec.readout_options else 0.1234)

    there = shown(CONSTANTS_EXPERIMENT, rule)
    assert {claim.verdict for claim in there.claims} == {"holds"}
    for table in there.tables:
        assert "OOD" not in " ".join(table.header)
        assert not any("0.765" in cell or "0.123" in cell for row in table.rows for cell in row)
    assert {spec.seed for spec in CONSTANTS_EXPERIMENT.runs} == {*range(1000, 1006), 1012, 1013}


def test_nothing_is_claimed_before_every_run_is_there() -> None:
    there = shown(CONSTANTS_EXPERIMENT, other(0.05), without=lambda spec: spec.encoder == "gru")
    assert {claim.verdict for claim in there.claims} == {"not measured"}
    assert {cell for table in there.tables for cell in column(table, "against")} == {"-"}
