"""Figure 5a: errors over fixed budgets, the adaptive one among them, and Theorem 1's curve beside."""

import statistics
from collections.abc import Mapping
from typing import Any

import numpy as np

from crest.lab.evidence.compare import by_seed, mean_credit, mean_error
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import by_system, grouped_table, mean_series
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import HEADLINE_SYSTEMS, STEPS, THREE, headline_runs
from crest.lab.evidence.shown import BEYOND, Chart, Claim, Mark, Panel, Series, Shown
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record
from crest.theory import budget_risk

BUDGETS = (0.005, 0.01, 0.03, 0.06, 0.12, 0.25, 0.5)
# A peak has five steps, so nothing smaller than the first budget is there: a second grid, of peaks that are not widened, goes down to one
# step. our choice: docs/evidence/choices.md#one-step
NARROW_BUDGETS = (1 / STEPS, *BUDGETS)
_NEAR = 0.10
"""How near to the lowest error counts as the bottom of the U."""
_IDEAL_NOISE = 4.0
"""s0 of the ideal selector's curve: its minimum does not depend on it."""


def _narrow(budget: float) -> dict[str, Any]:
    return {"budget": budget, "config": {"dilation": 0}}


def fixed_budgets(found: Found, system: str) -> dict[float, list[Record]]:
    """Records of CREST by fixed budget."""
    return {
        budget: found.of(system=system, readout="crest", readout_options={"budget": budget})
        for budget in BUDGETS
    }


def _narrow_budgets(found: Found, system: str) -> dict[float, list[Record]]:
    """Records of CREST by fixed budget, its peaks not widened."""
    return {
        budget: found.of(system=system, readout="crest", readout_options=_narrow(budget))
        for budget in NARROW_BUDGETS
    }


def adaptive_budget(found: Found, system: str) -> list[Record]:
    """Records of CREST as it is, which estimates its budget."""
    return found.of(system=system, readout="crest", readout_options={})


def found_budget(records: list[Record]) -> float:
    """The budget that the estimator chose, the mean over seeds."""
    return statistics.fmean(record.budget["id"].epsilon for record in records)


def _groups(found: Found, system: str) -> dict[str, list[Record]]:
    own = adaptive_budget(found, system)
    label = f"adaptive ({found_budget(own):.3f})" if own else "adaptive"
    fixed = {f"{budget:g}": records for budget, records in fixed_budgets(found, system).items()}
    narrow = {
        f"{_share(budget)}, not widened": records
        for budget, records in _narrow_budgets(found, system).items()
    }
    return {**fixed, label: own, **narrow}


def _share(budget: float) -> str:
    return "one step" if budget == NARROW_BUDGETS[0] else f"{budget:g}"


def _lines(groups: Mapping[float, list[Record]]) -> list[Series]:
    """ID and OOD errors over the budget, of the budgets that have records."""
    there = {budget: records for budget, records in groups.items() if records}
    return [
        mean_series(
            f"{split.upper()}, fixed budget",
            {budget: list(by_seed(records, split).values()) for budget, records in there.items()},
            split,
            look="line",
        )
        for split in ("id", "ood")
        if there
    ]


def _panel(found: Found, system: str) -> Panel | None:
    own, lines = adaptive_budget(found, system), _lines(fixed_budgets(found, system))
    if not lines or not own:
        return None
    adaptive = [
        Series(
            name=f"{split.upper()}, adaptive",
            x=[found_budget(own)],
            y=[mean_error(own, split)],
            look="points",
            colour=split,
        )
        for split in ("id", "ood")
    ]
    return Panel(
        title=named(system),
        x_label="budget, share of the steps",
        y_label="error",
        series=(*lines, *adaptive),
        marks=(Mark(name="annotated event rate", axis="x", at=mean_credit(own, "chance")),),
        log_x=True,
    )


def _narrow_panel(found: Found, system: str) -> Panel | None:
    lines = _lines(_narrow_budgets(found, system))
    if not lines:
        return None
    return Panel(
        title=named(system),
        x_label="budget, share of the steps",
        y_label="error",
        series=tuple(lines),
        log_x=True,
    )


def _theory(found: Found) -> Panel:
    own = adaptive_budget(found, "impact")
    events = max(round((mean_credit(own, "chance") if own else 0.09) * STEPS), 1)
    budgets = np.unique(np.geomspace(2, STEPS, 80).round())
    return Panel(
        title="Theorem 1: the ideal selector",
        x_label="budget, share of the steps",
        y_label="risk R(K)",
        series=(
            Series(
                name="closed form",
                x=(budgets / STEPS).tolist(),
                y=[float(budget_risk(budget, events, _IDEAL_NOISE)) for budget in budgets],
                colour="theory",
            ),
        ),
        marks=(Mark(name="K = L", axis="x", at=events / STEPS),),
        log_x=True,
    )


def _judged_shape(claim: Claim, groups: Mapping[float, list[Record]]) -> Claim:
    """Whether the OOD error is a U: its lowest inside the grid, and both ends clearly above."""
    errors = {budget: mean_error(records) for budget, records in groups.items()}
    first, *inner, last = errors
    lowest = min(errors, key=errors.__getitem__)
    ends = min(errors[first], errors[last]) / errors[lowest] - 1
    return claim.judged(
        f"lowest {errors[lowest]:.3f} at {_share(lowest)}; {errors[first]:.3f} at {_share(first)}, "
        f"{errors[last]:.3f} at {_share(last)}",
        holds=lowest in inner and ends > 0.05,
        partly=lowest in inner and ends > 0.025,
        bar="the lowest lies inside the grid, both ends at least 5 % above",
        seeds=len(groups[first]),
    )


def _claims(found: Found, system: str) -> tuple[Claim, ...]:
    shape = Claim(text=f"The OOD error is U-shaped in the budget on {named(system)}", paper="U-shaped")
    deeper = Claim(
        text=f"With peaks that are not widened, the OOD error is U-shaped in the budget on {named(system)}, down to one step",
        paper=BEYOND,
    )
    near = Claim(
        text=f"The adaptive budget is within 10 % of the lowest error on the grid on {named(system)}",
        paper={"gear": "at the bottom", "impact": "below the best fixed budget"}[system],
    )
    if not found.complete(system=system):
        return shape, deeper, near
    groups = fixed_budgets(found, system)
    lowest = min(mean_error(records) for records in groups.values())
    own = adaptive_budget(found, system)
    mine = mean_error(own)
    return (
        _judged_shape(shape, groups),
        _judged_shape(deeper, _narrow_budgets(found, system)),
        near.judged(
            f"{mine:.3f} at {found_budget(own):.3f} on average, {mine / lowest:.2f} times the lowest",
            holds=mine <= (1 + _NEAR) * lowest,
            partly=mine <= 1.5 * lowest,
            bar="at most 1.10 times",
            seeds=len(own),
            brief=f"{mine / lowest:.2f} times the lowest",
        ),
    )


def _show(found: Found) -> Shown:
    table = grouped_table(
        "budget",
        "Errors at fixed budgets and at the adaptive one (its mean in brackets). Not widened: peaks of one step instead of five, so that smaller budgets are there.",
        ("system", "budget", "ID", "OOD", "seeds"),
        by_system(lambda system: _groups(found, system)),
    )
    panels = [panel for system in HEADLINE_SYSTEMS if (panel := _panel(found, system)) is not None]
    chart = Chart(
        name="budget",
        caption="Errors over the budget; the adaptive budget as a point; the ideal selector's risk, which "
        "depends on the event's length alone.",
        panels=(*panels, _theory(found)),
    )
    narrow = [panel for system in HEADLINE_SYSTEMS if (panel := _narrow_panel(found, system)) is not None]
    beside = Chart(
        name="budget_narrow",
        caption="Errors over the budget where peaks are not widened: one step for each, down to one step of a trajectory.",
        panels=tuple(narrow),
    )
    return Shown(
        tables=(table,),
        charts=(chart, beside) if narrow else (chart,),
        claims=tuple(claim for system in HEADLINE_SYSTEMS for claim in _claims(found, system)),
    )


BUDGET_EXPERIMENT = Experiment(
    name="budget",
    evidence="Figure 5a, Theorem 1",
    summary="Is the error U-shaped in the budget, and does the adaptive one find the bottom?",
    show=_show,
    runs=(
        # The adaptive budget has the same seeds as the grid, so that their means can be compared.
        *headline_runs(seed=THREE, readout="crest"),
        *grid(
            [
                {"readout_options": options}
                for options in (
                    *({"budget": budget} for budget in BUDGETS),
                    *(_narrow(budget) for budget in NARROW_BUDGETS),
                )
            ],
            seed=THREE,
            system=HEADLINE_SYSTEMS,
            readout="crest",
        ),
    ),
)
