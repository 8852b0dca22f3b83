"""Tables and bar charts of groups: a line of the table and a pair of bars for each setting, over its seeds."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from crest.lab.evidence.compare import Contest, by_seed, credit_text, error_text, percent
from crest.lab.evidence.experiment import Found
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import FORMS, HEADLINE_SYSTEMS
from crest.lab.evidence.shown import Chart, Claim, Comparison, Panel, Series, SeriesLook, Shown, Table
from crest.lab.evidence.stats import Spread
from crest.lab.runs.record import Record

Words: TypeAlias = tuple[str, ...]
"""What a group is called: its place (a system, a split) and its name (a readout, a budget), or its name alone."""
TableColumns: TypeAlias = Mapping[str, Callable[[Any], str]]
"""The cell of a group under each heading."""
_Group = TypeVar("_Group")
_Key = TypeVar("_Key", str, float)

RECORD_COLUMNS: TableColumns = {
    "ID": lambda records: error_text(records, "id"),
    "OOD": error_text,
    "CiE@1": lambda records: credit_text(records, "cie"),
    "ECM": lambda records: credit_text(records, "ecm"),
    "Prec@|E|": lambda records: credit_text(records, "precision"),
    "chance": lambda records: credit_text(records, "chance"),
    "seeds": lambda records: f"{len(records)}",
}
"""For groups of records."""
CONTEST_COLUMNS: TableColumns = {
    "attention is": lambda duel: named(duel.form),
    "ID, attention": lambda duel: error_text(duel.attention, "id"),
    "ID, CREST": lambda duel: error_text(duel.crest, "id"),
    "OOD, attention": lambda duel: error_text(duel.attention),
    "OOD, CREST": lambda duel: error_text(duel.crest),
    "ΔOOD": lambda duel: percent(duel.ood.change),
    "lower on": lambda duel: Comparison(
        f"{duel.ood.lower}/{duel.ood.seeds}", duel.ood.lower / duel.ood.seeds
    ),
    "p": lambda duel: Comparison(f"{duel.ood.p:.3f}", duel.ood.p),
    "smallest p": lambda duel: Comparison(f"{duel.ood.smallest_p:.3f}", duel.ood.smallest_p),
    "CiE@1, both": lambda duel: f"{credit_text(duel.attention, 'cie')} / {credit_text(duel.crest, 'cie')}",
}
"""For contests of CREST with attention."""


def by_readout(found: Found, readouts: Sequence[str] = FORMS, **fields: Any) -> dict[str, list[Record]]:
    """The records with these fields, by readout; empty lists if there are none."""
    return {readout: found.of(**fields, readout=readout) for readout in readouts}


def by_system(groups: Callable[[str], Mapping[str, _Group]]) -> dict[Words, _Group]:
    """The groups of both headline systems, called by system and name.

    Example:
        >>> by_system(lambda system: {"mean": len(system)})
        {('gear', 'mean'): 4, ('impact', 'mean'): 6}
    """
    return {(system, name): group for system in HEADLINE_SYSTEMS for name, group in groups(system).items()}


def grouped_table(
    name: str,
    caption: str,
    header: Words,
    groups: Mapping[Words, Any],
    columns: TableColumns = RECORD_COLUMNS,
    *,
    extra: Mapping[str, Mapping[Words, str]] | None = None,
    starred: Collection[Words] = (),
) -> Table:
    """A table with a row for each group: its words, then its cells.

    Args:
        name: of the table.
        caption: of the table.
        header: headings of the words, then of the cells.
        groups: by their words; keys of systems and readouts are written out. None has a dash in every cell.
        columns: the cell of a group under a heading.
        extra: cells that depend on more than their group, by heading and words; empty if there is none.
        starred: groups whose name gets a star.

    Example:
        >>> header = ("readout", "ID", "OOD", "seeds")
        >>> grouped_table("errors", "No records yet.", header, {("crest",): []}, starred=[("crest",)]).rows
        (('CREST *', '-', '-', '0'),)
    """
    extra = extra or {}

    def cell(heading: str, words: Words, group: Any) -> str:
        if heading in extra:
            return extra[heading].get(words, "")
        return "-" if group is None else columns[heading](group)

    rows = []
    for words, group in groups.items():
        *places, last = map(named, words)
        cells = (cell(heading, words, group) for heading in header[len(words) :])
        rows.append((*places, f"{last} *" if words in starred else last, *cells))
    return Table(name=name, caption=caption, header=header, rows=tuple(rows))


def mean_series(
    name: str,
    values: Mapping[_Key, Sequence[float]],
    colour: str,
    *,
    look: SeriesLook = "bars",
    hover: Sequence[str] | None = None,
) -> Series:
    """The mean of each group of values, its standard deviation as a whisker, how many they are; bars by default.

    Example:
        >>> mean_series("OOD", {"mean": [1.0, 3.0], "CREST": [1.0]}, "ood").y
        [2.0, 1.0]
    """
    spreads = [Spread.of(list(group)) for group in values.values()]
    return Series(
        name=name,
        x=list(values),
        y=[spread.mean for spread in spreads],
        spread=[spread.deviation or 0.0 for spread in spreads],
        counts=[len(group) for group in values.values()],
        look=look,
        colour=colour,
        hover=hover,
    )


def contest_bars(
    duels: Mapping[str, Contest], attention: str, hover: Sequence[str] | None = None
) -> tuple[Series, ...]:
    """OOD errors of attention, under the name given, and of CREST, a pair of bars for each contest."""
    sides = (
        (attention, "attention", {name: duel.attention for name, duel in duels.items()}),
        ("CREST", "crest", {name: duel.crest for name, duel in duels.items()}),
    )
    return tuple(
        mean_series(name, errors_of(groups)["ood"], colour, hover=hover) for name, colour, groups in sides
    )


def errors_of(groups: Mapping[str, Sequence[Record]]) -> dict[str, dict[str, list[float]]]:
    """Errors by split and group, of the groups that have records."""
    there = {named(name): records for name, records in groups.items() if records}
    return {
        split: {name: list(by_seed(records, split).values()) for name, records in there.items()}
        for split in ("id", "ood")
    }


def error_panel(title: str, errors: Mapping[str, Mapping[str, Sequence[float]]]) -> Panel:
    """ID and OOD errors side by side; `errors` has them by split and group."""
    series = tuple(mean_series(f"{split.upper()} error", errors[split], split) for split in ("id", "ood"))
    return Panel(title=title, x_label="", y_label="error", series=series)


def error_chart(name: str, caption: str, groups: Mapping[Words, Sequence[Record]]) -> Chart:
    """ID and OOD errors of groups called by place and name; a panel for each place."""
    places: dict[str, dict[str, Sequence[Record]]] = {}
    for (place, label), records in groups.items():
        places.setdefault(named(place), {})[label] = records
    panels = (error_panel(place, errors_of(labelled)) for place, labelled in places.items())
    return Chart(name=name, caption=caption, panels=tuple(panels))


def shown_by_system(
    name: str,
    *,
    groups: Callable[[Found, str], Mapping[str, Sequence[Record]]],
    header: Words,
    caption: str,
    chart_caption: str,
    claim: Callable[[Found, str], Claim],
    columns: TableColumns = RECORD_COLUMNS,
) -> Callable[[Found], Shown]:
    """What shows a piece of both headline systems: a table of groups, a chart of their errors, a claim for each.

    Args:
        name: of the table and of the chart.
        groups: the records of a system, by what to call them.
        header: of the table.
        caption: of the table.
        chart_caption: of the chart.
        claim: what is claimed of a system.
        columns: the cell of a group under a heading.
    """

    def show(found: Found) -> Shown:
        every = by_system(lambda system: groups(found, system))
        return Shown(
            tables=(grouped_table(name, caption, header, every, columns),),
            charts=(error_chart(name, chart_caption, every),),
            claims=tuple(claim(found, system) for system in HEADLINE_SYSTEMS),
        )

    return show
