"""Figure 1: one trajectory of SG-Drive, where attention reads, what CREST selects, and the errors."""

import itertools

from crest.lab.evidence.compare import contest, stronger_attention
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import contest_bars
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import FEW_READOUTS, HEADLINE_SYSTEMS, headline_runs
from crest.lab.evidence.shown import Chart, Mark, Panel, Series, Shown, Table
from crest.lab.runs.grid import grid
from crest.lab.runs.record import Record
from crest.probes import Trace

_SHOWN = 0
"""Which OOD trajectory is shown: the first, so that none is picked by hand."""


def _trace(record: Record) -> Trace:
    rows = [] if record.traces is None else [row for row in record.traces.rows if row.split == "ood"]
    if not rows:
        raise ValueError(f"record must have traces of the OOD split, got none in {record.id}")
    return rows[_SHOWN]


def _bands(trace: Trace) -> tuple[Mark, ...]:
    """The events, as bands."""
    # While steps follow each other, a step minus its place in the list stays the same.
    runs = itertools.groupby(enumerate(trace.events or []), lambda item: item[1] - item[0])
    bands = [[step for _, step in run] for _, run in runs]
    return tuple(
        Mark(name="" if place else "event", axis="x", at=band[0] - 0.5, to=band[-1] + 0.5, colour="event")
        for place, band in enumerate(bands)
    )


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
            Series(name=channel, x=steps, y=first.signals[0], colour="signal"),
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
    panels = trajectory_panels(attention, crest)
    every = {named(system): contest(_main(found), system=system) for system in HEADLINE_SYSTEMS}
    duels = {name: duel for name, duel in every.items() if duel is not None}
    if len(duels) == len(HEADLINE_SYSTEMS):
        series = contest_bars(duels, "attention")
        panels.append(Panel(title="(d) when the cue breaks", x_label="", y_label="OOD error", series=series))
    chance = attention.credit["ood"].chance
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


def _show(found: Found) -> Shown:
    traced = [record for record in found.records.values() if record.traces is not None]
    table = Table(
        name="explored",
        caption="The runs in the explorer, seed 0: errors, and the share of credit on event steps.",
        header=("system", "readout", "ID", "OOD", "ECM, ID", "ECM, OOD"),
        rows=tuple(
            (
                named(record.spec.system),
                named(record.spec.readout),
                f"{record.score.id:.3f}",
                f"{record.score.ood:.3f}",
                *(f"{record.credit[split].ecm:.2f}" if record.credit else "-" for split in ("id", "ood")),
            )
            for record in traced
        ),
    )
    form = stronger_attention(_main(found), system="gear")
    if form is None or not all(
        found.of(system="gear", readout=name, measures=("traces",)) for name in (form, "crest")
    ):
        return Shown(tables=(table,))
    return Shown(tables=(table,), charts=(_chart(found, form),))


TEASER_EXPERIMENT = Experiment(
    name="teaser",
    evidence="Figure 1",
    summary="Where does each readout read? Trajectories of each system, step by step.",
    show=_show,
    runs=(
        *grid([{"measures": ("traces",)}], seed=0, system=[*HEADLINE_SYSTEMS, "cwru"], readout=FEW_READOUTS),
        *headline_runs(),
    ),
)
