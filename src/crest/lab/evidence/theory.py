"""Propositions 1 and 2, Corollary 1 and Theorem 1: closed forms against simulation, and the trained models' saliency."""

import math
import statistics

from crest.lab.evidence.compare import mean_credit, missing, stronger_attention, verdict
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.main import FORMS, MAIN, SYSTEMS
from crest.lab.evidence.names import SYSTEM_NAMES, named
from crest.lab.evidence.shown import Chart, Claim, Mark, Panel, Series, Shown, Table
from crest.lab.evidence.theory_studies import DILUTION_STUDY, LAW, LAW_STUDY, MODEL
from crest.lab.runs.record import Record

AGREES = 0.02
"""How far a simulated risk may be from its closed form: samples are finite."""

DILUTION = (
    "Pooling dilutes sparse-event credit: closed form and simulation agree, credit falls as epsilon squared"
)
SALIENCY = "Input saliency misses readout credit"
LAW_TEXT = "The risk of the best selector is U-shaped in its budget, with the minimum at the event's length"


def _dilution_chart(study: dict[str, list[float]]) -> Chart:
    epsilon = study["epsilon"]

    def panel(title: str, y_label: str, log_y: bool, *lines: tuple[str, str, str, str]) -> Panel:
        series = []
        for name, law, points, colour in lines:
            series.append(Series(name=f"{name}, closed form", x=epsilon, y=study[law], colour=colour))
            series.append(
                Series(name=f"{name}, simulated", x=epsilon, y=study[points], look="points", colour=colour)
            )
        marks = (Mark(name="a guess", axis="y", at=1.0),) if not log_y else ()
        return Panel(
            title=title,
            x_label="event share ε",
            y_label=y_label,
            series=tuple(series),
            marks=marks,
            log_x=True,
            log_y=log_y,
        )

    return Chart(
        name="dilution",
        caption="Proposition 1 and Corollary 1 over the event share: lines are closed forms, points fitted readers.",
        panels=(
            panel(
                "Risks",
                "risk",
                False,
                ("ID", "risk_id", "simulated_id", "id"),
                ("OOD", "risk_ood", "simulated_ood", "ood"),
            ),
            panel(
                "Credit share and sensitivity",
                "event against background",
                True,
                ("credit share", "share", "simulated_share", "core"),
                ("input sensitivity ratio", "sensitivity", "simulated_sensitivity", "theory"),
            ),
        ),
    )


def _law_chart(study: dict[str, list[float]]) -> Chart:
    return Chart(
        name="budget-law",
        caption="Theorem 1: the risk of the best selector over its budget.",
        panels=(
            Panel(
                title="Budget law",
                x_label="selected steps K",
                y_label="risk R(K)",
                series=(
                    Series(name="closed form", x=study["budget"], y=study["risk"], colour="theory"),
                    Series(
                        name="simulated",
                        x=study["budget"],
                        y=study["simulated"],
                        look="points",
                        colour="crest",
                    ),
                ),
                marks=(Mark(name="K = L", axis="x", at=float(LAW["L"])),),
                log_x=True,
            ),
        ),
    )


def _dilution_claim(study: dict[str, list[float]] | None) -> Claim:
    paper = "Proposition 1"
    if study is None:
        return missing(DILUTION, paper)
    off = max(
        abs(a - b)
        for law, points in (
            ("risk_id", "simulated_id"),
            ("risk_ood", "simulated_ood"),
            ("share", "simulated_share"),
        )
        for a, b in zip(study[law], study[points], strict=True)
    )
    # Of the simulated readers, not of the closed form: the slope between the smallest and the third event share.
    ends = (
        study["simulated_share"][2] / study["simulated_share"][0],
        study["epsilon"][2] / study["epsilon"][0],
    )
    order = math.log(ends[0]) / math.log(ends[1]) if ends[0] > 0 else math.nan
    return Claim(
        text=DILUTION,
        paper=paper,
        measured=f"largest difference {off:.4f}; simulated order of the credit share below ε = {study['epsilon'][2]:g}: "
        f"{order:.2f}; OOD risk at ε = {study['epsilon'][0]:g}: {study['simulated_ood'][0]:.2f}",
        bar=f"differences below {AGREES}, order within 0.1 of 2",
        verdict=verdict(off < AGREES and abs(order - 2) < 0.1, off < AGREES),
    )


def _law_claim(study: dict[str, list[float]] | None) -> Claim:
    if study is None:
        return missing(LAW_TEXT, "Theorem 1")
    off = max(abs(a - b) for a, b in zip(study["risk"], study["simulated"], strict=True))
    lowest = study["budget"][min(range(len(study["simulated"])), key=study["simulated"].__getitem__)]
    return Claim(
        text=LAW_TEXT,
        paper="Theorem 1",
        measured=f"simulated minimum at K = {lowest:.0f}, L = {LAW['L']}; largest difference {off:.4f}",
        bar=f"the minimum is at L, differences below {AGREES}",
        verdict=verdict(lowest == LAW["L"] and off < AGREES, off < AGREES),
    )


def _gradient(record: Record) -> float:
    """Share of the input gradient on event steps."""
    if record.saliency is None:
        raise ValueError(f"record must have the saliency that its spec asks for, got none in {record.id}")
    return record.saliency.ecm


def _saliency_claim(found: Found, study: dict[str, list[float]] | None) -> Claim:
    paper = "sensitivity ratio of order one, credit negligible"
    if study is None or not found.complete():
        return missing(SALIENCY, paper)
    # Where events are as rare as two steps in a thousand.
    place = 1
    parts = [
        f"ε = {study['epsilon'][place]:g}: sensitivity {study['sensitivity'][place]:.2f}, credit share {study['share'][place]:.4f}"
    ]
    clear = []
    for system in SYSTEMS:
        form = stronger_attention(found, system=system)
        if form is None:
            return missing(SALIENCY, paper)
        records = found.of(system=system, readout=form)
        more = sum(_gradient(record) > record.credit["id"].ecm for record in records)
        clear.append(more / len(records))
        parts.append(
            f"{SYSTEM_NAMES[system]}, {named(form)}: more of the gradient than of the credit on events on {more} of "
            f"{len(records)} seeds"
        )
    theory = study["sensitivity"][place] > 10 * study["share"][place]
    return Claim(
        text=SALIENCY,
        paper=paper,
        measured="; ".join(parts),
        bar="so in the model, and on nine of ten seeds of both systems",
        verdict=verdict(theory and min(clear) >= 0.9, theory and max(clear) >= 0.9),
        seeds=len(found.of(system="gear", readout="crest")),
    )


def show(found: Found) -> Shown:
    """Closed forms, simulation, and saliency beside credit of the trained models."""
    first, second = found.studies.get(DILUTION_STUDY.name), found.studies.get(LAW_STUDY.name)
    charts = []
    rows: list[tuple[str, ...]] = []
    if first is not None:
        charts.append(_dilution_chart(first))
        keys = (
            "epsilon",
            "risk_id",
            "simulated_id",
            "risk_ood",
            "simulated_ood",
            "share",
            "simulated_share",
            "sensitivity",
        )
        rows = [
            tuple(f"{value:.4g}" for value in line)
            for line in zip(*(first[key] for key in keys), strict=True)
        ]
    if second is not None:
        charts.append(_law_chart(second))
    trained = tuple(
        (
            SYSTEM_NAMES[system],
            named(readout),
            f"{statistics.fmean(map(_gradient, records)):.2f}",
            f"{mean_credit(records, 'ecm'):.2f}",
            f"{mean_credit(records, 'chance'):.2f}",
        )
        for system in SYSTEMS
        for readout in FORMS
        if (records := found.of(system=system, readout=readout))
    )
    return Shown(
        tables=(
            Table(
                name="dilution",
                caption=f"Two-channel model with T = {MODEL['T']}, s0 = {MODEL['s0']:g}, s1 = {MODEL['s1']:g}, gamma = {MODEL['gamma']:g}.",
                header=("ε", "R_id", "simulated", "R_ood", "simulated", "ρ_E", "simulated", "w0/w1"),
                rows=tuple(rows),
            ),
            Table(
                name="saliency",
                caption="Trained models (ID split): share of the input gradient on event steps, share of the credit at the "
                "pooling interface, and chance.",
                header=("system", "readout", "gradient", "credit (ECM)", "chance"),
                rows=trained,
            ),
        ),
        charts=tuple(charts),
        claims=(_dilution_claim(first), _law_claim(second), _saliency_claim(found, first)),
    )


THEORY = Experiment(
    name="theory",
    evidence="Propositions 1-2, Corollary 1, Theorem 1",
    summary="Do the closed forms hold in simulation, and does saliency see what the interface reads?",
    show=show,
    runs=MAIN.runs,
    studies=(DILUTION_STUDY, LAW_STUDY),
)
