"""Stronger baselines: last state, ERM and group DRO on a recurrent encoder, SG-Drive."""

from crest.lab.evidence.bars import both_errors
from crest.lab.evidence.compare import by_seed, credit, error, missing, percent, stronger_attention, verdict
from crest.lab.evidence.cross import CROSS
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import FORMS
from crest.lab.evidence.names import named
from crest.lab.evidence.seeds import THREE
from crest.lab.evidence.shown import Chart, Claim, Panel, Shown, Table
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record

BAR = -0.34
TEXT = "With a GRU on SG-Drive, CREST is well below last state, ERM and group DRO"
PAPER = "0.96 against about 1.46, −34 %"


def _groups(found: Found) -> dict[str, list[Record]]:
    return {
        "last state": found.of(readout="last"),
        "ERM (mean)": found.of(readout="mean", objective="mse"),
        "group DRO (mean)": found.of(readout="mean", objective="group_dro"),
        **{named(form): found.of(readout=form) for form in FORMS},
    }


def _claim(found: Found) -> Claim:
    if not found.complete():
        return missing(TEXT, PAPER)
    groups = _groups(found)
    names = ("last state", "ERM (mean)", "group DRO (mean)")
    results = {name: paired(by_seed(groups["CREST"]), by_seed(groups[name])) for name in names}
    words = ", ".join(f"{percent(result.change, 1)} against {name}" for name, result in results.items())
    form = stronger_attention(found)
    if form is not None:
        rival = paired(by_seed(groups["CREST"]), by_seed(groups[named(form)]))
        words += f"; {percent(rival.change, 1)} against {named(form)}, which the claim leaves out"
    worst = max(results.values(), key=lambda result: result.change)
    return Claim(
        text=TEXT,
        paper=PAPER,
        measured=words,
        bar=f"{percent(BAR)} or below against each",
        verdict=verdict(worst.change <= BAR, worst.change < 0),
        seeds=worst.seeds,
        p=max(result.p for result in results.values()),
        smallest_p=worst.smallest_p,
    )


def show(found: Found) -> Shown:
    """Every baseline with the recurrent encoder."""
    groups = _groups(found)
    form = stronger_attention(found)
    rows = []
    for name, records in groups.items():
        change = ""
        if name != "CREST" and records and by_seed(records).keys() == by_seed(groups["CREST"]).keys():
            change = percent(paired(by_seed(groups["CREST"]), by_seed(records)).change)
        star = " *" if form is not None and name == named(form) else ""
        parts = (error(records, "id"), error(records), change, credit(records, "cie"), credit(records, "ecm"))
        rows.append((name + star, *parts, f"{len(records)}"))
    there = {name: records for name, records in groups.items() if records}
    chart = Chart(
        name="baselines",
        caption="Errors with the recurrent encoder.",
        panels=(Panel(title="SG-Drive, GRU", x_label="", y_label="error", series=both_errors(there)),),
    )
    return Shown(
        tables=(
            Table(
                name="baselines",
                caption="A GRU's state carries what it saw before: any step can tell of an event that is over. Group DRO "
                "has the quartiles of the speed as groups. * the stronger form of attention.",
                header=("readout", "ID", "OOD", "CREST against it", "CiE@1", "ECM", "seeds"),
                rows=tuple(rows),
            ),
        ),
        charts=(chart,) if there else (),
        claims=(_claim(found),),
    )


BASELINES = Experiment(
    name="baselines",
    evidence="Stronger baselines",
    summary="Do last state, ERM or group DRO repair a recurrent encoder on SG-Drive?",
    show=show,
    runs=(
        *(spec for spec in CROSS.runs if spec.system == "gear" and spec.encoder == "gru"),
        *grid(seed=THREE, system="gear", encoder="gru", readout=["last", "mean"]),
        *grid(seed=THREE, system="gear", encoder="gru", readout="mean", objective="group_dro"),
    ),
)
