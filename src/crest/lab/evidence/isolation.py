"""Figure 3: event supervision (positive control) and a shrinking window (negative control) on SG-Drive."""

from crest.lab.evidence.compare import (
    by_seed,
    credit,
    error,
    mean_credit,
    mean_error,
    missing,
    percent,
    verdict,
)
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import MAIN
from crest.lab.evidence.seeds import FIVE
from crest.lab.evidence.shown import Chart, Claim, Mark, Panel, Series, Shown, Table
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record

WEIGHTS = (0.01, 0.1, 1.0)
WINDOWS = (8, 32, 128, 256)
STEPS = 512
"""The whole trajectory: a window of it is plain attention."""

SUPERVISION = "Supervision of the events raises credit and lowers the OOD error, but needs labels"
WINDOW = "Shrinking the aggregation window does not move credit onto the events"


def _supervised(found: Found) -> dict[float, list[Record]]:
    """Records by the weight of the auxiliary loss; weight 0 is the plain objective."""
    plain = {0.0: found.of(readout="scored_attention", objective="mse")}
    return plain | {
        weight: found.of(objective="event_auxiliary", objective_options={"weight": weight})
        for weight in WEIGHTS
    }


def _windowed(found: Found) -> dict[int, list[Record]]:
    """Records by window; the whole trajectory is attention with the same learned query."""
    windows = {window: found.of(readout="windowed", readout_options={"window": window}) for window in WINDOWS}
    return windows | {STEPS: found.of(readout="attention")}


def _panel(title: str, x_label: str, groups: dict[float, list[Record]]) -> Panel:
    words = [f"{key:g}" for key in groups]
    parts = (
        ("ID error", "id", lambda records: mean_error(records, "id")),
        ("OOD error", "ood", mean_error),
        ("CiE@1", "core", lambda records: mean_credit(records, "cie")),
        ("ECM", "event", lambda records: mean_credit(records, "ecm")),
    )
    series = tuple(
        Series(name=name, x=words, y=[of(records) for records in groups.values()], look="bars", colour=colour)
        for name, colour, of in parts
    )
    chance = mean_credit(next(iter(groups.values())), "chance")
    return Panel(
        title=title,
        x_label=x_label,
        y_label="error, credit",
        series=series,
        marks=(Mark(name="chance", axis="y", at=chance),),
    )


def _supervision_claim(groups: dict[float, list[Record]]) -> Claim:
    paper = "credit up, OOD error halved"
    if not all(len(records) == len(FIVE) for records in groups.values()):
        return missing(SUPERVISION, paper)
    plain = groups[0.0]
    best = max(WEIGHTS, key=lambda weight: mean_credit(groups[weight], "cie"))
    result = paired(by_seed(groups[best]), by_seed(plain))
    before, after = mean_credit(plain, "cie"), mean_credit(groups[best], "cie")
    return Claim(
        text=SUPERVISION,
        paper=paper,
        measured=f"at weight {best:g}: CiE@1 {before:.2f} to {after:.2f}, OOD {percent(result.change, 1)}",
        bar="credit is higher, and the OOD error lower on every seed",
        verdict=verdict(
            after > before and result.lower == result.seeds, after > before and result.change < 0
        ),
        seeds=result.seeds,
        p=result.p,
        smallest_p=result.smallest_p,
    )


def _window_claim(groups: dict[int, list[Record]]) -> Claim:
    paper = "credit stays, both errors grow"
    if not all(len(records) == len(FIVE) for records in groups.values()):
        return missing(WINDOW, paper)
    whole = mean_credit(groups[STEPS], "cie")
    chance = mean_credit(groups[STEPS], "chance")
    shrunk = {window: mean_credit(groups[window], "cie") for window in WINDOWS}
    highest = max(shrunk.values())
    return Claim(
        text=WINDOW,
        paper=paper,
        measured=f"CiE@1 {whole:.2f} with the whole trajectory; "
        + ", ".join(f"{cie:.2f} at {window}" for window, cie in shrunk.items())
        + f"; chance {chance:.2f}",
        bar="no window has a CiE@1 more than 0.05 above that of the whole trajectory",
        verdict=verdict(highest <= whole + 0.05, shrunk[min(WINDOWS)] <= whole + 0.05),
        seeds=len(FIVE),
    )


def show(found: Found) -> Shown:
    """Both controls."""
    supervised, windowed = _supervised(found), _windowed(found)
    rows = [
        (
            "auxiliary weight",
            f"{weight:g}",
            error(records, "id"),
            error(records),
            credit(records, "cie"),
            credit(records, "ecm"),
            f"{len(records)}",
        )
        for weight, records in supervised.items()
    ] + [
        (
            "window",
            f"{window}",
            error(records, "id"),
            error(records),
            credit(records, "cie"),
            credit(records, "ecm"),
            f"{len(records)}",
        )
        for window, records in windowed.items()
    ]
    panels = []
    if all(supervised.values()):
        panels.append(
            _panel("(a) event supervision, MLP-scored attention", "weight of the auxiliary loss", supervised)
        )
    if all(windowed.values()):
        panels.append(
            _panel(
                "(b) windowed attention",
                "window, steps",
                {float(key): value for key, value in windowed.items()},
            )
        )
    return Shown(
        tables=(
            Table(
                name="isolation",
                caption="SG-Drive. Weight 0 and window 512 are the plain readouts.",
                header=("control", "value", "ID", "OOD", "CiE@1", "ECM", "seeds"),
                rows=tuple(rows),
            ),
        ),
        charts=(Chart(name="isolation", caption="The two controls.", panels=tuple(panels)),)
        if panels
        else (),
        claims=(_supervision_claim(supervised), _window_claim(windowed)),
    )


ISOLATION = Experiment(
    name="isolation",
    evidence="Figure 3",
    summary="Is it the missing supervision, or the reach of the aggregation?",
    show=show,
    runs=(
        *(
            spec
            for spec in MAIN.runs
            if spec.system == "gear" and spec.seed in FIVE and spec.readout != "crest"
        ),
        *grid(
            [{"objective_options": {"weight": weight}} for weight in WEIGHTS],
            seed=FIVE,
            system="gear",
            readout="scored_attention",
            objective="event_auxiliary",
        ),
        *grid(
            [{"readout_options": {"window": window}} for window in WINDOWS],
            seed=FIVE,
            system="gear",
            readout="windowed",
        ),
    ),
)
