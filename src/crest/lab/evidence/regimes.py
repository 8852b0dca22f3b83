"""Where CREST helps and where not: OOD change against attention over regimes of the simulators."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from crest.lab.evidence.compare import Contest, contest, error_text, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import CONTEST_COLUMNS, grouped_table, mean_series
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import FORMS, HEADLINE_SYSTEMS, ONE
from crest.lab.evidence.shown import Chart, Claim, Panel, Shown, Table
from crest.lab.runs.grid import grid
from crest.lab.systems import OUTSIDE, REGIMES, Sizes

_Duels: TypeAlias = Mapping[str, Mapping[str, Contest | None]]
"""CREST against attention, by system and regime; None while runs are missing."""

# Half of the training trajectories: thirty-three settings must not cost more than the headline.
# our choice: docs/evidence/choices.md#evidence
_SIZES = Sizes(train=512)
_STRENGTHS = ("weak_cue", "default", "perfect_cue")
_NOISES = ("clear_cue", "default", "noisy_cue")
_HEADER = (
    "system", "regime", "attention is", "ID, attention", "ID, CREST", "OOD, attention", "OOD, CREST", "ΔOOD",
    "CiE@1, both",
)  # fmt: skip
_TEXTS = {
    "diffuse_wear": "CREST does not help where the target is diffuse (all teeth worn)",
    "cue_on_event": "CREST does not help where the cue is transient and sits on the event",
}


def _fields(system: str) -> dict[str, Mapping[str, Any]]:
    """Fields of a spec by what to call it: the named regimes, then cue strength crossed with cue noise."""
    simple: dict[str, Mapping[str, Any]] = {
        regime: {"regime": regime, "system_options": {}}
        for regime in REGIMES[system]
        # It has a piece of its own, and is another regime, or two of them crossed, by a second name.
        if regime != "severe"
    }
    crossed = {
        f"{strength}, {noise}": {"regime": strength, "system_options": REGIMES[system][noise]}
        for strength in _STRENGTHS
        for noise in _NOISES
        if "default" not in (strength, noise)
    }
    return simple | crossed


def _claim(duels: Mapping[str, Contest | None], regime: str) -> Claim:
    claim = Claim(text=_TEXTS[regime], paper="named as a limitation")
    duel, usual = duels[regime], duels["default"]
    if duel is None or usual is None:
        return claim
    change, gain = duel.ood.change, usual.ood.change
    return claim.judged(
        f"OOD {percent(change, 1)} ({error_text(duel.attention)} to {error_text(duel.crest)}); "
        f"{percent(gain, 1)} in the default regime",
        holds=gain < -0.05 <= change,
        partly=gain < 0 and change > 0.5 * gain,
        bar="it lowers the OOD error by less than 5 %, and by more in the default regime",
        seeds=duel.ood.seeds,
    )


def _regime_table(duels: _Duels) -> Table:
    return grouped_table(
        "regimes",
        "The stronger form of attention in each regime against CREST; 512 training trajectories, seed 0. "
        "What a regime changes: `crest systems list`.",
        _HEADER,
        {
            (system, name + (" (outside)" if name in OUTSIDE else "")): duel
            for system, by_name in duels.items()
            for name, duel in by_name.items()
        },
        CONTEST_COLUMNS,
    )


def _cue_table(duels: _Duels) -> Table:
    def cell(system: str, strength: str, noise: str) -> str:
        names = [name for name in (strength, noise) if name != "default"]
        duel = duels[system][", ".join(names) or "default"]
        return "-" if duel is None else percent(duel.ood.change)

    return Table(
        name="cue",
        caption="Change of the OOD error, CREST against attention, over the strength of the cue and its noise per step.",
        header=("system", "cue strength", *(f"noise: {noise}" for noise in _NOISES)),
        rows=tuple(
            (named(system), strength, *(cell(system, strength, noise) for noise in _NOISES))
            for system in HEADLINE_SYSTEMS
            for strength in _STRENGTHS
        ),
    )


def _panel(system: str, duels: Mapping[str, Contest | None]) -> Panel:
    known = {name: duel for name, duel in duels.items() if duel is not None}
    there = dict(sorted(known.items(), key=lambda item: item[1].ood.change))
    series = mean_series(
        "change of the OOD error, %",
        {name: [100 * duel.ood.change] for name, duel in there.items()},
        "crest",
        hover=[
            f"OOD {error_text(duel.attention)} to {error_text(duel.crest)}, "
            f"ID {error_text(duel.attention, 'id')} to {error_text(duel.crest, 'id')}"
            for duel in there.values()
        ],
    )
    return Panel(title=named(system), x_label="", y_label="ΔOOD, %", series=(series,), horizontal=True)


def _show(found: Found) -> Shown:
    duels = {
        system: {name: contest(found, system=system, **fields) for name, fields in _fields(system).items()}
        for system in HEADLINE_SYSTEMS
    }
    chart = Chart(
        name="regimes",
        caption="Change of the OOD error, CREST against attention, sorted; left of 0 it helps. A hollow point is one seed.",
        panels=tuple(_panel(system, duels[system]) for system in HEADLINE_SYSTEMS),
    )
    return Shown(
        tables=(_regime_table(duels), _cue_table(duels)),
        charts=(chart,),
        claims=tuple(_claim(duels["gear"], regime) for regime in OUTSIDE),
        notes=("One seed: a single point may be chance, the pattern hardly is.",),
    )


REGIMES_EXPERIMENT = Experiment(
    name="regimes",
    evidence="Limitations",
    summary="Where does CREST help against attention, and where not?",
    show=_show,
    runs=grid(
        [{"system": system, **fields} for system in HEADLINE_SYSTEMS for fields in _fields(system).values()],
        [{"sizes": _SIZES}],
        seed=ONE,
        readout=FORMS,
    ),
)
