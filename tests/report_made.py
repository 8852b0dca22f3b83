"""What the tests of the report share: small pieces with charts of every look, and records with traces."""

import dataclasses
from typing import Any

import numpy as np

from crest.lab.evaluation import Score
from crest.lab.evidence.shown import Chart, Claim, Mark, Panel, Piece, Series, Shown, Table
from crest.lab.report.story import FallSignals
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from crest.probes import Trace, Traces

STEPS = 40


def fall_signals() -> FallSignals:
    """Somebody who falls after six seconds and stays down, and somebody who lies for four."""
    fall, lying = np.full(600, -1.0), np.full(600, -1.0)
    fall[300:], lying[200:400] = 0.2, 0.0
    fall[300:305] = -4.0
    return FallSignals(fall=fall, lying=lying, sample_rate=50.0)


def line_panel(title: str = "gear", **fields: Any) -> Panel:
    series = (
        Series(
            name="crest",
            x=[16, 64, 256],
            y=[0.5, 0.4, 0.3],
            spread=[0.1, 0.05, 0.02],
            colour="crest",
            hover=["short", "middle", "long"],
        ),
        Series(name="law", x=[16, 256], y=[0.6, 0.2], look="dashed", colour="theory"),
        Series(name="seeds", x=[20, 30], y=[0.3, 0.31], look="points", colour="quiet"),
    )
    marks = (
        Mark(name="chance", axis="y", at=0.25),
        Mark(name="trained", axis="x", at=32, to=128, colour="core"),
        Mark(name="default", axis="x", at=200),
    )
    usual = {"title": title, "x_label": "steps", "y_label": "credit", "series": series, "marks": marks}
    return Panel(**{**usual, **fields})


def bar_panel(title: str = "impact") -> Panel:
    series = tuple(
        Series(name=name, x=["mean", "crest"], y=y, spread=[0.02, 0.03], look="bars", colour=colour)
        for name, y, colour in (("ID", [0.1, 0.2], "id"), ("OOD", [0.6, 0.25], "ood"))
    )
    return Panel(title=title, x_label="readout", y_label="error", series=series)


def chart(name: str = "credit", panels: tuple[Panel, ...] | None = None) -> Chart:
    return Chart(name=name, caption=f"What {name} shows.", panels=panels or (line_panel(), bar_panel()))


def table(name: str = "errors") -> Table:
    rows = (("mean", "0.10 ± 0.02", "0.61"), ("crest", "0.20 ± 0.03", "0.25"))
    return Table(name=name, caption="Errors over seeds.", header=("readout", "ID", "P|E|"), rows=rows)


def piece(name: str = "main", **fields: Any) -> Piece:
    claims = (
        Claim(
            text=f"{name}: CREST errs less",
            paper="0.12 against 0.41",
            measured="0.15 against 0.44",
            verdict="holds",
            seeds=10,
            p=0.0039,
            smallest_p=1 / 1024,
        ),
        Claim(text=f"{name}: so does ID", paper="0.08", measured="", verdict="not measured"),
    )
    shown = Shown(tables=(table(),), charts=(chart(),), claims=claims, notes=("A note.",))
    usual = {
        "name": name,
        "evidence": "Table 1",
        "summary": "Who errs less?",
        "found": 4,
        "declared": 4,
        "command": f"crest run {name}",
        "shown": shown,
    }
    return Piece(**{**usual, **fields})


def record(system: str, readout: str, trajectories: int = 3, seed: int = 0, **fields: Any) -> Record:
    """A record whose data depend on the system and seed alone, and what is read on the readout too."""
    data = np.random.default_rng([seed, *system.encode()])
    read = np.random.default_rng([seed, *readout.encode()])
    rows = []
    for index in range(trajectories):
        start = int(data.integers(2, STEPS - 6))
        credit = read.uniform(0.1, 1, STEPS)
        rows.append(
            Trace(
                split="id" if index % 2 == 0 else "ood",
                index=index,
                y=float(data.normal()),
                cue=float(data.normal()),
                prediction=float(read.normal()),
                signals=data.normal(size=(2, STEPS)).tolist(),
                events=[start, start + 1, start + 3],
                credit=(credit / credit.sum()).tolist(),
                transience=read.uniform(0, 1, STEPS).tolist(),
                votes=read.uniform(0, 1, STEPS).tolist() if readout == "crest" else None,
            )
        )
    spec = RunSpec(system=system, readout=readout, seed=seed, measures=("traces",), **fields)
    # Whatever a run may leave out is left out.
    usual = dict.fromkeys(field.name for field in dataclasses.fields(Record))
    empty: dict[str, Any] = {
        name: {}
        for name in (
            "resolved",
            "credit",
            "budget",
            "deletion",
            "seconds",
            "versions",
            "attributions",
            "macro_f1",
            "conditions",
        )
    }
    empty |= {name: [] for name in ("losses", "looks")}
    made = {
        "id": spec.id,
        "spec": spec,
        "score": Score(id=0.1, ood=0.2),
        "peak_memory": 1.0,
        "traces": Traces(channels=["angle", "load"], sample_rate=10.0, rows=rows),
    }
    return Record(**{**usual, **empty, **made})


def records() -> list[Record]:
    return [
        record(system, readout) for system in ("gear", "impact") for readout in ("attention", "crest", "mean")
    ]
