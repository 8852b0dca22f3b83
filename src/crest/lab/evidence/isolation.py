"""Figure 3: event supervision (positive control) and a shrinking window (negative control) on SG-Drive."""

from collections.abc import Mapping

from crest.lab.evidence.compare import by_seed, mean_credit, mean_error, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import grouped_table
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import ATTENTION, FIVE, STEPS, headline_runs
from crest.lab.evidence.shown import Chart, Claim, Mark, Panel, Series, Shown
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record

_WEIGHTS = (0.01, 0.1, 1.0)
_WINDOWS = (8, 32, 128, 256)

_CHANGE = -0.5
"""The paper's: supervision halves the OOD error."""
_WINDOW = Claim(
    text="Shrinking the aggregation window does not move credit onto the events",
    paper="credit stays, both errors grow",
)


def _supervised(found: Found, form: str) -> dict[float, list[Record]]:
    """Records of a form of attention by the weight of the auxiliary loss; weight 0 is the plain objective."""
    plain = {0.0: found.of(readout=form, objective="mse")}
    return plain | {
        weight: found.of(readout=form, objective="event_auxiliary", objective_options={"weight": weight})
        for weight in _WEIGHTS
    }


def _windowed(found: Found) -> dict[float, list[Record]]:
    """Records by window; the whole trajectory is attention with the same learned query."""
    windows: dict[float, list[Record]] = {
        window: found.of(readout="windowed", readout_options={"window": window}) for window in _WINDOWS
    }
    return windows | {STEPS: found.of(readout="attention", objective="mse")}


def _panel(title: str, x_label: str, groups: Mapping[float, list[Record]]) -> Panel:
    parts = (
        ("ID error", "id", lambda records: mean_error(records, "id")),
        ("OOD error", "ood", mean_error),
        ("CiE@1", "credit", lambda records: mean_credit(records, "cie")),
        ("ECM", "credit_mass", lambda records: mean_credit(records, "ecm")),
    )
    series = tuple(
        Series(
            name=name,
            x=[f"{key:g}" for key in groups],
            y=[of(records) for records in groups.values()],
            look="bars",
            colour=colour,
        )
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


def _supervision_claim(found: Found, form: str) -> Claim:
    claim = Claim(
        text=f"Supervision of the events raises the credit of {named(form)} and lowers its OOD error, but needs labels",
        paper="credit up, OOD error halved",
    )
    if not all(found.complete(readout=readout) for readout in ATTENTION):
        return claim
    groups = _supervised(found, form)
    plain = groups[0.0]
    best = max(_WEIGHTS, key=lambda weight: mean_credit(groups[weight], "cie"))
    result = paired(by_seed(groups[best]), by_seed(plain))
    before, after = mean_credit(plain, "cie"), mean_credit(groups[best], "cie")
    return claim.judged(
        f"at weight {best:g}: CiE@1 {before:.2f} to {after:.2f}, OOD {percent(result.change, 1)}, lower on "
        f"{result.lower} of {result.seeds} seeds",
        holds=after > before and result.reaches(_CHANGE),
        partly=after > before and result.reaches(_CHANGE / 2),
        bar=f"credit is higher, and the OOD error {percent(_CHANGE)} or below and lower on every seed",
        test=result,
        brief=f"CiE@1 {before:.2f} to {after:.2f}, OOD {percent(result.change, 1)}",
    )


def _window_claim(found: Found) -> Claim:
    if not found.complete(readout="windowed") or not found.complete(readout="attention", objective="mse"):
        return _WINDOW
    groups = _windowed(found)
    whole = groups.pop(STEPS)
    credit, chance = mean_credit(whole, "cie"), mean_credit(whole, "chance")
    shrunk = {window: mean_credit(records, "cie") for window, records in groups.items()}
    return _WINDOW.judged(
        f"CiE@1 {credit:.2f} with the whole trajectory; "
        + ", ".join(f"{cie:.2f} at {window}" for window, cie in shrunk.items())
        + f"; chance {chance:.2f}",
        holds=max(shrunk.values()) <= credit + 0.05,
        partly=shrunk[min(shrunk)] <= credit + 0.05,
        bar="no window has a CiE@1 more than 0.05 above that of the whole trajectory",
        seeds=len(whole),
        brief=f"CiE@1 {credit:.2f} at 512 steps, {max(shrunk.values()):.2f} at most below",
    )


def _show(found: Found) -> Shown:
    supervised = {form: _supervised(found, form) for form in ATTENTION}
    windowed = _windowed(found)
    table = grouped_table(
        "isolation",
        "SG-Drive. Weight 0 and window 512 are the plain readouts.",
        ("control", "value", "ID", "OOD", "CiE@1", "ECM", "seeds"),
        {
            (control, f"{value:g}"): records
            for control, groups in (
                *((f"auxiliary weight, {named(form)}", groups) for form, groups in supervised.items()),
                ("window", windowed),
            )
            for value, records in groups.items()
        },
    )
    panels = [
        _panel(title, x_label, groups)
        for title, x_label, groups in (
            *(
                (f"(a) event supervision, {named(form)}", "weight of the auxiliary loss", groups)
                for form, groups in supervised.items()
            ),
            ("(b) windowed attention", "window, steps", windowed),
        )
        if all(groups.values())
    ]
    chart = Chart(name="isolation", caption="The two controls.", panels=tuple(panels))
    return Shown(
        tables=(table,),
        charts=(chart,) if panels else (),
        claims=(*(_supervision_claim(found, form) for form in ATTENTION), _window_claim(found)),
    )


ISOLATION_EXPERIMENT = Experiment(
    name="isolation",
    evidence="Figure 3",
    summary="Is it the missing supervision, or the reach of the aggregation?",
    show=_show,
    runs=(
        *headline_runs(seed=FIVE, system="gear", readout=ATTENTION),
        *grid(
            [{"objective_options": {"weight": weight}} for weight in _WEIGHTS],
            seed=FIVE,
            system="gear",
            readout=ATTENTION,
            objective="event_auxiliary",
        ),
        *grid(
            [{"readout_options": {"window": window}} for window in _WINDOWS],
            seed=FIVE,
            system="gear",
            readout="windowed",
        ),
    ),
)
