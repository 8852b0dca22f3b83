"""The page of an audit: what was found, and the explorer on somebody's own trajectories, before and after."""

from collections.abc import Mapping

from crest._audit.result import Audit
from crest._pages.colours import COLOURS
from crest._pages.environment import page_environment
from crest._pages.explorer import TracedModel, explorer_system
from crest.nuisances import NAMES
from crest.probes.traces import Traces

_COLOURS = ("attention", "crest", "high_pass", "other")


def audit_page(audits: Mapping[str, Audit], *, title: str = "Audit", intro: str = "") -> str:
    """The page, as text.

    Args:
        audits: by the name of each model, such as "as it is" and "repaired"; all of the same trajectories.
        title: its heading.
        intro: a text under it; an empty line begins a paragraph.
    """
    if not audits:
        raise ValueError("audits must hold one audit or more, got none")
    models = [
        TracedModel(
            name=name,
            source=name,
            colour=COLOURS[_COLOURS[place % len(_COLOURS)]],
            traces=_traces_of(audits, name),
        )
        for place, name in enumerate(audits)
    ]
    return (
        page_environment()
        .get_template("audit.html.j2")
        .render(
            title=title,
            intro=intro.split("\n\n") if intro else [],
            audits=audits,
            rows=_rows(audits),
            explorer=[
                explorer_system("your trajectories", models, classes=next(iter(audits.values())).classes)
            ],
        )
    )


def _traces_of(audits: Mapping[str, Audit], name: str) -> Traces:
    traces = audits[name].traces
    if traces is None:
        raise ValueError(f"audits must hold trajectories for the page, got none in {name!r}")
    return traces


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
        ("expected error without what was declared", [shown(one.expected_error) for one in values]),
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
