"""Propositions 1 and 2, Corollary 1 and Theorem 1: closed forms against simulation, and the trained models' saliency."""

import math
import statistics

from crest.lab.evidence.compare import mean_credit, stronger_attention
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import by_readout, by_system, grouped_table
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import HEADLINE_SYSTEMS, headline_runs
from crest.lab.evidence.shown import Chart, Claim, Mark, Panel, Series, Shown, Table
from crest.lab.evidence.theory_studies import DILUTION_STUDY, LAW, LAW_STUDY, MODEL
from crest.lab.runs.record import Record
from crest.theory import best_anchor_weight

_AGREES = 0.02
"""How far a simulated risk may be from its closed form: samples are finite."""

_DILUTION = Claim(
    text="Pooling dilutes sparse-event credit: closed form and simulation agree, credit falls as epsilon squared",
    paper="Proposition 1",
)
_LAW = Claim(
    text="The risk of the best selector is U-shaped in its budget, with the minimum at the event's length",
    paper="Theorem 1",
)
_ANCHORING = Claim(
    text="The anchored event signal rises with the anchoring weight whenever the precision is above the event rate",
    paper="Proposition 2",
)
_SALIENCY = Claim(
    text="Input saliency misses readout credit", paper="sensitivity ratio of order one, credit negligible"
)


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
                ("credit share", "share", "simulated_share", "credit"),
                ("input sensitivity ratio", "sensitivity", "simulated_sensitivity", "theory"),
            ),
        ),
    )


def _law_chart(study: dict[str, list[float]]) -> Chart:
    budget = study["budget"]
    panel = Panel(
        title="Budget law",
        x_label="selected steps K",
        y_label="risk R(K)",
        series=(
            Series(name="closed form", x=budget, y=study["risk"], colour="theory"),
            Series(name="simulated", x=budget, y=study["simulated"], look="points", colour="theory"),
        ),
        marks=(Mark(name="K = L", axis="x", at=float(LAW["L"])),),
        log_x=True,
    )
    caption = "Theorem 1: the risk of the best selector over its budget."
    return Chart(name="budget-law", caption=caption, panels=(panel,))


def _dilution_claim(study: dict[str, list[float]] | None) -> Claim:
    if study is None:
        return _DILUTION
    off = max(
        abs(a - b)
        for law, points in (
            ("risk_id", "simulated_id"),
            ("risk_ood", "simulated_ood"),
            ("share", "simulated_share"),
        )
        for a, b in zip(study[law], study[points], strict=True)
    )
    # The order of the simulated readers: the slope between the smallest and the third event share.
    rise = study["simulated_share"][2] / study["simulated_share"][0]
    epsilon = study["epsilon"]
    order = math.log(rise) / math.log(epsilon[2] / epsilon[0]) if rise > 0 else math.nan
    return _DILUTION.judged(
        f"largest difference {off:.4f}; simulated order of the credit share below ε = {epsilon[2]:g}: "
        f"{order:.2f}; OOD risk at ε = {epsilon[0]:g}: {study['simulated_ood'][0]:.2f}",
        holds=off < _AGREES and abs(order - 2) < 0.1,
        partly=off < _AGREES,
        bar=f"differences below {_AGREES}, order within 0.1 of 2",
        brief=f"order {order:.2f}, OOD risk {study['simulated_ood'][0]:.2f}",
    )


def _anchoring_claim(studied: bool) -> Claim:
    """Proposition 2 by its closed form; it needs no record, and is judged with the other statements of the theory."""
    if not studied:
        return _ANCHORING
    chosen = {"precision": 0.5, "K": 10, "T": 100, "epsilon": 0.1}
    best = float(best_anchor_weight(**chosen))
    return _ANCHORING.judged(
        f"with half of 10 selected steps right, of 100 with ten events, it rises up to a weight of {best:.2f} and falls beyond",
        holds=best >= 1,
        partly=False,
        bar="it rises up to a weight of 1 in this example, which has the precision above the event rate",
        brief=f"rises up to {best:.2f} and falls beyond",
    )


def _law_claim(study: dict[str, list[float]] | None) -> Claim:
    if study is None:
        return _LAW
    off = max(abs(a - b) for a, b in zip(study["risk"], study["simulated"], strict=True))
    lowest = study["budget"][min(range(len(study["simulated"])), key=study["simulated"].__getitem__)]
    return _LAW.judged(
        f"simulated minimum at K = {lowest:.0f}, L = {LAW['L']}; largest difference {off:.4f}",
        holds=lowest == LAW["L"] and off < _AGREES,
        partly=off < _AGREES,
        bar=f"the minimum is at L, differences below {_AGREES}",
        brief=f"minimum at {lowest:.0f}, L = {LAW['L']}",
    )


def _gradient(record: Record) -> float:
    """Share of the input gradient on event steps."""
    if record.saliency is None:
        raise ValueError(f"record must have the saliency that its spec asks for, got none in {record.id}")
    return record.saliency.ecm


def _saliency_claim(found: Found, study: dict[str, list[float]] | None) -> Claim:
    forms = {system: stronger_attention(found, system=system) for system in HEADLINE_SYSTEMS}
    if study is None or not found.complete():
        return _SALIENCY
    # The event share at which events are two steps in a thousand.
    place = 1
    sensitivity, share = study["sensitivity"][place], study["share"][place]
    parts = [f"ε = {study['epsilon'][place]:g}: sensitivity {sensitivity:.2f}, credit share {share:.4f}"]
    clear = []
    told = []
    for system, form in forms.items():
        if form is None:
            return _SALIENCY
        records = found.of(system=system, readout=form)
        more = sum(_gradient(record) > record.credit["id"].ecm for record in records)
        clear.append(more / len(records))
        told.append(f"{named(system)} on {more} of {len(records)}")
        parts.append(
            f"{named(system)}, {named(form)}: more of the gradient than of the credit on events on {more} of "
            f"{len(records)} seeds"
        )
    theory = sensitivity > 10 * share
    return _SALIENCY.judged(
        "; ".join(parts),
        holds=theory and min(clear) >= 0.9,
        partly=theory and max(clear) >= 0.9,
        bar="so in the model, and on nine of ten seeds of both systems",
        brief=f"in the model; {' and '.join(told)} seeds",
        seeds=len(found.of(system="gear", readout="crest")),
    )


def _dilution_table(study: dict[str, list[float]] | None) -> Table:
    keys = (
        ("epsilon", "ε"),
        ("risk_id", "R_id"),
        ("simulated_id", "simulated"),
        ("risk_ood", "R_ood"),
        ("simulated_ood", "simulated"),
        ("share", "ρ_E"),
        ("simulated_share", "simulated"),
        ("sensitivity", "w0/w1"),
    )
    lines = () if study is None else zip(*(study[key] for key, _ in keys), strict=True)
    return Table(
        name="dilution",
        caption=f"Two-channel model with T = {MODEL['T']}, s0 = {MODEL['s0']:g}, s1 = {MODEL['s1']:g}, gamma = {MODEL['gamma']:g}.",
        header=tuple(heading for _, heading in keys),
        rows=tuple(tuple(f"{value:.4g}" for value in line) for line in lines),
    )


def _saliency_table(found: Found) -> Table:
    groups = by_system(lambda system: by_readout(found, system=system))
    return grouped_table(
        "saliency",
        "Trained models (ID split): share of the input gradient on event steps, share of the credit at the "
        "pooling interface, and chance.",
        ("system", "readout", "gradient", "credit (ECM)", "chance"),
        {words: records for words, records in groups.items() if records},
        {
            "gradient": lambda records: f"{statistics.fmean(map(_gradient, records)):.2f}",
            "credit (ECM)": lambda records: f"{mean_credit(records, 'ecm'):.2f}",
            "chance": lambda records: f"{mean_credit(records, 'chance'):.2f}",
        },
    )


def _show(found: Found) -> Shown:
    dilution, law = found.studies.get(DILUTION_STUDY.name), found.studies.get(LAW_STUDY.name)
    return Shown(
        tables=(_dilution_table(dilution), _saliency_table(found)),
        charts=(
            *(() if dilution is None else (_dilution_chart(dilution),)),
            *(() if law is None else (_law_chart(law),)),
        ),
        claims=(
            _dilution_claim(dilution),
            _law_claim(law),
            _saliency_claim(found, dilution),
            _anchoring_claim(law is not None),
        ),
    )


THEORY_EXPERIMENT = Experiment(
    name="theory",
    evidence="Propositions 1-2, Corollary 1, Theorem 1",
    summary="Do the closed forms hold in simulation, and does saliency see what the interface reads?",
    show=_show,
    runs=headline_runs(),
    studies=(DILUTION_STUDY, LAW_STUDY),
)
