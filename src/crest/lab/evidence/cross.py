"""Figure 4: attention against CREST across encoders and systems, the real bearings included."""

from collections.abc import Mapping, Sequence

from crest.lab.evidence.compare import Contest, contest, error_text, own_contest, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import CONTEST_COLUMNS, contest_bars, grouped_table
from crest.lab.evidence.names import ENCODER_NAMES, named
from crest.lab.evidence.remedy_runs import PLAIN, TEN_PLACES, RemedyPlace
from crest.lab.evidence.settings import FIVE, FORMS, HEADLINE_SYSTEMS, SIMULATED_ENCODERS, headline_runs
from crest.lab.evidence.shown import Chart, Claim, Panel, Shown
from crest.lab.runs.grid import grid
from crest.lab.runs.spec import RunSpec

PLACES = (
    *((system, encoder) for system in HEADLINE_SYSTEMS for encoder in SIMULATED_ENCODERS),
    ("cwru", "pointwise"),
)
"""System and encoder of each pair of bars."""
_HEADER = (
    "system, encoder", "attention is", "ID, attention", "ID, CREST", "OOD, attention", "OOD, CREST",
    "ΔOOD", "lower on", "p", "smallest p", "CiE@1, both",
)  # fmt: skip
_CLAIM = Claim(
    text="CREST lowers the OOD error in every system and encoder",
    paper="all five",
)
_OWN = Claim(
    text="CREST lowers the OOD error in every system and encoder, attention being attention (dot)",
    paper="all five",
)
_NOTE = (
    "The pointwise encoder has 1024 training trajectories and ten seeds, the GRU on SG-Drive 1024 and five; the other places of the "
    "simulators have 512 and five, share their runs with `remedies`, and have MLP-scored attention alone. CREST leaves an encoder's run-up out."
)


def _chart(duels: Mapping[str, Contest]) -> Chart:
    changes = [
        f"{percent(duel.ood.change)}; ID {error_text(duel.attention, 'id')} and {error_text(duel.crest, 'id')}"
        for duel in duels.values()
    ]
    series = contest_bars(duels, "attention (stronger form)", changes)
    return Chart(
        name="cross",
        caption="OOD error of the stronger form of attention and of CREST; bars are one standard deviation over seeds.",
        panels=(Panel(title="", x_label="", y_label="OOD error", series=series),),
    )


def _by_system(places: Sequence[str]) -> str:
    """Places in words, each system once: "SG-Drive (GRU, Transformer) and CWRU (pointwise)"."""
    encoders: dict[str, list[str]] = {}
    for place in places:
        system, _, encoder = place.partition(", ")
        encoders.setdefault(system, []).append(encoder)
    return " and ".join(f"{system} ({', '.join(names)})" for system, names in encoders.items())


def _judged(claim: Claim, duels: Mapping[str, Contest], places: int) -> Claim:
    if len(duels) < places:
        return claim
    worse = [place for place, duel in duels.items() if duel.ood.lower < duel.ood.seeds]
    lower = len(duels) - len(worse)
    return claim.judged(
        f"{lower} of {len(duels)}" + (f"; not with {_by_system(worse)}" if worse else ""),
        holds=not worse,
        partly=lower > len(duels) / 2,
        bar="lower on every seed in every place",
        seeds=min(duel.ood.seeds for duel in duels.values()),
        brief=f"{lower} of {len(duels)} places",
    )


def _show(found: Found) -> Shown:
    duels = {
        f"{named(system)}, {ENCODER_NAMES[encoder]}": duel
        for system, encoder in PLACES
        if (duel := contest(found, system=system, encoder=encoder)) is not None
    }
    with_dot = [
        (system, encoder)
        for system, encoder in PLACES
        if found.declared(system=system, encoder=encoder, readout="attention")
    ]
    own = {
        f"{named(system)}, {ENCODER_NAMES[encoder]}": duel
        for system, encoder in with_dot
        if (duel := own_contest(found, system=system, encoder=encoder)) is not None
    }
    table = grouped_table(
        "cross",
        "The stronger form of attention (lower ID error) against CREST, means ± standard deviations over seeds.",
        _HEADER,
        {(place,): duel for place, duel in duels.items()},
        CONTEST_COLUMNS,
    )
    return Shown(
        tables=(table,),
        charts=(_chart(duels),) if duels else (),
        claims=(_judged(_CLAIM, duels, len(PLACES)), _judged(_OWN, own, len(with_dot))),
        notes=(_NOTE,),
    )


def _five_seeds(place: RemedyPlace) -> tuple[RunSpec, ...]:
    """MLP-scored attention and CREST on five seeds: those of the remedies, and what they leave out."""
    known = {
        (spec.readout, spec.seed): spec
        for spec in place.runs()
        if spec.remedy == "none" and spec.objective == "mse"
    }
    fields = {"scored_attention": place.trained(PLAIN), "crest": place.trained("CREST")}
    return tuple(
        known.get((readout, seed)) or RunSpec(**fields[readout], seed=seed)
        for seed in FIVE
        for readout in fields
    )


CROSS_EXPERIMENT = Experiment(
    name="cross",
    evidence="Figure 4",
    summary="Does the change in OOD error hold across encoders, and on real bearings?",
    show=_show,
    runs=(
        *headline_runs(),
        *grid(seed=FIVE, system="gear", encoder="gru", readout=FORMS),
        *(
            spec
            for place in TEN_PLACES
            if place.encoder != "pointwise" and (place.system, place.encoder) != ("gear", "gru")
            for spec in _five_seeds(place)
        ),
        *grid(seed=FIVE, system="cwru", readout=FORMS),
    ),
)
