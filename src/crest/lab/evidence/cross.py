"""Figure 4: attention against CREST across encoders and systems, the real bearings included."""

from crest.lab.evidence.bars import bars
from crest.lab.evidence.compare import Contest, by_seed, contest, credit, error, missing, percent, verdict
from crest.lab.evidence.cwru import CWRU
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import FORMS, MAIN
from crest.lab.evidence.names import SYSTEM_NAMES, named
from crest.lab.evidence.seeds import ONE, THREE
from crest.lab.evidence.shown import Chart, Claim, Panel, Shown, Table
from crest.lab.runs.grid import grid

ENCODERS = {"pointwise": "pointwise", "local": "convolution", "gru": "GRU", "attention": "Transformer"}
PLACES = (
    *((system, encoder) for system in ("gear", "impact") for encoder in ENCODERS),
    ("cwru", "pointwise"),
)
"""System and encoder of each pair of bars."""
HEADER = (
    "system, encoder", "attention is", "ID, attention", "ID, CREST", "OOD, attention", "OOD, CREST",
    "ΔOOD", "lower on", "p", "smallest p", "CiE@1, both",
)  # fmt: skip
TEXT = "CREST lowers the OOD error in every system and encoder"
PAPER = "all of five: two simulators, two encoders, CWRU"


def _place(system: str, encoder: str) -> str:
    return f"{SYSTEM_NAMES[system]}, {ENCODERS[encoder]}"


def _row(place: tuple[str, str], duel: Contest) -> tuple[str, ...]:
    return (
        _place(*place),
        named(duel.form),
        error(duel.attention, "id"),
        error(duel.crest, "id"),
        error(duel.attention),
        error(duel.crest),
        percent(duel.ood.change),
        f"{duel.ood.lower}/{duel.ood.seeds}",
        f"{duel.ood.p:.3f}",
        f"{duel.ood.smallest_p:.3f}",
        f"{credit(duel.attention, 'cie')} / {credit(duel.crest, 'cie')}",
    )


def _chart(duels: dict[tuple[str, str], Contest]) -> Chart:
    changes = [
        f"{percent(duel.ood.change)}; ID {error(duel.attention, 'id')} and {error(duel.crest, 'id')}"
        for duel in duels.values()
    ]
    sides = {
        "attention": {
            _place(*place): list(by_seed(duel.attention).values()) for place, duel in duels.items()
        },
        "crest": {_place(*place): list(by_seed(duel.crest).values()) for place, duel in duels.items()},
    }
    series = (
        bars("attention (stronger form)", sides["attention"], "attention", changes),
        bars("CREST", sides["crest"], "crest", changes),
    )
    return Chart(
        name="cross",
        caption="OOD error of the stronger form of attention and of CREST; bars are one standard deviation over seeds.",
        panels=(Panel(title="", x_label="", y_label="OOD error", series=series),),
    )


def show(found: Found) -> Shown:
    """The table, the figure, and in how many places CREST is lower."""
    every = {place: contest(found, system=place[0], encoder=place[1]) for place in PLACES}
    duels = {place: duel for place, duel in every.items() if duel is not None}
    table = Table(
        name="cross",
        caption="The stronger form of attention (lower ID error) against CREST, means ± standard deviations over seeds.",
        header=HEADER,
        rows=tuple(_row(place, duel) for place, duel in duels.items()),
    )
    if len(duels) < len(PLACES):
        claim = missing(TEXT, PAPER)
    else:
        lower = [place for place, duel in duels.items() if duel.ood.lower == duel.ood.seeds]
        worse = ", ".join(_place(*place) for place in duels if place not in lower)
        claim = Claim(
            text=TEXT,
            paper=PAPER,
            measured=f"{len(lower)} of {len(duels)}" + (f"; not with {worse}" if worse else ""),
            verdict=verdict(not worse, len(lower) > len(duels) / 2),
            bar="lower on every seed in every place",
            seeds=min(duel.ood.seeds for duel in duels.values()),
        )
    return Shown(
        tables=(table,),
        charts=(_chart(duels),) if duels else (),
        claims=(claim,),
        notes=(
            "The GRU on SG-Drive has three seeds; the convolution, the GRU on Impact and the Transformer have one, because a run takes up to a minute and a half: their change may be chance.",
        ),
    )


CROSS = Experiment(
    name="cross",
    evidence="Figure 4",
    summary="Does the change in OOD error hold across encoders, and on real bearings?",
    show=show,
    runs=(
        *MAIN.runs,
        *grid(seed=ONE, system=["gear", "impact"], encoder="local", readout=FORMS),
        *grid(seed=THREE, system="gear", encoder="gru", readout=FORMS),
        *grid(seed=ONE, system="impact", encoder="gru", readout=FORMS),
        *grid(seed=ONE, system=["gear", "impact"], encoder="attention", readout=FORMS),
        *(spec for spec in CWRU.runs if spec.regime == "default" and spec.readout in FORMS),
    ),
)
