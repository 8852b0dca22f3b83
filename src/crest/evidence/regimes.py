"""Where CREST helps and where not: OOD change against attention over the simulators' named regimes."""

from crest.evidence.compare import SYSTEM_NAMES, by_seed, credit, error, missing, named, percent, verdict
from crest.evidence.experiment import Experiment, Found
from crest.evidence.main import SYSTEMS
from crest.evidence.seeds import TWO
from crest.experiments.grid import grid
from crest.experiments.record import Record
from crest.report.shown import Chart, Claim, Panel, Series, Shown, Table
from crest.report.stats import Paired, paired
from crest.systems import REGIMES as SIMULATED
from crest.systems import Sizes
from crest.systems.regimes import OUTSIDE

# Half of the training trajectories: twenty-six regimes must not cost more than the headline.
SIZES = Sizes(train=512)
# The stronger form on both systems, by the ID error of development seeds.
FORM = "scored_attention"
HEADER = (
    "system", "regime", "ID, attention", "ID, CREST", "OOD, attention", "OOD, CREST", "ΔOOD", "CiE@1, both",
)  # fmt: skip
TEXTS = {
    "diffuse_wear": "CREST does not help where the target is diffuse (all teeth worn)",
    "cue_on_event": "CREST does not help where the cue is transient and sits on the event",
}


def _pair(found: Found, system: str, regime: str) -> tuple[list[Record], list[Record], Paired] | None:
    """Records of attention and of CREST in a regime, and how they compare."""
    attention, crest = (found.of(system=system, regime=regime, readout=name) for name in (FORM, "crest"))
    if not attention or by_seed(attention).keys() != by_seed(crest).keys():
        return None
    return attention, crest, paired(by_seed(crest), by_seed(attention))


def _claim(found: Found, regime: str) -> Claim:
    pair = _pair(found, "gear", regime)
    if pair is None or not found.complete(system="gear", regime=regime):
        return missing(TEXTS[regime], "named as a limitation")
    attention, crest, result = pair
    usual = _pair(found, "gear", "default")
    beside = "" if usual is None else f"; {percent(usual[2].change)} in the default regime"
    gain = -usual[2].change if usual is not None else 0.29
    return Claim(
        text=TEXTS[regime],
        paper="named as a limitation",
        measured=f"OOD {percent(result.change)} ({error(attention)} to {error(crest)}){beside}",
        verdict=verdict(result.change > -0.05, -result.change < 0.5 * gain),
        seeds=result.seeds,
    )


def show(found: Found) -> Shown:
    """Every regime, and the two failures that the paper names."""
    rows, panels = [], []
    for system in SYSTEMS:
        changes: dict[str, float] = {}
        hover = []
        for regime in SIMULATED[system]:
            pair = _pair(found, system, regime)
            if pair is None:
                continue
            attention, crest, result = pair
            changes[regime] = result.change
            hover.append(f"{error(attention)} to {error(crest)}")
            rows.append(
                (
                    SYSTEM_NAMES[system],
                    regime + (" (outside)" if regime in OUTSIDE else ""),
                    error(attention, "id"),
                    error(crest, "id"),
                    error(attention),
                    error(crest),
                    percent(result.change),
                    f"{credit(attention, 'cie')} / {credit(crest, 'cie')}",
                )
            )
        series = Series(
            name="change of the OOD error, %",
            x=list(changes),
            y=[100 * change for change in changes.values()],
            look="bars",
            colour="crest",
            hover=hover,
        )
        panels.append(Panel(title=SYSTEM_NAMES[system], x_label="", y_label="ΔOOD, %", series=(series,)))
    return Shown(
        tables=(
            Table(
                name="regimes",
                caption=f"{named(FORM)} against CREST, two seeds, 512 training trajectories. What each regime changes: "
                "`crest systems list`.",
                header=HEADER,
                rows=tuple(rows),
            ),
        ),
        charts=(
            Chart(
                name="regimes",
                caption="Change of the OOD error, CREST against attention; below 0 it helps.",
                panels=tuple(panels),
            ),
        ),
        claims=tuple(_claim(found, regime) for regime in OUTSIDE),
    )


REGIMES = Experiment(
    name="regimes",
    evidence="Limitations",
    summary="Where does CREST help against attention, and where not?",
    show=show,
    runs=grid(
        [{"system": system, "regime": regime} for system, names in SIMULATED.items() for regime in names],
        [{"sizes": SIZES}],
        seed=TWO,
        readout=[FORM, "crest"],
    ),
)
