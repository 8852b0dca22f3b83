"""Table 1: CREST against both forms of attention on the two simulators."""

from crest.lab.evidence.compare import (
    ATTENTION,
    Contest,
    contest,
    credit,
    error,
    lower_error_claim,
    missing,
    percent,
    stronger_attention,
    verdict,
)
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.names import SYSTEM_NAMES, named
from crest.lab.evidence.seeds import TEN
from crest.lab.evidence.shown import Chart, Claim, Panel, Series, Shown, Table
from crest.lab.runs.grid import grid

FORMS = [*ATTENTION, "crest"]
"""Both forms of attention, and CREST."""
SYSTEMS = ("gear", "impact")

HEADER = (
    "system", "readout", "ID", "OOD", "ΔOOD", "p (least)", "CiE@1", "ECM", "Prec@|E|", "chance", "seeds",
)  # fmt: skip
PAPER = (
    ("SG-Drive, paper", "attention", "0.052", "0.404 ± 0.055", "", "", "0.27", "0.26", "", "", "10"),
    ("SG-Drive, paper", "CREST", "0.072", "0.286 ± 0.045", "−29 %", "<0.001", "0.62", "0.62", "", "", "10"),
    ("Impact, paper", "attention", "0.173", "1.377 ± 0.087", "", "", "0.02", "0.04", "", "", "10"),
    ("Impact, paper", "CREST", "0.160", "0.683 ± 0.105", "−50 %", "<0.001", "0.80", "0.86", "", "", "10"),
)
BARS = {"gear": -0.29, "impact": -0.50}
MOST_ID = {"gear": 1.4, "impact": 1.0}


def table(found: Found) -> Table:
    """Every readout of both systems; the change is against the form of attention marked *."""
    lines = []
    for system in SYSTEMS:
        form, duel = stronger_attention(found, system=system), contest(found, system=system)
        for readout in FORMS:
            records = found.of(system=system, readout=readout)
            change, p = "", ""
            if readout == "crest" and duel is not None:
                change, p = percent(duel.ood.change), f"{duel.ood.p:.5f} ({duel.ood.smallest_p:.5f})"
            lines.append(
                (
                    SYSTEM_NAMES[system],
                    named(readout) + (" *" if readout == form else ""),
                    error(records, "id"),
                    error(records),
                    change,
                    p,
                    *(credit(records, part) for part in ("cie", "ecm", "precision", "chance")),
                    f"{len(records)}/{len(found.declared(system=system, readout=readout))}",
                )
            )
    return Table(
        name="main",
        caption="Root mean square errors in units of the label's standard deviation, means ± standard deviations "
        "over seeds; credit on the ID split. * the form of attention with the lower ID error: the one compared "
        "with. p: one-sided paired signed-rank test; in brackets the least that this many seeds can give.",
        header=HEADER,
        rows=(*lines, *PAPER),
    )


def chart(found: Found) -> Chart:
    """OOD error of every seed."""
    panels = tuple(
        Panel(
            title=SYSTEM_NAMES[system],
            x_label="seed",
            y_label="OOD error",
            series=tuple(
                Series(
                    name=named(readout),
                    x=[record.spec.seed for record in records],
                    y=[record.score.ood for record in records],
                    look="points",
                    colour=readout,
                    hover=[f"ID {record.score.id:.3f}" for record in records],
                )
                for readout in FORMS
                if (records := found.of(system=system, readout=readout))
            ),
        )
        for system in SYSTEMS
    )
    return Chart(name="seeds", caption="OOD error, seed by seed.", panels=panels)


def _claims(system: str, duel: Contest | None) -> tuple[Claim, ...]:
    name, paper_change = SYSTEM_NAMES[system], {"gear": "−29 %", "impact": "−50 %"}[system]
    first = lower_error_claim(
        f"CREST lowers the OOD error on {name} without labels, on every seed",
        f"{paper_change}, p < 0.001",
        BARS[system],
        None if duel is None else duel.ood,
        "attention" if duel is None else named(duel.form),
    )
    id_text, id_paper = (
        f"Its ID error stays near attention's on {name}",
        {"gear": "1.38 times", "impact": "0.92 times"},
    )
    credit_text = f"It at least doubles event credit on {name}"
    credit_paper = {"gear": "CiE@1 2.3, ECM 2.4 times", "impact": "CiE@1 40, ECM 21 times"}[system]
    if duel is None:
        return (first, missing(id_text, id_paper[system]), missing(credit_text, credit_paper))
    cie, ecm = duel.credit_ratio("cie"), duel.credit_ratio("ecm")
    return (
        first,
        Claim(
            text=id_text,
            paper=id_paper[system],
            measured=f"{duel.id_ratio:.2f} times",
            bar=f"at most {MOST_ID[system]:g} times",
            verdict=verdict(duel.id_ratio <= MOST_ID[system], duel.id_ratio <= 1.4),
            seeds=duel.ood.seeds,
        ),
        Claim(
            text=credit_text,
            paper=credit_paper,
            measured=f"CiE@1 {cie:.2f} times, ECM {ecm:.2f} times",
            bar="both at least 2 times",
            verdict=verdict(min(cie, ecm) >= 2, min(cie, ecm) > 1),
            seeds=duel.ood.seeds,
        ),
    )


def show(found: Found) -> Shown:
    """The table, the seeds, and the headline claims."""
    duels = {system: contest(found, system=system) for system in SYSTEMS}
    return Shown(
        tables=(table(found),),
        charts=(chart(found),),
        claims=tuple(claim for system, duel in duels.items() for claim in _claims(system, duel)),
    )


MAIN = Experiment(
    name="main",
    evidence="Table 1",
    summary="Does CREST lower the OOD error and restore event credit against converged attention?",
    show=show,
    runs=grid([{"measures": ("deletion", "saliency")}], seed=TEN, system=["gear", "impact"], readout=FORMS),
)
