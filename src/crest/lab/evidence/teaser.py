"""Figure 1: one trajectory of SG-Drive, where attention reads, what CREST selects, and the errors."""

from crest.lab.evidence.bars import bars
from crest.lab.evidence.compare import by_seed, contest, stronger_attention
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import FORMS, MAIN, SYSTEMS
from crest.lab.evidence.names import SYSTEM_NAMES, named
from crest.lab.evidence.shown import Chart, Mark, Panel, Series, Shown, Table
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record
from crest.probes import Trace

SHOWN = 0
"""The first OOD trajectory: nobody chose it."""
READOUTS = ["mean", *FORMS, "event_window"]


def _trace(record: Record) -> Trace:
    rows = [] if record.traces is None else [row for row in record.traces.rows if row.split == "ood"]
    if not rows:
        raise ValueError(f"record must have traces of the OOD split, got none in {record.id}")
    return rows[SHOWN]


def _bands(trace: Trace) -> tuple[Mark, ...]:
    """The events, as bands."""
    marks: list[Mark] = []
    start = previous = None
    for step in [*(trace.events or []), None]:
        if start is not None and (step is None or previous is None or step != previous + 1):
            marks.append(
                Mark(
                    name="" if marks else "event",
                    axis="x",
                    at=start - 0.5,
                    to=(previous or start) + 0.5,
                    colour="event",
                )
            )
            start = None
        start, previous = step if start is None else start, step
    return tuple(marks)


def _over_time(title: str, y_label: str, trace: Trace, *series: Series) -> Panel:
    return Panel(title=title, x_label="step", y_label=y_label, series=series, marks=_bands(trace))


def trajectory_panels(attention: Record, crest: Record) -> list[Panel]:
    """What the models see of one trajectory, where attention takes credit, what CREST selects."""
    first, second = _trace(attention), _trace(crest)
    steps = list(range(len(first.credit)))
    channel = "" if attention.traces is None else attention.traces.channels[0]
    form = attention.spec.readout
    return [
        _over_time(
            "(a) what the model sees",
            channel,
            first,
            Series(name=channel, x=steps, y=first.signals[0], colour="attention"),
        ),
        _over_time(
            f"(b) credit, {named(form)}",
            "share of credit",
            first,
            Series(name="credit", x=steps, y=first.credit, colour=form),
        ),
        _over_time(
            "(c) CREST: transience and selected core",
            "over its maximum",
            second,
            Series(name="transience", x=steps, y=_scaled(second.transience or []), colour="quiet"),
            Series(name="votes", x=steps, y=_scaled(second.votes or []), colour="crest"),
        ),
    ]


def _chart(found: Found, form: str) -> Chart:
    attention = found.of(system="gear", readout=form, measures=("traces",))[0]
    crest = found.of(system="gear", readout="crest", measures=("traces",))[0]
    chance = attention.credit["ood"].chance
    panels = trajectory_panels(attention, crest)
    every = {system: contest(_main(found), system=system) for system in SYSTEMS}
    duels = {system: duel for system, duel in every.items() if duel is not None}
    if len(duels) == len(SYSTEMS):
        sides = {
            "attention": {SYSTEM_NAMES[system]: by_seed(duel.attention) for system, duel in duels.items()},
            "crest": {SYSTEM_NAMES[system]: by_seed(duel.crest) for system, duel in duels.items()},
        }
        series = tuple(
            bars(
                "CREST" if readout == "crest" else "attention",
                {name: list(errors.values()) for name, errors in groups.items()},
                readout,
            )
            for readout, groups in sides.items()
        )
        panels.append(Panel(title="(d) when the cue breaks", x_label="", y_label="OOD error", series=series))
    return Chart(
        name="teaser",
        caption=f"(a) A trajectory of SG-Drive, the first of the OOD split; its events, {chance:.0%} of the steps, are shaded. "
        "(b) Where attention takes credit. (c) How transient the features are, and what CREST selects without labels. "
        + ("(d) OOD errors over ten seeds." if len(panels) > 3 else ""),
        panels=tuple(panels),
    )


def _main(found: Found) -> Found:
    """The records of Table 1 among those found."""
    return Found([spec for spec in found.runs if "traces" not in spec.measures], found.records, {})


def _scaled(values: list[float]) -> list[float]:
    top = max(values, default=0.0)
    return [value / top if top else 0.0 for value in values]


def show(found: Found) -> Shown:
    """The first figure; the same trajectories are in the explorer."""
    traced = [record for record in found.records.values() if record.traces is not None]
    rows = tuple(
        (
            SYSTEM_NAMES[record.spec.system],
            named(record.spec.readout),
            f"{record.score.id:.3f}",
            f"{record.score.ood:.3f}",
            *(f"{_share(record, split):.2f}" if record.credit else "-" for split in ("id", "ood")),
        )
        for record in traced
    )
    form = stronger_attention(_main(found), system="gear")
    ready = form is not None and all(
        found.of(system="gear", readout=name, measures=("traces",)) for name in (form, "crest")
    )
    return Shown(
        tables=(
            Table(
                name="explored",
                caption="The runs in the explorer, seed 0: errors, and the share of credit on event steps.",
                header=("system", "readout", "ID", "OOD", "ECM, ID", "ECM, OOD"),
                rows=rows,
            ),
        ),
        charts=(_chart(found, form),) if form is not None and ready else (),
    )


def _share(record: Record, split: str) -> float:
    return record.credit[split].ecm


TEASER = Experiment(
    name="teaser",
    evidence="Figure 1",
    summary="Where does each readout read? Trajectories of each system, step by step.",
    show=show,
    runs=(
        *grid([{"measures": ("traces",)}], seed=0, system=["gear", "impact", "cwru"], readout=READOUTS),
        *MAIN.runs,
    ),
)
