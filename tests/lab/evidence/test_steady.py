from collections.abc import Callable

import pytest

from crest.lab.evidence.steady import STEADY_EXPERIMENT
from crest.lab.runs.spec import RunSpec
from crest.lab.training import SCHEDULES
from evidence_made import Numbers, claims, column, shown

# Thousands of specs and records, whose types other tests check: with each call checked it takes four to twenty times as long.
pytestmark = pytest.mark.unchecked

HALF = {"budget": "half signals"}


def is_longer(spec: RunSpec) -> bool:
    return spec.training.epochs > SCHEDULES[spec.encoder].epochs


def drifting(half: Callable[[RunSpec], Numbers], drift: float = 0.2) -> Callable[[RunSpec], Numbers]:
    """Numbers by spec: half of the signals' budget as told, all others err more by `drift` when trained longer."""

    def rule(spec: RunSpec) -> Numbers:
        if spec.readout_options == HALF:
            return half(spec)
        return Numbers(id=0.1 * (1 + drift * is_longer(spec)))

    return rule


@pytest.mark.parametrize(
    ("usual", "longer", "transient", "verdict"),
    [
        (0.1, 0.1, 0.6, "holds"),
        (0.1, 0.1095, 0.6, "holds"),
        (0.1, 0.0905, 0.6, "holds"),
        (0.1, 0.1105, 0.6, "does not hold"),
        (0.1, 0.0895, 0.6, "does not hold"),
        (0.1049, 0.105, 0.6, "holds"),
        (0.1051, 0.105, 0.6, "partly"),
        (0.1, 0.1, 0.585, "holds"),
        (0.1, 0.1, 0.575, "does not hold"),
    ],
)
def test_a_budget_that_keeps_its_error_and_costs_nothing_is_taken(
    usual: float, longer: float, transient: float, verdict: str
) -> None:
    rule = drifting(lambda spec: Numbers(id=longer if is_longer(spec) else usual, transient=transient))
    (claim,) = claims(STEADY_EXPERIMENT, rule)
    assert (claim.verdict, claim.seeds) == (verdict, 2)
    assert claim.measured.startswith("half of the signals'" if verdict != "does not hold" else "none; ")


def test_of_those_that_keep_it_the_lowest_error_is_taken() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return Numbers(id={"{'alpha': 0.9}": 0.08, str(HALF): 0.09}.get(str(spec.readout_options), 0.1))

    (claim,) = claims(STEADY_EXPERIMENT, rule)
    assert claim.measured.startswith("weight 0.9 throughout: ")
    assert "ID error −20.0 %" in claim.measured


def test_what_costs_a_pointwise_encoder_is_taken_only_if_nothing_else_keeps_its_error() -> None:
    def rule(spec: RunSpec) -> Numbers:
        if spec.readout_options != HALF:
            return Numbers(id=0.1)
        return Numbers(id=0.106 if spec.encoder == "pointwise" and spec.system == "impact" else 0.05)

    (claim,) = claims(STEADY_EXPERIMENT, rule)
    assert not claim.measured.startswith("half")
    (claim,) = claims(STEADY_EXPERIMENT, drifting(rule))
    assert (claim.verdict, claim.measured[:4]) == ("partly", "half")


def test_one_place_that_drifts_is_enough() -> None:
    def rule(spec: RunSpec) -> Numbers:
        place = (spec.system, spec.encoder) == ("impact", "gru")
        return Numbers(id=0.15 if place and is_longer(spec) else 0.1)

    (claim,) = claims(STEADY_EXPERIMENT, rule)
    assert claim.verdict == "does not hold"
    assert "+50 % at most" in claim.measured


def test_the_table_shows_both_schedules_and_no_error_out_of_distribution() -> None:
    there = shown(STEADY_EXPERIMENT, lambda spec: Numbers(id=0.1 + 0.02 * is_longer(spec), ood=0.7654))
    (table,) = there.tables
    assert set(column(table, "ID, Impact, GRU")) == {"0.100 / 0.120"}
    assert set(column(table, "longer")) == {"+20 %"}
    assert not any("0.765" in cell for row in table.rows for cell in row)
    assert {spec.seed for spec in STEADY_EXPERIMENT.runs} == {1010, 1011}
    assert len(there.charts[0].panels) == 4


def test_nothing_is_claimed_before_every_run_is_there() -> None:
    there = shown(STEADY_EXPERIMENT, lambda spec: Numbers(), without=is_longer)
    assert {claim.verdict for claim in there.claims} == {"not measured"}
    assert set(column(there.tables[0], "against")) == {"-"}
