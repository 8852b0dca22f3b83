"""Stronger baselines: last state, ERM and group DRO on a recurrent encoder, SG-Drive."""

import dataclasses

from crest.lab.evidence.compare import against, by_seed, percent, stronger_attention
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import Words, by_readout, error_panel, errors_of, grouped_table
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import FIVE, FORMS
from crest.lab.evidence.shown import Chart, Claim, Shown
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record

_CLAIM = Claim(
    text="With a GRU on SG-Drive, CREST is well below last state, ERM and group DRO",
    paper="0.96 against about 1.46, −34 %",
)
_CHANGE = -0.34


def _baselines(found: Found) -> dict[str, list[Record]]:
    return {
        "last state": found.of(readout="last"),
        "ERM (mean)": found.of(readout="mean", objective="mse"),
        "group DRO (mean)": found.of(readout="mean", objective="group_dro"),
    }


def _judged(found: Found) -> Claim:
    form = stronger_attention(found)
    if form is None or not found.complete():
        return _CLAIM
    crest = by_seed(found.of(readout="crest"))
    results = {name: paired(crest, by_seed(records)) for name, records in _baselines(found).items()}
    rival = paired(crest, by_seed(found.of(readout=form)))
    words = ", ".join(f"{percent(result.change, 1)} against {name}" for name, result in results.items())
    worst = max(results.values(), key=lambda result: result.change)
    below = [
        all(crest[seed] <= (1 + _CHANGE) * by_seed(records)[seed] for records in _baselines(found).values())
        for seed in crest
    ]
    return _CLAIM.judged(
        f"{words}, below each by a third on {sum(below)} of {len(below)} seeds; {percent(rival.change, 1)} against "
        f"{named(form)}, which the claim leaves out",
        holds=all(below),
        partly=all(result.reaches(_CHANGE / 2) for result in results.values()),
        bar=f"{percent(_CHANGE)} or below against each, on every seed",
        test=dataclasses.replace(worst, p=max(result.p for result in results.values())),
    )


def _show(found: Found) -> Shown:
    groups = _baselines(found) | by_readout(found)
    changes: dict[Words, str] = {
        (name,): percent(result.change)
        for name, records in groups.items()
        if name != "crest" and (result := against(groups["crest"], records)) is not None
    }
    table = grouped_table(
        "baselines",
        "A GRU's state carries what it saw before: any step can tell of an event that is over. Group DRO "
        "has the quartiles of the speed as groups. CREST leaves the run-up of the state out. * the stronger form of attention.",
        ("readout", "ID", "OOD", "CREST against it", "CiE@1", "ECM", "seeds"),
        {(name,): records for name, records in groups.items()},
        extra={"CREST against it": changes},
        starred=[(stronger_attention(found) or "",)],
    )
    chart = Chart(
        name="baselines",
        caption="Errors with the recurrent encoder.",
        panels=(error_panel("SG-Drive, GRU", errors_of(groups)),),
    )
    return Shown(tables=(table,), charts=(chart,) if any(groups.values()) else (), claims=(_judged(found),))


BASELINES_EXPERIMENT = Experiment(
    name="baselines",
    evidence="Stronger baselines",
    summary="Do last state, ERM or group DRO repair a recurrent encoder on SG-Drive?",
    show=_show,
    runs=(
        *grid(seed=FIVE, system="gear", encoder="gru", readout=FORMS),
        *grid(seed=FIVE, system="gear", encoder="gru", readout=["last", "mean"]),
        *grid(seed=FIVE, system="gear", encoder="gru", readout="mean", objective="group_dro"),
    ),
)
