"""Where CREST helps and where not: OOD change against attention over regimes of the simulators."""

from collections.abc import Mapping
from typing import Any

from crest.lab.evidence.bars import bars
from crest.lab.evidence.compare import Contest, contest, credit, error, missing, percent, verdict
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import FORMS, SYSTEMS
from crest.lab.evidence.names import SYSTEM_NAMES, named
from crest.lab.evidence.seeds import ONE
from crest.lab.evidence.shown import Chart, Claim, Panel, Shown, Table
from crest.lab.runs.grid import grid
from crest.systems import OUTSIDE, Sizes
from crest.systems import REGIMES as SIMULATED

# Half of the training trajectories: thirty-three settings must not cost more than the headline.
# our choice: docs/choices.md#evidence
SIZES = Sizes(train=512)
STRENGTHS = ("weak_cue", "default", "perfect_cue")
NOISES = ("clear_cue", "default", "noisy_cue")
HEADER = (
    "system", "regime", "attention is", "ID, attention", "ID, CREST", "OOD, attention", "OOD, CREST", "ΔOOD",
    "CiE@1, both",
)  # fmt: skip
TEXTS = {
    "diffuse_wear": "CREST does not help where the target is diffuse (all teeth worn)",
    "cue_on_event": "CREST does not help where the cue is transient and sits on the event",
}


def settings(system: str) -> dict[str, Mapping[str, Any]]:
    """Fields of a spec by what to call it: the named regimes, then cue strength crossed with cue noise."""
    simple: dict[str, Mapping[str, Any]] = {
        regime: {"regime": regime, "system_options": {}} for regime in SIMULATED[system]
    }
    crossed = {
        f"{strength}, {noise}": {"regime": strength, "system_options": SIMULATED[system][noise]}
        for strength in STRENGTHS
        for noise in NOISES
        if "default" not in (strength, noise)
    }
    return simple | crossed


def _contests(found: Found, system: str) -> dict[str, Contest | None]:
    return {name: contest(found, system=system, **fields) for name, fields in settings(system).items()}


def _claim(duels: Mapping[str, Contest | None], regime: str) -> Claim:
    duel, usual = duels[regime], duels["default"]
    if duel is None or usual is None:
        return missing(TEXTS[regime], "named as a limitation")
    change, gain = duel.ood.change, usual.ood.change
    return Claim(
        text=TEXTS[regime],
        paper="named as a limitation",
        measured=f"OOD {percent(change, 1)} ({error(duel.attention)} to {error(duel.crest)}); "
        f"{percent(gain, 1)} in the default regime",
        bar="it lowers the OOD error by less than 5 %, and by more in the default regime",
        verdict=verdict(gain < -0.05 <= change, gain < 0 and change > 0.5 * gain),
        seeds=duel.ood.seeds,
    )


def _row(system: str, name: str, duel: Contest | None) -> tuple[str, ...]:
    label = name + (" (outside)" if name in OUTSIDE else "")
    if duel is None:
        return (SYSTEM_NAMES[system], label, *["-"] * (len(HEADER) - 2))
    return (
        SYSTEM_NAMES[system],
        label,
        named(duel.form),
        error(duel.attention, "id"),
        error(duel.crest, "id"),
        error(duel.attention),
        error(duel.crest),
        percent(duel.ood.change),
        f"{credit(duel.attention, 'cie')} / {credit(duel.crest, 'cie')}",
    )


def _cue_table(duels: Mapping[str, Mapping[str, Contest | None]]) -> Table:
    def cell(system: str, strength: str, noise: str) -> str:
        names = [name for name in (strength, noise) if name != "default"]
        duel = duels[system][", ".join(names) or "default"]
        return "-" if duel is None else percent(duel.ood.change)

    return Table(
        name="cue",
        caption="Change of the OOD error, CREST against attention, over the strength of the cue and its noise per step.",
        header=("system", "cue strength", *(f"noise: {noise}" for noise in NOISES)),
        rows=tuple(
            (SYSTEM_NAMES[system], strength, *(cell(system, strength, noise) for noise in NOISES))
            for system in SYSTEMS
            for strength in STRENGTHS
        ),
    )


def _panel(system: str, duels: Mapping[str, Contest | None]) -> Panel:
    there = {name: duel for name, duel in duels.items() if duel is not None}
    series = bars(
        "change of the OOD error, %",
        {name: [100 * duel.ood.change] for name, duel in there.items()},
        "crest",
        [
            f"OOD {error(duel.attention)} to {error(duel.crest)}, ID {error(duel.attention, 'id')} to {error(duel.crest, 'id')}"
            for duel in there.values()
        ],
    )
    return Panel(title=SYSTEM_NAMES[system], x_label="", y_label="ΔOOD, %", series=(series,))


def show(found: Found) -> Shown:
    """Every regime, and the two failures that the paper names."""
    duels = {system: _contests(found, system) for system in SYSTEMS}
    return Shown(
        tables=(
            Table(
                name="regimes",
                caption="The stronger form of attention in each regime against CREST; 512 training trajectories, seed 0. "
                "What a regime changes: `crest systems list`.",
                header=HEADER,
                rows=tuple(
                    _row(system, name, duel) for system in SYSTEMS for name, duel in duels[system].items()
                ),
            ),
            _cue_table(duels),
        ),
        charts=(
            Chart(
                name="regimes",
                caption="Change of the OOD error, CREST against attention; below 0 it helps.",
                panels=tuple(_panel(system, duels[system]) for system in SYSTEMS),
            ),
        ),
        claims=tuple(_claim(duels["gear"], regime) for regime in OUTSIDE),
        notes=("One seed: a single bar may be chance, the pattern hardly is.",),
    )


REGIMES = Experiment(
    name="regimes",
    evidence="Limitations",
    summary="Where does CREST help against attention, and where not?",
    show=show,
    runs=grid(
        [{"system": system, **fields} for system in SYSTEMS for fields in settings(system).values()],
        [{"sizes": SIZES}],
        seed=ONE,
        readout=FORMS,
    ),
)
