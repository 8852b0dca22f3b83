"""Figure S1: what interpolating out steps does to the error of attention and of CREST."""

import statistics

from crest.lab.evidence.compare import missing, stronger_attention, verdict
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import FORMS, MAIN, SYSTEMS
from crest.lab.evidence.names import SYSTEM_NAMES, named
from crest.lab.evidence.shown import Chart, Claim, Panel, Series, Shown, Table
from crest.lab.runs.record import Record

AT = 0.1
"""Share of the steps at which harm is compared: the tabulated one nearest to the event rates, 0.13 and 0.09."""
BAR = 5.0
FREE = 0.25
"""Relative growth of the error below which a deletion counts as almost free."""
SOURCES = {
    "rated": ("its own rating", "line", "crest"),
    "credit": ("its credit", "dashed", "core"),
    "random": ("random steps", "dashed", "quiet"),
    "events": ("the true events", "points", "event"),
}


def _errors(records: list[Record], source: str) -> tuple[list[float], list[float]]:
    """Shares removed, and the error after each, the means over seeds."""
    curves = [record.deletion[source] for record in records]
    shares = [statistics.fmean(column) for column in zip(*(curve.fractions for curve in curves), strict=True)]
    errors = [statistics.fmean(column) for column in zip(*(curve.errors for curve in curves), strict=True)]
    return shares, errors


def harm(records: list[Record], source: str, at: float = AT) -> float:
    """How much the ID error grows when this share of the steps goes; of the events, all of them."""
    shares, errors = _errors(records, source)
    place = (
        len(shares) - 1 if source == "events" else min(range(len(shares)), key=lambda k: abs(shares[k] - at))
    )
    return errors[place] - errors[0]


def _growth(record: Record) -> float:
    """Relative growth of the ID error of a run without the event steps."""
    before, after = record.deletion["events"].errors
    return after / before - 1


def _panel(system: str, readout: str, records: list[Record]) -> Panel:
    series = []
    for source, (words, look, colour) in SOURCES.items():
        shares, errors = _errors(records, source)
        chosen = slice(1, None) if source == "events" else slice(None)
        series.append(Series(name=words, x=shares[chosen], y=errors[chosen], look=look, colour=colour))  # type: ignore[arg-type]
    return Panel(
        title=f"{SYSTEM_NAMES[system]}, {named(readout)}",
        x_label="share of the steps removed",
        y_label="ID error",
        series=tuple(series),
    )


def _claims(found: Found, system: str) -> tuple[Claim, Claim]:
    name = SYSTEM_NAMES[system]
    texts = (
        f"Deleting the selected steps hurts CREST at least five times as much as attention's top steps hurt attention on {name}",
        f"Deleting the true events is almost free for attention on {name}",
    )
    papers = ("catastrophic against barely", "almost free")
    form = stronger_attention(found, system=system) if found.complete(system=system) else None
    if form is None:
        return missing(texts[0], papers[0]), missing(texts[1], papers[1])
    attention, crest = found.of(system=system, readout=form), found.of(system=system, readout="crest")
    ours = harm(crest, "rated")
    # Attention's top steps are those of its weights or of its credit: the worse for it counts.
    theirs = max(harm(attention, "rated"), harm(attention, "credit"))
    enough = ours > harm(crest, "random")
    free = [_growth(record) for record in attention]
    spared = sum(growth < FREE for growth in free)
    return (
        Claim(
            text=texts[0],
            paper=papers[0],
            measured=f"error rises by {ours:.2f} (CREST) and {theirs:.2f} ({named(form)}) without {AT:.0%} of the steps",
            bar="five times as much, and more than random steps",
            verdict=verdict(enough and ours >= BAR * theirs, enough and ours > theirs),
            seeds=len(crest),
        ),
        Claim(
            text=texts[1],
            paper=papers[1],
            measured=f"error rises by less than a quarter on {spared} of {len(free)} seeds, in the median by "
            f"{statistics.median(free):.0%} ({named(form)}); CREST's by {statistics.median(map(_growth, crest)):.0%}",
            bar="less than a quarter on every seed",
            verdict=verdict(spared == len(free), spared > len(free) / 2),
            seeds=len(crest),
        ),
    )


def show(found: Found) -> Shown:
    """Curves of every readout, and the claims about the stronger attention."""
    rows, panels = [], []
    for system in SYSTEMS:
        for readout in FORMS:
            records = found.of(system=system, readout=readout)
            if not records:
                continue
            parts = (f"{harm(records, source):+.3f}" for source in SOURCES)
            rows.append((SYSTEM_NAMES[system], named(readout), *parts, f"{len(records)}"))
            panels.append(_panel(system, readout, records))
    return Shown(
        tables=(
            Table(
                name="deletion",
                caption="Growth of the ID error when a tenth of the steps is replaced by a line between their neighbours, "
                "by what chose them (attention's weights or CREST's votes; credit at the interface; chance), and when all "
                "event steps are.",
                header=("system", "readout", *(f"by {words}" for words, _, _ in SOURCES.values()), "seeds"),
                rows=tuple(rows),
            ),
        ),
        charts=(Chart(name="deletion", caption="ID error over the share removed.", panels=tuple(panels)),)
        if panels
        else (),
        claims=tuple(claim for system in SYSTEMS for claim in _claims(found, system)),
    )


DELETION = Experiment(
    name="deletion",
    evidence="Figure S1",
    summary="Are the steps that a readout rates highest those that it uses?",
    show=show,
    runs=MAIN.runs,
)
