"""Figure S1: what interpolating out steps does to the error of attention and of CREST."""

import functools
import statistics

from crest.lab.evidence.compare import percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import RECORD_COLUMNS, by_readout, by_system, grouped_table
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import ATTENTION, HEADLINE_SYSTEMS, headline_runs
from crest.lab.evidence.shown import Chart, Claim, Panel, Series, SeriesLook, Shown
from crest.lab.runs.record import Record

_AT = 0.1
"""Share of the steps at which harm is compared: the tabulated one nearest to the event rates, 0.13 and 0.09."""
_TIMES = 5.0
_FREE = 0.25
"""Relative growth of the error below which a deletion counts as almost free."""
_SOURCES: dict[str, tuple[str, SeriesLook, str]] = {
    "rated": ("its own rating", "line", "rating"),
    "credit": ("its credit", "dashed", "credit"),
    "random": ("random steps", "dashed", "quiet"),
    "events": ("the true events", "points", "event"),
}


def _errors(records: list[Record], source: str) -> tuple[list[float], list[float]]:
    """Shares removed, and the error after each, the means over seeds."""
    curves = [record.deletion[source] for record in records]
    shares = [statistics.fmean(column) for column in zip(*(curve.fractions for curve in curves), strict=True)]
    errors = [statistics.fmean(column) for column in zip(*(curve.errors for curve in curves), strict=True)]
    return shares, errors


def harm(records: list[Record], source: str, at: float = _AT) -> float:
    """How much the ID error grows when this share of the steps is deleted, or all events if they are the source."""
    shares, errors = _errors(records, source)
    place = (
        len(shares) - 1 if source == "events" else min(range(len(shares)), key=lambda k: abs(shares[k] - at))
    )
    return errors[place] - errors[0]


def _harm_text(records: list[Record], source: str) -> str:
    return f"{harm(records, source):+.3f}"


def _growth(record: Record) -> float:
    """Relative growth of the ID error of a run without the event steps."""
    before, after = record.deletion["events"].errors
    return after / before - 1


def _panel(system: str, readout: str, records: list[Record]) -> Panel:
    series = []
    for source, (words, look, colour) in _SOURCES.items():
        shares, errors = _errors(records, source)
        chosen = slice(1, None) if source == "events" else slice(None)
        series.append(Series(name=words, x=shares[chosen], y=errors[chosen], look=look, colour=colour))
    return Panel(
        title=f"{named(system)}, {named(readout)}",
        x_label="share of the steps removed",
        y_label="ID error",
        series=tuple(series),
    )


def deletion_claims(found: Found, system: str, form: str) -> tuple[Claim, Claim]:
    """What deletions do to CREST and to a form of attention on a system."""
    hurt = Claim(
        text="Deleting the selected steps hurts CREST at least five times as much as the top steps of "
        f"{named(form)} hurt it on {named(system)}",
        paper="catastrophic against barely",
    )
    spare = Claim(
        text=f"Deleting the true events is almost free for {named(form)} on {named(system)}",
        paper="almost free",
    )
    if not found.complete(system=system):
        return hurt, spare
    attention, crest = found.of(system=system, readout=form), found.of(system=system, readout="crest")
    ours = harm(crest, "rated")
    # Attention's top steps may be chosen by its weights or by its credit. The choice that harms it more counts.
    theirs = max(harm(attention, "rated"), harm(attention, "credit"))
    enough = ours > harm(crest, "random")
    growths = [_growth(record) for record in attention]
    spared = sum(growth < _FREE for growth in growths)
    return (
        hurt.judged(
            f"error rises by {ours:.2f} (CREST) and {theirs:.2f} ({named(form)}) without {_AT:.0%} of the steps",
            holds=enough and ours >= _TIMES * theirs,
            partly=enough and ours >= _TIMES / 2 * theirs,
            bar="five times as much, and more than random steps; in part, half as many times",
            seeds=len(crest),
            brief=f"{ours:.2f} against {theirs:.2f}",
        ),
        spare.judged(
            f"error rises by less than a quarter on {spared} of {len(growths)} seeds, in the median by "
            f"{statistics.median(growths):.0%} ({named(form)}); CREST's by {statistics.median(map(_growth, crest)):.0%}",
            holds=spared == len(growths),
            partly=max(growths) < 2 * _FREE,
            bar="less than a quarter on every seed; in part, less than a half",
            seeds=len(crest),
            brief=f"{percent(statistics.median(growths))} (CREST {percent(statistics.median(map(_growth, crest)))})",
        ),
    )


def _show(found: Found) -> Shown:
    every = by_system(lambda system: by_readout(found, system=system))
    groups = {words: records for words, records in every.items() if records}
    harms = {
        f"by {words}": functools.partial(_harm_text, source=source)
        for source, (words, _, _) in _SOURCES.items()
    }
    table = grouped_table(
        "deletion",
        "Growth of the ID error when a tenth of the steps is replaced by a line between their neighbours, "
        "by what chose them (attention's weights or CREST's votes; credit at the interface; chance), and when all "
        "event steps are.",
        ("system", "readout", *harms, "seeds"),
        groups,
        {**RECORD_COLUMNS, **harms},
    )
    panels = tuple(_panel(system, readout, records) for (system, readout), records in groups.items())
    chart = Chart(name="deletion", caption="ID error over the share removed.", panels=panels)
    return Shown(
        tables=(table,),
        charts=(chart,) if panels else (),
        claims=tuple(
            claim
            for system in HEADLINE_SYSTEMS
            for form in ATTENTION
            for claim in deletion_claims(found, system, form)
        ),
    )


DELETION_EXPERIMENT = Experiment(
    name="deletion",
    evidence="Figure S1",
    summary="Are the steps that a readout rates highest those that it uses?",
    show=_show,
    runs=headline_runs(),
)
