"""Stronger baselines: last state, ERM and group DRO with a GRU; and what else is tried against shortcuts, pointwise."""

import dataclasses
import math
from typing import Any

from crest.lab.evidence.compare import against, by_seed, mean_credit, mean_error, percent, stronger_attention
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import Words, by_readout, by_system, error_panel, errors_of, grouped_table
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import (
    ATTENTION,
    FIVE,
    FORMS,
    HEADLINE_SYSTEMS,
    OF_SIGNALS,
    THREE,
    headline_runs,
)
from crest.lab.evidence.shown import BEYOND, Chart, Claim, Shown, Table
from crest.lab.evidence.stats import paired
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record
from crest.lab.systems import GearSystem, ImpactSystem

RECURRENT_CLAIM = Claim(
    text="With a GRU on SG-Drive, CREST is well below last state, ERM and group DRO",
    paper="0.96 against about 1.46, −34 %",
)
_GUESS = Claim(
    text="With a GRU on SG-Drive, last state, ERM and group DRO do worse than a guess out of distribution",
    paper="about 1.46",
)
_GROUP = Claim(
    text="With a GRU on SG-Drive, group DRO repairs neither the OOD error nor the event credit",
    paper="1.46, credit at that of the mean",
)
_CHANGE = -0.34
# The numbers of the oscillator that each simulator is between its events.
_OSCILLATORS = {
    "gear": {
        "turn": 2 * math.pi * GearSystem.natural_frequency / GearSystem.sample_rate,
        "damping": GearSystem.damping,
    },
    "impact": {
        "turn": 2 * math.pi / (ImpactSystem.samples_per_period * ImpactSystem.drive_frequency),
        "damping": ImpactSystem.damping / 2,
    },
}
_MORE_CREDIT = 0.05
"""Growth of CiE@1 up to which credit counts as unmoved, as for the window in Figure 3."""
_SPARED = -0.1
"""Relative change of the OOD error above which an objective is said to leave the failure."""


def _shortcut_options(system: str) -> dict[str, dict[str, Any]]:
    """Objectives against shortcuts, by what to call them: fields of their specs."""
    return {
        "IRM over quartiles of the cue": {"objective": "irm"},
        "last layer again, balanced": {"objective": "last_layer"},
        "just train twice": {"objective": "train_twice"},
        "physics-informed residual": {"objective": "physics", "objective_options": _OSCILLATORS[system]},
    }


_SHORTCUT_RUNS = {
    system: (
        *headline_runs(seed=THREE, system=[system], readout=["scored_attention", "crest"]),
        *grid(
            list(_shortcut_options(system).values()), seed=THREE, system=system, readout="scored_attention"
        ),
    )
    for system in HEADLINE_SYSTEMS
}
RECURRENT_RUNS = (
    *grid(seed=FIVE, system="gear", encoder="gru", readout=FORMS),
    *grid(seed=FIVE, system="gear", encoder="gru", readout=["last", "mean"]),
    *grid(seed=FIVE, system="gear", encoder="gru", readout="mean", objective="group_dro"),
    *grid([{"readout_options": OF_SIGNALS}], seed=FIVE, system="gear", encoder="gru", readout="crest"),
)
BY_SIGNALS = "CREST, budget of the signals"


def recurrent_baselines(found: Found) -> dict[str, list[Record]]:
    """The records of the three, by what to call them."""
    return {
        "last state": found.of(readout="last"),
        "ERM (mean)": found.of(readout="mean", objective="mse"),
        "group DRO (mean)": found.of(readout="mean", objective="group_dro"),
    }


def recurrent_groups(found: Found) -> dict[str, list[Record]]:
    """All records with a GRU, by what to call them."""
    return {
        **recurrent_baselines(found),
        **by_readout(found, ATTENTION),
        "crest": found.of(readout="crest", readout_options={}),
        BY_SIGNALS: found.of(readout="crest", readout_options=OF_SIGNALS),
    }


def recurrent_claims(found: Found) -> tuple[Claim, ...]:
    """CREST against last state, ERM and group DRO with a GRU: as it is, and with the budget of the signals; then these three alone."""
    of_signals = dataclasses.replace(
        RECURRENT_CLAIM, text=f"{RECURRENT_CLAIM.text}, with the budget of the signals", paper=BEYOND
    )
    return (
        recurrent_claim(RECURRENT_CLAIM, found, {}),
        recurrent_claim(of_signals, found, OF_SIGNALS),
        _guess_claim(found),
        _group_claim(found),
    )


def _guess_claim(found: Found) -> Claim:
    groups = recurrent_baselines(found)
    if not all(found.complete(readout=readout) for readout in ("last", "mean")):
        return _GUESS
    above = {name: sum(error > 1 for error in by_seed(records).values()) for name, records in groups.items()}
    words = ", ".join(
        f"{name} {mean_error(records):.3f}, above 1 on {above[name]} of {len(records)} seeds"
        for name, records in groups.items()
    )
    return _GUESS.judged(
        words,
        holds=all(above[name] == len(records) for name, records in groups.items()),
        partly=False,
        bar="above 1 on every seed with each",
        seeds=len(groups["last state"]),
        brief=", ".join(f"{mean_error(records):.2f}" for records in groups.values()),
    )


def _group_claim(found: Found) -> Claim:
    groups = recurrent_baselines(found)
    plain, grouped = groups["ERM (mean)"], groups["group DRO (mean)"]
    result = against(grouped, plain)
    if result is None or not found.complete(readout="mean"):
        return _GROUP
    before, after = mean_credit(plain, "cie"), mean_credit(grouped, "cie")
    return _GROUP.judged(
        f"OOD {percent(result.change, 1)} against ERM, CiE@1 {before:.2f} to {after:.2f}",
        holds=result.change > _SPARED and after <= before + _MORE_CREDIT,
        partly=False,
        bar="it lowers ERM's OOD error by less than a tenth, and its CiE@1 is at most 0.05 above",
        seeds=result.seeds,
    )


def recurrent_claim(claim: Claim, found: Found, options: dict[str, Any]) -> Claim:
    """CREST with these options against last state, ERM and group DRO."""
    form = stronger_attention(found)
    there = found.complete(readout="crest", readout_options=options) and all(
        found.complete(readout=readout) for readout in (*ATTENTION, "last", "mean")
    )
    if form is None or not there:
        return claim
    crest = by_seed(found.of(readout="crest", readout_options=options))
    results = {name: paired(crest, by_seed(records)) for name, records in recurrent_baselines(found).items()}
    rival = paired(crest, by_seed(found.of(readout=form)))
    words = ", ".join(f"{percent(result.change, 1)} against {name}" for name, result in results.items())
    worst = max(results.values(), key=lambda result: result.change)
    below = [
        all(
            crest[seed] <= (1 + _CHANGE) * by_seed(records)[seed]
            for records in recurrent_baselines(found).values()
        )
        for seed in crest
    ]
    return claim.judged(
        f"{words}, below each by a third on {sum(below)} of {len(below)} seeds; {percent(rival.change, 1)} against "
        f"{named(form)}, which the claim leaves out",
        holds=all(below),
        partly=all(result.reaches(_CHANGE / 2) for result in results.values()),
        bar=f"{percent(_CHANGE)} or below against each, on every seed",
        test=dataclasses.replace(worst, p=max(result.p for result in results.values())),
        brief=f"{percent(worst.change, 1)} against the best of the three, a third below each on {sum(below)} of {len(below)}",
    )


def _shortcuts(found: Found, system: str) -> Found:
    return found.part(_SHORTCUT_RUNS[system])


def _shortcut_groups(found: Found, system: str) -> dict[str, list[Record]]:
    part = _shortcuts(found, system)
    groups = {"plain": part.of(readout="scored_attention", objective="mse")}
    groups |= {
        name: part.of(readout="scored_attention", objective=fields["objective"])
        for name, fields in _shortcut_options(system).items()
    }
    return groups | {"crest": part.of(readout="crest")}


def _shortcut_table(found: Found) -> Table:
    groups = by_system(lambda system: _shortcut_groups(found, system))
    changes = {
        words: percent(result.change)
        for words, records in groups.items()
        if words[1] != "plain" and (result := against(records, groups[words[0], "plain"])) is not None
    }
    return grouped_table(
        "shortcuts",
        "MLP-scored attention with a pointwise encoder, trained as it is, and with what is usually tried against shortcuts. IRM "
        "and the last layer are told the cue's quartiles, the residual is told the equation of motion; CREST is told nothing. The last layer is "
        "fitted again on the training set, for want of other data; just train twice has 1.8 times the updates.",
        ("system", "training", "ID", "OOD", "against plain", "CiE@1", "ECM", "seeds"),
        groups,
        extra={"against plain": changes},
    )


def _physics_claim(found: Found, system: str) -> Claim:
    claim = Claim(
        text=f"A physics-informed residual does not remove the failure on {named(system)}",
        paper="stated without a number",
    )
    groups = _shortcut_groups(found, system)
    plain, crest = groups["plain"], groups["crest"]
    result = against(groups["physics-informed residual"], plain)
    gain = against(crest, plain)
    if result is None or gain is None or not _shortcuts(found, system).complete():
        return claim
    return claim.judged(
        f"OOD {percent(result.change, 1)}; CREST {percent(gain.change, 1)}",
        holds=result.change > _SPARED and gain.lower == gain.seeds,
        partly=gain.lower == gain.seeds and result.change > gain.change / 2,
        bar="it lowers the OOD error by less than a tenth, and CREST lowers it on every seed; in part, by less than half of what "
        "CREST does",
        seeds=result.seeds,
    )


def _recurrent(found: Found) -> Shown:
    groups = recurrent_groups(found)
    changes: dict[Words, str] = {
        (name,): percent(result.change)
        for name, records in groups.items()
        if name != "crest" and (result := against(groups["crest"], records)) is not None
    }
    table = grouped_table(
        "baselines",
        "A GRU's state carries what it saw before: any step can tell of an event that is over. Group DRO "
        "has the quartiles of the speed as groups. CREST leaves the run-up of the state out; its pooled budget follows the features, that of the signals does not. * the stronger form of attention.",
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
    return Shown(
        tables=(table,), charts=(chart,) if any(groups.values()) else (), claims=recurrent_claims(found)
    )


def _show(found: Found) -> Shown:
    recurrent = _recurrent(found.part(RECURRENT_RUNS))
    return dataclasses.replace(
        recurrent,
        tables=(*recurrent.tables, _shortcut_table(found)),
        claims=(*recurrent.claims, *(_physics_claim(found, system) for system in HEADLINE_SYSTEMS)),
    )


BASELINES_EXPERIMENT = Experiment(
    name="baselines",
    evidence="Stronger baselines",
    summary="Do last state, ERM or group DRO repair a recurrent encoder, and what else is tried against shortcuts a pointwise one?",
    show=_show,
    runs=(*RECURRENT_RUNS, *(spec for runs in _SHORTCUT_RUNS.values() for spec in runs)),
)
