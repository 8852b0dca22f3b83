"""Figure 6: the adaptive core against Otsu's tail, the best fixed budget and the annotated events."""

from crest.lab.evidence.bars import both_errors
from crest.lab.evidence.budget import BUDGET, BUDGETS, adaptive, fixed, found_budget
from crest.lab.evidence.compare import by_seed, error, mean_error, missing, percent, verdict
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import SYSTEMS
from crest.lab.evidence.names import SYSTEM_NAMES
from crest.lab.evidence.readouts import READOUTS
from crest.lab.evidence.seeds import THREE
from crest.lab.evidence.shown import Chart, Claim, Panel, Shown, Table
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record

# The gate is open whatever the width: Otsu's tail alone is the budget.
OTSU = {"gate_start": -1.0}

PAPER = {"gear": "unchanged", "impact": "0.93 to 0.68"}


def _groups(found: Found, system: str) -> dict[str, list[Record]]:
    """The four ways to a budget; the best fixed one is chosen by the very error that is shown."""
    grid_errors = {budget: mean_error(records) for budget, records in fixed(found, system).items() if records}
    groups = {
        "Otsu's tail": found.of(system=system, readout="crest", readout_options={"config": OTSU}),
        "adaptive core": adaptive(found, system),
        "event window": found.of(system=system, readout="event_window"),
    }
    if len(grid_errors) == len(BUDGETS):
        best = min(grid_errors, key=grid_errors.__getitem__)
        groups["best fixed budget"] = fixed(found, system)[best]
    return groups


def _claim(found: Found, system: str) -> Claim:
    text = f"Estimating the core beats the fixed automatic budget on {SYSTEM_NAMES[system]}"
    if system == "gear":
        text = "Estimating the core leaves SG-Drive unchanged against the fixed automatic budget"
    groups = _groups(found, system)
    if len(groups) < 4 or not all(len(records) == len(THREE) for records in groups.values()):
        return missing(text, PAPER[system])
    result = paired(by_seed(groups["adaptive core"]), by_seed(groups["Otsu's tail"]))
    tails = groups["Otsu's tail"]
    tail = found_budget(tails)
    core = found_budget(groups["adaptive core"])
    better = result.change < 0 and result.lower == result.seeds
    return Claim(
        text=text,
        paper=PAPER[system],
        measured=f"{mean_error(tails):.3f} (budget {tail:.3f}) to "
        f"{mean_error(groups['adaptive core']):.3f} ({core:.3f}), {percent(result.change, 1)}; event window "
        f"{mean_error(groups['event window']):.3f}",
        bar="lower on every seed" if system == "impact" else "a change below 10 %",
        verdict=verdict(better if system == "impact" else abs(result.change) < 0.1, result.change < 0),
        seeds=result.seeds,
        p=result.p,
        smallest_p=result.smallest_p,
    )


def show(found: Found) -> Shown:
    """The four budgets on both systems."""
    rows, panels = [], []
    for system in SYSTEMS:
        groups = {name: records for name, records in _groups(found, system).items() if records}
        for name, records in groups.items():
            budget = f"{found_budget(records):.3f}" if records[0].budget else "-"
            rows.append(
                (SYSTEM_NAMES[system], name, budget, error(records, "id"), error(records), f"{len(records)}")
            )
        panels.append(
            Panel(title=SYSTEM_NAMES[system], x_label="", y_label="error", series=both_errors(groups))
        )
    return Shown(
        tables=(
            Table(
                name="adaptive",
                caption="Budget: the selected share of the steps, its mean. The best fixed budget is chosen by its OOD "
                "error, which no one could do in the field; the event window pools the annotation, halo included.",
                header=("system", "budget from", "budget", "ID", "OOD", "seeds"),
                rows=tuple(rows),
            ),
        ),
        charts=(Chart(name="adaptive", caption="Errors by how the budget is found.", panels=tuple(panels)),),
        claims=tuple(_claim(found, system) for system in SYSTEMS),
    )


ADAPTIVE = Experiment(
    name="adaptive",
    evidence="Figure 6",
    summary="Does estimating the core matter, against Otsu's tail, the best fixed budget and the annotation?",
    show=show,
    runs=(
        *BUDGET.runs,
        *(spec for spec in READOUTS.runs if spec.readout == "event_window" and spec.seed in THREE),
        *grid(
            [{"readout_options": {"config": OTSU}}], seed=THREE, system=["gear", "impact"], readout="crest"
        ),
    ),
)
