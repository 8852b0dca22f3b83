from collections.abc import Callable

import pytest

from crest.lab.evidence.adaptive import ADAPTIVE_EXPERIMENT
from crest.lab.evidence.budget import BUDGETS
from crest.lab.runs.spec import RunSpec
from evidence_made import Numbers, claims, shown, verdicts


def estimated(core: float, otsu: float) -> Callable[[RunSpec], Numbers]:
    """OOD errors of the adaptive core and of Otsu's tail."""

    def rule(spec: RunSpec) -> Numbers:
        if spec.readout == "event_window":
            return Numbers(ood=0.123)
        budget = spec.readout_options.get("budget")
        if isinstance(budget, str):
            return Numbers(ood={"trajectory": 0.456, "signals": 0.567}[budget])
        if budget is not None:
            return Numbers(ood=0.1 + budget if budget > 1 / 512 else 0.01)
        if "config" in spec.readout_options:
            return Numbers(ood=otsu, epsilon=0.3)
        return Numbers(ood=core, epsilon=0.05)

    return rule


@pytest.mark.parametrize(
    ("core", "gear", "impact"),
    [
        (0.40, "holds", "does not hold"),
        (0.39, "holds", "does not hold"),
        (0.345, "partly", "partly"),
        (0.43, "holds", "does not hold"),
        (0.29, "partly", "holds"),
        (0.50, "does not hold", "does not hold"),
    ],
)
def test_the_core_leaves_one_system_as_it_is_and_helps_the_other(core: float, gear: str, impact: str) -> None:
    there = claims(ADAPTIVE_EXPERIMENT, estimated(core, 0.4))
    assert [claim.verdict for claim in there[:2]] == [gear, impact]
    assert f"0.400 (budget 0.300) to {core:.3f} (0.050)" in there[0].measured
    assert "event window 0.123" in there[0].measured


def test_lower_on_two_of_three_seeds_does_not_hold() -> None:
    def rule(spec: RunSpec) -> Numbers:
        return estimated(0.41 if spec.seed == 1 else 0.1, 0.4)(spec)

    assert verdicts(ADAPTIVE_EXPERIMENT, rule)[1] == "does not hold"


def test_the_papers_budget_and_that_of_the_signals_stand_beside() -> None:
    table = shown(ADAPTIVE_EXPERIMENT, estimated(0.3, 0.4)).tables[0]
    errors = {
        row[table.header.index("budget from")]: row[table.header.index("OOD")].split()[0]
        for row in table.rows
    }
    assert errors["each trajectory's own core (the paper's)"] == "0.456"
    assert errors["the training signals' core"] == "0.567"


def test_the_best_fixed_budget_is_the_one_with_the_lowest_error() -> None:
    rows = [
        row for row in shown(ADAPTIVE_EXPERIMENT, estimated(0.3, 0.4)).tables[0].rows if "fixed" in row[1]
    ]
    assert [row[4].split()[0] for row in rows] == [f"{0.1 + min(BUDGETS):.3f}"] * 2


def test_the_claims_wait_for_their_own_runs_alone() -> None:
    beside = verdicts(
        ADAPTIVE_EXPERIMENT, estimated(0.4, 0.4), without=lambda spec: "budget" in spec.readout_options
    )
    assert beside[:2] == ["holds", "does not hold"]
    alone = verdicts(
        ADAPTIVE_EXPERIMENT, estimated(0.4, 0.4), without=lambda spec: spec.readout == "event_window"
    )
    assert alone == ["not measured"] * 3


@pytest.mark.parametrize(("core", "verdict"), [(0.12, "holds"), (0.13, "does not hold")])
def test_crest_must_be_below_the_readout_that_is_told_the_events_on_every_seed(
    core: float, verdict: str
) -> None:
    def rule(spec: RunSpec) -> Numbers:
        return estimated(core if spec.seed == 2 else 0.1, 0.4)(spec)

    claim = claims(ADAPTIVE_EXPERIMENT, rule)[2]
    assert (claim.verdict, claim.seeds) == (verdict, 3)
