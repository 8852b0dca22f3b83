"""The page of an audit: what was found, and the explorer of your own trajectories, before and after."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from crest._audit.result import Audit
from crest._audit.screen import audit_screen
from crest._pages.colours import COLOURS
from crest._pages.environment import page_environment
from crest._pages.explorer import TracedModel, explorer_system
from crest.nuisances import NAMES
from crest.probes.traces import Traces

# Characters of the explorer's values: with plotly's script and the pictures a page stays below 2 MB.
_ROOM = 550_000
# Those of the first screen.
_COLOURS = ("model_before", "model_after", "max", "high_pass")


def audit_page(audits: Mapping[str, Audit], *, title: str = "Audit", intro: str = "") -> str:
    """The page, as text.

    Args:
        audits: by the name of each model, such as "as it is" and "repaired"; all of the same trajectories.
        title: its heading.
        intro: a text below the pictures; an empty line begins a paragraph.
    """
    if not audits:
        raise ValueError("audits must hold one audit or more, got none")
    explored, cut = _explored(audits)
    return (
        page_environment()
        .get_template("audit.html.j2")
        .render(
            title=title,
            intro=intro.split("\n\n") if intro else [],
            first=audit_screen(audits),
            audits=audits,
            rows=_rows(audits),
            explorer=[explored],
            cut=cut,
        )
    )


def _explored(audits: Mapping[str, Audit]) -> tuple[dict[str, Any], str]:
    """The explorer's values, as many trajectories as the page has room for; and what was left out, in words."""
    traces = {name: _traces_of(audits, name) for name in audits}
    first = next(iter(audits.values()))
    rate, there = first.sample_rate, len(next(iter(traces.values())).rows)

    def made(shown: Mapping[str, Traces]) -> dict[str, Any]:
        models = [
            TracedModel(
                name=name,
                source=name,
                colour=COLOURS[_COLOURS[place % len(_COLOURS) if len(audits) > 1 else 1]],
                traces=shown[name],
            )
            for place, name in enumerate(audits)
        ]
        return explorer_system(
            "your trajectories",
            models,
            per="" if rate is None else "s",
            classes=first.classes,
            names=first.names or [f"trajectory {number}" for number in range(first.trajectories)],
            spectra=rate is not None,
        )

    for count in sorted({there, *(some for some in (8, 5, 3, 1) if some < there)}, reverse=True):
        shown = {name: _some(one, count) for name, one in traces.items()}
        system = made(shown)
        size = len(json.dumps(system, separators=(",", ":")))
        if size <= _ROOM:
            few = (
                f"{count} of {there} trajectories are shown: more would make this page too large."
                if count < there
                else ""
            )
            return system, few
    steps = int(first.steps * _ROOM / size)
    length = f"{steps} steps" if rate is None else f"{steps / rate:.3g} s"
    return (
        made({name: _beginning(one, steps) for name, one in shown.items()}),
        f"The first {length} of one trajectory are shown: more would make this page too large.",
    )


def _some(traces: Traces, count: int) -> Traces:
    """So many of the trajectories, from the first to the last."""
    places = [round(place * (len(traces.rows) - 1) / max(count - 1, 1)) for place in range(count)]
    return dataclasses.replace(traces, rows=[traces.rows[place] for place in places])


def _beginning(traces: Traces, steps: int) -> Traces:
    """The first steps of each trajectory."""

    def first(values: list[float] | None) -> list[float] | None:
        return None if values is None else values[:steps]

    rows = [
        dataclasses.replace(
            row,
            signals=[signal[:steps] for signal in row.signals],
            credit=row.credit[:steps],
            transience=first(row.transience),
            votes=first(row.votes),
            events=None if row.events is None else [step for step in row.events if step < steps],
        )
        for row in traces.rows
    ]
    return dataclasses.replace(traces, rows=rows)


def _traces_of(audits: Mapping[str, Audit], name: str) -> Traces:
    traces = audits[name].traces
    if traces is None:
        raise ValueError(f"audits must hold trajectories for the page, got none in {name!r}")
    rate = audits[name].sample_rate
    return traces if rate is None else dataclasses.replace(traces, sample_rate=rate)


def _rows(audits: Mapping[str, Audit]) -> list[tuple[str, list[str]]]:
    """A row for each number that some audit has."""

    def shown(value: float | None, form: str = ".3g") -> str:
        return "—" if value is None or value != value else f"{value:{form}}"  # noqa: PLR0124

    def ranged(value: float, ends: tuple[float, float]) -> str:
        return f"{shown(value, '.2f')} ({shown(ends[0], '.2f')} to {shown(ends[1], '.2f')})"

    values = list(audits.values())
    rows: list[tuple[str, list[str]]] = [
        ("verdict", [str(one.verdict) for one in values]),
        (
            "transient share",
            [ranged(one.exchange.transient, one.exchange.transient_interval) for one in values],
        ),
        (
            "background share",
            [ranged(one.exchange.background, one.exchange.background_interval) for one in values],
        ),
        (
            "moved by another's background",
            [ranged(one.exchange.moved, one.exchange.moved_interval) for one in values],
        ),
        ("error", [shown(one.error) for one in values]),
        *(
            (
                f"moved by {name}",
                [
                    "—"
                    if name not in one.exchange.nuisances
                    else ranged(
                        one.exchange.nuisances[name].moved, one.exchange.nuisances[name].moved_interval
                    )
                    for one in values
                ],
            )
            for name in NAMES
        ),
        ("expected error, what was declared exchanged", [shown(one.expected_error) for one in values]),
        ("error on backgrounds of others", [shown(one.exchange.exchanged_error) for one in values]),
        ("error of a constant prediction", [shown(one.exchange.constant_error) for one in values]),
        ("credit on the core", [shown(one.core_credit, ".2f") for one in values]),
        ("share of steps in the core", [shown(one.core_chance, ".2f") for one in values]),
        ("CiE@1", [shown(None if one.credit is None else one.credit.cie, ".2f") for one in values]),
        ("Prec@|E|", [shown(None if one.credit is None else one.credit.precision, ".2f") for one in values]),
        ("ECM", [shown(None if one.credit is None else one.credit.ecm, ".2f") for one in values]),
        ("chance", [shown(None if one.credit is None else one.credit.chance, ".2f") for one in values]),
    ]
    return [(name, cells) for name, cells in rows if any(cell != "—" for cell in cells)]
