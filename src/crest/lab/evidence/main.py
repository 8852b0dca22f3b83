"""Table 1: CREST against both forms of attention on the two simulators."""

import dataclasses
from collections.abc import Mapping

from crest.lab.evidence.compare import (
    Contest,
    contest,
    contest_with,
    lower_error_claim,
    own_contest,
    percent,
    stronger_attention,
    worse_than_a_guess,
)
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.grouped import by_readout, by_system, grouped_table
from crest.lab.evidence.names import named
from crest.lab.evidence.settings import ATTENTION, FORMS, HEADLINE_SYSTEMS, headline_runs
from crest.lab.evidence.shown import Chart, Claim, Comparison, Panel, Series, Shown, Table

_HEADER = (
    "system", "readout", "ID", "OOD", "ΔOOD", "p (least)", "CiE@1", "ECM", "Prec@|E|", "chance", "seeds",
)  # fmt: skip
_PAPER = (
    ("SG-Drive, paper", "attention", "0.052", "0.404 ± 0.055", "", "", "0.27", "0.26", "", "", "10"),
    ("SG-Drive, paper", "CREST", "0.072", "0.286 ± 0.045", "−29 %", "<0.001", "0.62", "0.62", "", "", "10"),
    ("Impact, paper", "attention", "0.173", "1.377 ± 0.087", "", "", "0.02", "0.04", "", "", "10"),
    ("Impact, paper", "CREST", "0.160", "0.683 ± 0.105", "−50 %", "<0.001", "0.80", "0.86", "", "", "10"),
)
PAPER_CHANGE = {"gear": -0.29, "impact": -0.50}
"""Change of the OOD error that the paper reports."""
_MOST_ID = {"gear": 1.4, "impact": 1.0}
_PAPER_OOD = {"gear": "1.46 with a GRU", "impact": "1.377"}
_PAPER_ID = {"gear": "1.38 times", "impact": "0.92 times"}
_PAPER_CREDIT = {"gear": "CiE@1 2.3, ECM 2.4 times", "impact": "CiE@1 40, ECM 21 times"}
_AGAINST = ", attention being {}"


def _table(found: Found, duels: Mapping[str, Contest | None]) -> Table:
    """Every readout of both systems; the change is against the form of attention that has a star."""
    groups = by_system(lambda system: by_readout(found, system=system))
    there = {(system, "crest"): duel.ood for system, duel in duels.items() if duel is not None}
    table = grouped_table(
        "main",
        "Root mean square errors in units of the label's standard deviation, means ± standard deviations "
        "over seeds; credit on the ID split. * the form of attention with the lower ID error: the one compared "
        "with. p: one-sided paired signed-rank test; in brackets the least that this many seeds can give.",
        _HEADER,
        groups,
        extra={
            "ΔOOD": {words: percent(result.change) for words, result in there.items()},
            "p (least)": {
                words: Comparison(f"{result.p:.5f} ({result.smallest_p:.5f})", result.p)
                for words, result in there.items()
            },
            "seeds": {words: found.count(system=words[0], readout=words[1]) for words in groups},
        },
        starred=[(system, stronger_attention(found, system=system) or "") for system in HEADLINE_SYSTEMS],
    )
    return dataclasses.replace(table, rows=(*table.rows, *_PAPER))


def _panel(found: Found, system: str) -> Panel:
    """OOD error of every seed."""
    series = tuple(
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
    )
    return Panel(title=named(system), x_label="seed", y_label="OOD error", series=series)


def error_claims(system: str, duel: Contest | None, rival: str = "") -> tuple[Claim, Claim]:
    """CREST's errors on a system against attention: the stronger form, or the one that `rival` names."""
    name = f"{named(system)}{rival and _AGAINST.format(rival)}"
    lower = Claim(
        text=f"CREST lowers the OOD error without labels, on every seed, on {name}",
        paper=f"{percent(PAPER_CHANGE[system])}, p < 0.001",
    )
    near = Claim(text=f"CREST's ID error stays near attention's on {name}", paper=_PAPER_ID[system])
    if duel is None:
        return lower, near
    return (
        lower_error_claim(lower, PAPER_CHANGE[system], duel.ood, named(duel.form)),
        near.judged(
            f"{duel.id_ratio:.2f} times",
            holds=duel.id_ratio <= _MOST_ID[system],
            partly=duel.id_ratio <= 1.4,
            bar=f"at most {_MOST_ID[system]:g} times",
            seeds=duel.ood.seeds,
        ),
    )


def guess_claim(system: str, duel: Contest | None, rival: str = "", told: str = "") -> Claim:
    """Whether attention is worse than a guess out of distribution; `told` is what its bar adds."""
    claim = Claim(
        text=f"Attention does worse than a guess out of distribution on {named(system)}{rival and _AGAINST.format(rival)}",
        paper=_PAPER_OOD[system],
    )
    return claim if duel is None else worse_than_a_guess(claim, duel, f"above 1 on every seed{told}")


def credit_claim(found: Found, system: str, form: str) -> Claim:
    """Whether CREST has twice the event credit of a form of attention."""
    claim = Claim(
        text=f"CREST at least doubles the event credit of {named(form)} on {named(system)}",
        paper=_PAPER_CREDIT[system],
    )
    duel = contest_with(form, found, system=system)
    if duel is None or not found.complete(system=system):
        return claim
    least = min(duel.credit_ratio(part) for part in ("cie", "ecm"))
    more = min(duel.more_credit(part) for part in ("cie", "ecm"))
    every = more == duel.ood.seeds
    return claim.judged(
        f"CiE@1 {duel.credit_ratio('cie'):.2f} times, ECM {duel.credit_ratio('ecm'):.2f} times, both higher on "
        f"{more} of {duel.ood.seeds} seeds",
        holds=least >= 2 and every,
        partly=least >= 1.5 and every,
        bar="both at least 2 times, and higher on every seed",
        seeds=duel.ood.seeds,
        brief=f"{duel.credit_ratio('cie'):.1f} and {duel.credit_ratio('ecm'):.1f} times, higher on {more} of {duel.ood.seeds}",
    )


def _show(found: Found) -> Shown:
    duels = {system: contest(found, system=system) for system in HEADLINE_SYSTEMS}
    own = {system: own_contest(found, system=system) for system in HEADLINE_SYSTEMS}
    form = named("attention")
    panels = tuple(_panel(found, system) for system in HEADLINE_SYSTEMS)
    return Shown(
        tables=(_table(found, duels),),
        charts=(Chart(name="seeds", caption="OOD error, seed by seed.", panels=panels),),
        claims=(
            *(
                claim
                for system, duel in duels.items()
                for claim in (
                    *error_claims(system, duel),
                    *(credit_claim(found, system, one) for one in ATTENTION),
                )
            ),
            *(claim for system, duel in own.items() for claim in error_claims(system, duel, form)),
            guess_claim("impact", duels["impact"]),
            guess_claim("impact", own["impact"], form),
        ),
    )


MAIN_EXPERIMENT = Experiment(
    name="main",
    evidence="Table 1",
    summary="Does CREST lower the OOD error and restore event credit against converged attention?",
    show=_show,
    runs=headline_runs(),
)
