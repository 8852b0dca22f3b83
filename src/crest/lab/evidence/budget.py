"""Figure 5a: errors over fixed budgets, the adaptive one among them, and Theorem 1's curve beside."""

import statistics

import numpy as np

from crest.lab.evidence.compare import error, mean_error, missing, verdict
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import MAIN, SYSTEMS
from crest.lab.evidence.names import SYSTEM_NAMES
from crest.lab.evidence.seeds import THREE
from crest.lab.evidence.shown import Chart, Claim, Mark, Panel, Series, Shown, Table
from crest.lab.evidence.stats import Spread
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record
from crest.theory import budget_risk

BUDGETS = (0.01, 0.03, 0.06, 0.12, 0.25, 0.5)
NEAR = 0.10
"""How near to the lowest error counts as the bottom of the U."""
STEPS = 512
IDEAL_NOISE = 4.0
"""s0 of the ideal selector's curve: its minimum does not depend on it."""


def fixed(found: Found, system: str) -> dict[float, list[Record]]:
    """Records by fixed budget."""
    return {
        budget: found.of(system=system, readout="crest", readout_options={"budget": budget})
        for budget in BUDGETS
    }


def adaptive(found: Found, system: str) -> list[Record]:
    """CREST as it is."""
    return found.of(system=system, readout="crest", readout_options={})


def found_budget(records: list[Record]) -> float:
    """The budget that the adaptive estimator chose, the mean over seeds."""
    return statistics.fmean(record.budget["id"].epsilon for record in records)


def _panel(found: Found, system: str) -> Panel | None:
    groups = {budget: records for budget, records in fixed(found, system).items() if records}
    own = adaptive(found, system)
    if not groups or not own:
        return None
    series = []
    for split in ("id", "ood"):
        spreads = [
            Spread.of([getattr(record.score, split) for record in records]) for records in groups.values()
        ]
        series.append(
            Series(
                name=f"{split.upper()}, fixed budget",
                x=list(groups),
                y=[spread.mean for spread in spreads],
                spread=[spread.deviation or 0.0 for spread in spreads],
                colour=split,
            )
        )
        series.append(
            Series(
                name=f"{split.upper()}, adaptive",
                x=[found_budget(own)],
                y=[mean_error(own, split)],
                look="points",
                colour="crest" if split == "ood" else "core",
            )
        )
    chance = statistics.fmean(record.credit["id"].chance for record in own)
    return Panel(
        title=SYSTEM_NAMES[system],
        x_label="budget, share of the steps",
        y_label="error",
        series=tuple(series),
        marks=(Mark(name="annotated event rate", axis="x", at=chance),),
        log_x=True,
    )


def _theory(found: Found) -> Panel:
    own = adaptive(found, "impact")
    rate = statistics.fmean(record.credit["id"].chance for record in own) if own else 0.09
    events = max(round(rate * STEPS), 1)
    budgets = np.unique(np.geomspace(2, STEPS, 80).round())
    return Panel(
        title="Theorem 1: the ideal selector",
        x_label="budget, share of the steps",
        y_label="risk R(K)",
        series=(
            Series(
                name="closed form",
                x=(budgets / STEPS).tolist(),
                y=[float(budget_risk(budget, events, IDEAL_NOISE)) for budget in budgets],
                colour="theory",
            ),
        ),
        marks=(Mark(name="K = L", axis="x", at=events / STEPS),),
        log_x=True,
    )


def _claims(found: Found, system: str) -> tuple[Claim, Claim]:
    name = SYSTEM_NAMES[system]
    texts = (
        f"The OOD error is U-shaped in the budget on {name}",
        f"The adaptive budget is within 10 % of the lowest error on the grid on {name}",
    )
    papers = ("U-shaped", {"gear": "at the bottom", "impact": "below the best fixed budget"}[system])
    groups, own = fixed(found, system), adaptive(found, system)
    if not all(len(records) == len(THREE) for records in (own, *groups.values())):
        return missing(texts[0], papers[0]), missing(texts[1], papers[1])
    errors = {budget: mean_error(records) for budget, records in groups.items()}
    lowest = min(errors, key=errors.__getitem__)
    # On the grid's seeds: a mean over others would be another comparison.
    mine = statistics.fmean(record.score.ood for record in own if record.spec.seed in THREE)
    inside = lowest not in (BUDGETS[0], BUDGETS[-1])
    rise = min(errors[BUDGETS[0]], errors[BUDGETS[-1]]) / errors[lowest] - 1
    return (
        Claim(
            text=texts[0],
            paper=papers[0],
            measured=f"lowest {errors[lowest]:.3f} at {lowest:g}; {errors[BUDGETS[0]]:.3f} at {BUDGETS[0]:g}, "
            f"{errors[BUDGETS[-1]]:.3f} at {BUDGETS[-1]:g}",
            bar="the lowest lies inside the grid, both ends at least 5 % above",
            verdict=verdict(inside and rise > 0.05, errors[BUDGETS[-1]] > 1.05 * errors[lowest]),
            seeds=len(THREE),
        ),
        Claim(
            text=texts[1],
            paper=papers[1],
            measured=f"{mine:.3f} at {found_budget(own):.3f} on average, {mine / errors[lowest]:.2f} times the lowest",
            bar="at most 1.10 times",
            verdict=verdict(mine <= (1 + NEAR) * errors[lowest], mine <= 1.5 * errors[lowest]),
            seeds=len(THREE),
        ),
    )


def show(found: Found) -> Shown:
    """Errors over budgets."""
    rows = []
    for system in SYSTEMS:
        for budget, records in fixed(found, system).items():
            rows.append(
                (SYSTEM_NAMES[system], f"{budget:g}", error(records, "id"), error(records), f"{len(records)}")
            )
        own = adaptive(found, system)
        label = f"adaptive ({found_budget(own):.3f})" if own else "adaptive"
        rows.append((SYSTEM_NAMES[system], label, error(own, "id"), error(own), f"{len(own)}"))
    panels = [panel for system in SYSTEMS if (panel := _panel(found, system)) is not None]
    return Shown(
        tables=(
            Table(
                name="budget",
                caption="Errors at fixed budgets and at the adaptive one (its mean in brackets).",
                header=("system", "budget", "ID", "OOD", "seeds"),
                rows=tuple(rows),
            ),
        ),
        charts=(
            Chart(
                name="budget",
                caption="Errors over the budget; the adaptive budget as a point; the ideal selector's risk, which "
                "depends on the event's length alone.",
                panels=(*panels, _theory(found)),
            ),
        ),
        claims=tuple(claim for system in SYSTEMS for claim in _claims(found, system)),
    )


BUDGET = Experiment(
    name="budget",
    evidence="Figure 5a, Theorem 1",
    summary="Is the error U-shaped in the budget, and does the adaptive one find the bottom?",
    show=show,
    runs=(
        *(spec for spec in MAIN.runs if spec.readout == "crest" and spec.seed in THREE),
        *grid(
            [{"readout_options": {"budget": budget}} for budget in BUDGETS],
            seed=THREE,
            system=["gear", "impact"],
            readout="crest",
        ),
    ),
)
