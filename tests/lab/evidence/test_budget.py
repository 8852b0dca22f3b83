from collections.abc import Callable

import pytest
import torch

from crest.lab.evidence.budget import BUDGET_EXPERIMENT, BUDGETS, NARROW_BUDGETS
from crest.lab.runs.spec import RunSpec
from crest.readouts import CrestConfig, CrestReadout
from evidence_made import Numbers, claims, verdicts

U = [0.6, 0.5, 0.4, 0.3, 0.35, 0.4, 0.6]


NARROW = [0.7, *U]


def budgets(
    errors: list[float], adaptive: float = 0.3, narrow: list[float] = NARROW
) -> Callable[[RunSpec], Numbers]:
    """OOD error by fixed budget, of the adaptive one, and by fixed budget with peaks that are not widened."""

    def rule(spec: RunSpec) -> Numbers:
        budget = spec.readout_options.get("budget")
        if "config" in spec.readout_options:
            return Numbers(ood=narrow[NARROW_BUDGETS.index(budget)])
        return Numbers(ood=adaptive if budget is None else errors[BUDGETS.index(budget)], epsilon=0.07)

    return rule


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        (U, "holds"),
        ([0.3, 0.32, 0.35, 0.4, 0.45, 0.5, 0.6], "does not hold"),
        ([0.31, 0.305, 0.3, 0.3, 0.35, 0.4, 0.6], "partly"),
        ([0.7, 0.6, 0.5, 0.4, 0.35, 0.32, 0.3], "does not hold"),
        ([0.3] * 7, "does not hold"),
    ],
    ids=["U", "lowest at the left end", "hardly higher at the left end", "lowest at the right end", "flat"],
)
def test_the_lowest_error_must_lie_inside_the_grid(errors: list[float], verdict: str) -> None:
    found_verdicts = verdicts(BUDGET_EXPERIMENT, budgets(errors))
    assert (found_verdicts[0], found_verdicts[3]) == (verdict, verdict)


@pytest.mark.parametrize(("one", "verdict"), [(0.4, "holds"), (0.31, "partly"), (0.2, "does not hold")])
def test_peaks_that_are_not_widened_are_judged_by_themselves(one: float, verdict: str) -> None:
    rising = [0.3, 0.32, 0.35, 0.4, 0.45, 0.5, 0.6]
    grid, deeper, _ = claims(BUDGET_EXPERIMENT, budgets(rising, narrow=[one, *rising]))[:3]
    assert (grid.verdict, deeper.verdict, deeper.paper) == ("does not hold", verdict, "beyond the paper")
    assert f"{one:.3f} at one step" in deeper.measured


@pytest.mark.parametrize(
    ("adaptive", "verdict"),
    [(0.2, "holds"), (0.329, "holds"), (0.331, "partly"), (0.449, "partly"), (0.451, "does not hold")],
)
def test_the_adaptive_budget_may_be_a_tenth_above_the_lowest(adaptive: float, verdict: str) -> None:
    claim = claims(BUDGET_EXPERIMENT, budgets(U, adaptive))[2]
    assert claim.verdict == verdict
    assert f"{adaptive:.3f} at 0.070" in claim.measured
    assert f"{adaptive / 0.3:.2f} times the lowest" in claim.measured


def test_the_adaptive_budget_is_compared_on_all_seeds_of_the_grid_or_not_at_all() -> None:
    """One missing seed of the three would compare means over different seeds."""
    rule = budgets(U)
    gone = next(spec for spec in BUDGET_EXPERIMENT.runs if spec.system == "gear" and not spec.readout_options)
    assert verdicts(BUDGET_EXPERIMENT, rule, without=lambda spec: spec.id == gone.id) == [
        *["not measured"] * 3,
        *["holds"] * 3,
    ]


def test_the_smallest_budget_is_one_step_that_is_not_widened() -> None:
    narrow = [spec.readout_options for spec in BUDGET_EXPERIMENT.runs if "config" in spec.readout_options]
    assert {options["config"]["dilation"] for options in narrow} == {0}
    assert {options["budget"] for options in narrow} == set(NARROW_BUDGETS)
    features = torch.randn(2, 512, 4, generator=torch.Generator().manual_seed(0))
    readout = CrestReadout(min(NARROW_BUDGETS), config=CrestConfig(dilation=0))
    assert readout.select(features).selected.sum(1).eq(1).all()
