"""Public recordings whose cue breaks: what a plain model does in the field, what experts, rivals and a repair make of it."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crest._repair import AS_IT_IS
from crest.lab.evidence.compare import against, by_seed, change_in_words, error_text, percent
from crest.lab.evidence.experiment import Experiment, Found
from crest.lab.evidence.field_readers import FIELD_READERS
from crest.lab.evidence.field_runs import (
    CLASSIFIED,
    DIAL,
    EXPERTS,
    FIELD_ENCODERS,
    FIELD_SYSTEMS,
    MAIN_ENCODER,
    RIVALS,
    field_runs,
)
from crest.lab.evidence.names import ENCODER_NAMES, named
from crest.lab.evidence.settings import ATTENTION, FORMS
from crest.lab.evidence.shown import (
    BEYOND,
    Chart,
    Claim,
    Comparison,
    Help,
    Panel,
    Series,
    Shown,
    Table,
)
from crest.lab.evidence.stats import Spread
from crest.lab.runs.record import Record, RepairCandidate, RepairScore
from crest.lab.runs.spec import RunSpec

# Named before a field error was seen: docs/evidence/choices.md#field
_BREAKS, _HOLDS = 0.15, 0.05
_QUESTIONS = {
    "mitbih": "premature beats, wander tied",
    "sisfall": "falls, posture tied",
    "hitsm": "fault size, speed tied",
}
_UNITS = {"mitbih": "error rate", "sisfall": "error rate", "hitsm": "standard deviations"}

_FIRST_ROWS = (("mitbih", "default"), ("sisfall", "default"), ("sisfall", "untied"), ("hitsm", "default"))
"""Systems and regimes of the table for those who have a minute: error rates first, and once without a tie."""

_LOWER = Claim(
    text="On MIT-BIH and on SisFall what the repair picks has at most 0.6 of the plain model's field error, in the median over encoders",
    paper=BEYOND,
)
_SAFE = Claim(
    text="With no encoder on MIT-BIH, SisFall and HIT-SM the pick's field error is more than 5 % above the plain model's",
    paper=BEYOND,
)
_VERDICTS = Claim(
    text="The audit is right about at least nine in ten of the models that clearly break or clearly hold",
    paper=BEYOND,
)
_UNHARMED = Claim(
    text="Without a tie in the data, the repair makes no encoder's field error worse by more than 5 %",
    paper=BEYOND,
)
_QUESTION = Claim(
    text="On recordings CREST's field error is below that of the stronger attention with every encoder",
    paper="lower on every system",
)
_CREDIT = Claim(
    text="On MIT-BIH more of CREST's credit is on the annotated beats than of either attention's, with every encoder",
    paper="higher on every system",
)
CLAIMS = (_LOWER, _SAFE, _VERDICTS, _UNHARMED, _QUESTION, _CREDIT)


def _of(found: Found, specs: Iterable[RunSpec], **fields: object) -> list[Record]:
    """The records of these runs that have these fields, by seed."""
    wanted = [spec for spec in specs if all(getattr(spec, name) == value for name, value in fields.items())]
    return [found.records[spec.id] for spec in wanted if spec.id in found.records]


def _repairs(
    found: Found, system: str, encoder: str, regime: str = "default"
) -> list[tuple[Record, RepairScore]]:
    # A trial has other sizes: its runs are looked for by their fields.
    records = found.part(
        spec for spec in found.runs if "repair" in spec.measures and spec.regime == regime
    ).of(system=system, encoder=encoder)
    return [(one, one.repaired) for one in records if one.repaired is not None]


def _pick(repaired: RepairScore) -> RepairCandidate:
    return repaired.candidates[repaired.pick]


def _means(rows: Sequence[tuple[Record, RepairScore]]) -> tuple[float, float]:
    """Field errors of the plain models and of the picks, means over seeds."""
    return (
        statistics.fmean(one.candidates[AS_IT_IS].ood for _, one in rows),
        statistics.fmean(_pick(one).ood for _, one in rows),
    )


def _errors(id_error: float, ood: float) -> str:
    return f"{id_error:.2f} / {ood:.2f}"


def _mean_errors(candidates: Sequence[RepairCandidate]) -> str:
    return _errors(
        statistics.fmean(one.id for one in candidates), statistics.fmean(one.ood for one in candidates)
    )


def _told(words: Iterable[str]) -> str:
    """Words with how often each came, the most frequent first."""
    return ", ".join(
        f"{word} ({count})" if count > 1 else word for word, count in Counter(words).most_common()
    )


def _worst(every: Sequence[RepairScore]) -> str:
    """The largest field error over target x condition before and after, means over the seeds on which it was measured."""
    repairs = [one for one in every if one.worst]
    if not repairs:
        return "-"
    before, after = (
        statistics.fmean(one.worst[name] for one, name in zip(repairs, names, strict=True))
        for names in ([AS_IT_IS] * len(repairs), [one.pick for one in repairs])
    )
    return f"{before:.2f} -> {after:.2f}" + ("" if len(repairs) == len(every) else f" (of {len(repairs)})")


def _repair_table(found: Found, regime: str, name: str, caption: str) -> Table:
    told = []
    for system in FIELD_SYSTEMS:
        for encoder in FIELD_ENCODERS[system]:
            rows = _repairs(found, system, encoder, regime)
            if not rows:
                continue
            plain, pick = _means(rows)
            told.append(
                (
                    named(system), ENCODER_NAMES[encoder],
                    _mean_errors([one.candidates[AS_IT_IS] for _, one in rows]),
                    _mean_errors([_pick(one) for _, one in rows]),
                    Comparison(f"{pick / plain:.2f}" if plain else "-"),
                    f"{statistics.fmean(_pick(one).expected for _, one in rows):.2f}",
                    _worst([one for _, one in rows]),
                    _told(one.pick for _, one in rows),
                    _told(f"{one.verdict} -> {one.verdict_after or '?'}" for _, one in rows),
                    f"{len(rows)}",
                )
            )  # fmt: skip
    return Table(
        name=name,
        caption=caption,
        header=(
            "recordings", "encoder", "plain", "repaired", "ratio", "expected", "worst cell", "picks", "audit", "seeds",
        ),
        rows=tuple(told),
    )  # fmt: skip


def _method_rows(found: Found, system: str) -> dict[str, str]:
    """ID / field errors of everything that was tried with the main encoder, and that of the worst cell, means over seeds."""
    rows = _repairs(found, system, MAIN_ENCODER[system])
    told: dict[str, str] = {}
    if rows:
        every = [one for _, one in rows]
        for name, chosen in {"as it is": AS_IT_IS, "**`crest.repair`**": None}.items():
            picks = [chosen or one.pick for one in every]
            cells = [one.worst.get(pick) for one, pick in zip(every, picks, strict=True)]
            told[name] = _mean_errors(
                [one.candidates[pick] for one, pick in zip(every, picks, strict=True)]
            ) + _worst_cell(cells)
    for name, fields in EXPERTS[system].items():
        told |= _mean_row(name, _expert_records(found, system, fields))
    for name, fields in RIVALS.items():
        told |= _mean_row(name, _of(found, found.runs, system=system, encoder=MAIN_ENCODER[system], **fields))
    names = dict.fromkeys(name for _, one in rows for name in one.candidates if name != AS_IT_IS)
    for name in names:
        there = [one.candidates[name] for _, one in rows if name in one.candidates]
        told[name] = _mean_errors(there) + ("" if len(there) == len(rows) else f" (of {len(there)})")
    return told


def _expert_records(found: Found, system: str, fields: Mapping[str, Any]) -> list[Record]:
    records = _of(
        found,
        found.runs,
        system=system,
        encoder=MAIN_ENCODER[system],
        **fields,
        readout="mean",
        regime="default",
    )
    return [one for one in records if not one.spec.measures]


def _mean_row(name: str, records: Sequence[Record]) -> dict[str, str]:
    errors = _mean_scores(records)
    return {} if errors is None else {name: _errors(*errors) + _worst_cell([one.worst for one in records])}


def _mean_scores(records: Sequence[Record]) -> tuple[float, float] | None:
    """ID and field error, means over seeds."""
    if not records:
        return None
    return (
        statistics.fmean(one.score.id for one in records),
        statistics.fmean(one.score.ood for one in records),
    )


def _worst_cell(worst: Sequence[float | None]) -> str:
    """The largest field error over label x condition, in brackets; nothing unless every seed has it."""
    known = [one for one in worst if one is not None]
    return f" ({statistics.fmean(known):.2f})" if known and len(known) == len(worst) else ""


def _method_table(found: Found) -> Table:
    columns = {system: _method_rows(found, system) for system in FIELD_SYSTEMS}
    names = dict.fromkeys(name for column in columns.values() for name in column)
    return Table(
        name="methods",
        caption="Everything with average pooling behind a residual CNN (HIT-SM: a CNN), ID / field error, means over seeds: error rates on "
        "MIT-BIH and SisFall, standard deviations of the label on HIT-SM. In brackets, if it was measured: the worst cell of label x "
        "condition in the field. Remedies of the repair go on from the plain model; "
        "*trained longer* is their control. What experts do first and the paper's alternatives are trained from the start.",
        header=("method", *(f"{named(system)}: {_QUESTIONS[system]}" for system in FIELD_SYSTEMS)),
        rows=tuple((name, *(columns[system].get(name, "") for system in FIELD_SYSTEMS)) for name in names),
    )


def _worth_table(found: Found) -> Table | None:
    """Few rows for those who have a minute: the README's."""
    told = []
    for system, regime in _FIRST_ROWS:
        rows = _repairs(found, system, MAIN_ENCODER[system], regime)
        experts = _experts(found, system) if regime == "default" else {}
        if not rows or (regime == "default" and len(experts) < len(EXPERTS[system])):
            return None
        plain, pick = _means(rows)
        best = min(experts, key=lambda name: experts[name][1], default=None)
        question = _QUESTIONS[system] if regime == "default" else "falls, posture not tied"
        told.append(
            (
                f"{named(system)}: {question}",
                _mean_errors([_plain(one) for _, one in rows]),
                "" if best is None else f"{_errors(*experts[best])} ({best})",
                _mean_errors([_pick(one) for _, one in rows]),
                change_in_words(plain, pick),
            )
        )
    return Table(
        name="worth",
        caption="Bench / field error of a residual CNN (bearings: a CNN), means over seeds. What an expert does first: the better of two, as the field "
        "tells. Without a tie no cue breaks, and there is nothing to repair.",
        header=("data", "as trained", "what an expert does first", "`crest.repair`", "in the field it is"),
        rows=tuple(told),
    )


def _experts(found: Found, system: str) -> dict[str, tuple[float, float]]:
    """ID and field error of what experts do first, with the main encoder, means over seeds."""
    return {
        name: errors
        for name, fields in EXPERTS[system].items()
        if (errors := _mean_scores(_expert_records(found, system, fields))) is not None
    }


def _contests(found: Found) -> list[tuple[str, str, dict[str, list[Record]]]]:
    contests = []
    for system in FIELD_SYSTEMS:
        for encoder in FIELD_ENCODERS[system]:
            records = {
                form: [
                    one
                    for one in _of(
                        found, found.runs, system=system, encoder=encoder, readout=form, regime="default"
                    )
                    if one.spec.remedy == "none"
                ]
                for form in FORMS
            }
            if all(records.values()):
                contests.append((system, encoder, records))
    return contests


def _stronger(records: dict[str, list[Record]]) -> str:
    return min(ATTENTION, key=lambda form: statistics.fmean(by_seed(records[form], "id").values()))


def _contest_table(contests: Sequence[tuple[str, str, dict[str, list[Record]]]]) -> Table:
    told = []
    for system, encoder, records in contests:
        rival = _stronger(records)
        test = against(records["crest"], records[rival])
        told.append(
            (
                named(system), ENCODER_NAMES[encoder],
                *(f"{error_text(records[form], 'id')} / {error_text(records[form])}" for form in FORMS),
                named(rival),
                Comparison("-" if test is None else percent(test.change, 0)),
                Comparison("-" if test is None else f"{test.lower} of {test.seeds}"),
                Comparison("-" if test is None else f"{test.p:.3f} (least {test.smallest_p:.3f})"),
            )
        )  # fmt: skip
    return Table(
        name="contest",
        caption="The paper's question on recordings: ID / field errors of both attentions and CREST, trained from the start without any remedy. The "
        "stronger attention has the lower ID error. p: one-sided signed-rank test over seeds.",
        header=(
            "recordings",
            "encoder",
            *(named(form) for form in FORMS),
            "stronger",
            "change",
            "lower on",
            "p",
        ),
        rows=tuple(told),
    )


def _credit_table(contests: Sequence[tuple[str, str, dict[str, list[Record]]]]) -> Table:
    told = []
    for system, encoder, records in contests:
        if system != "mitbih":
            continue
        for form in FORMS:
            credit = [one.credit["id"] for one in records[form] if "id" in one.credit]
            rating = [one.rating for one in records[form] if one.rating is not None]
            if not credit:
                continue
            told.append(
                (
                    ENCODER_NAMES[encoder], named(form),
                    *(Spread.of([getattr(one, part) for one in credit]).text(2) for part in ("cie", "ecm", "precision", "chance")),
                    *(Spread.of([getattr(one, part) for one in rating]).text(2) if rating else "-" for part in ("cie", "precision")),
                )
            )  # fmt: skip
    return Table(
        name="credit",
        caption="MIT-BIH: credit on the beats that experts annotated, over ID windows with a premature beat. The last two columns score the "
        "steps by the readout's own rating (CREST's votes, attention's weights) instead.",
        header=(
            "encoder",
            "readout",
            "CiE@1",
            "ECM",
            "Prec@|E|",
            "chance",
            "rating: CiE@1",
            "rating: Prec@|E|",
        ),
        rows=tuple(told),
    )


def _dial_table(found: Found) -> Table:
    told = []
    for system, regimes in DIAL.items():
        for regime in (*regimes,):
            plain, ours = (
                _of(
                    found,
                    found.runs,
                    system=system,
                    regime=regime,
                    encoder=MAIN_ENCODER[system],
                    readout=readout,
                )
                for readout in ("mean", "crest")
            )
            if plain and ours:
                told.append(
                    (
                        named(system), regime.replace("tie_", "0."),
                        *(f"{error_text(one, 'id')} / {error_text(one)}" for one in (plain, ours)),
                    )
                )  # fmt: skip
    return Table(
        name="dial",
        caption="Other strengths of the tie, residual CNN, three seeds, ID / field: average pooling, and CREST with exchanged backgrounds.",
        header=("recordings", "tie", "plain", "CREST + exchange"),
        rows=tuple(told),
    )


def _reader_table(found: Found) -> Table | None:
    scores = found.studies.get(FIELD_READERS.name)
    if scores is None:
        return None
    return Table(
        name="readers",
        caption="Without a network: a forest on what experts read by hand, and on one nuisance alone. ID / field, means over the same five "
        "seeds. A nuisance that tells the label on the bench and not in the field is the cue.",
        header=("recordings", "read from", "ID / field"),
        rows=tuple((named(one["system"]), one["reader"], _errors(one["id"], one["ood"])) for one in scores),
    )


def _verdicts(found: Found) -> list[tuple[str, str, str]]:
    """(what it is, what the audit says, what is true) of every model that clearly breaks or clearly holds."""
    models = []
    for system in FIELD_SYSTEMS:
        for regime in ("default", "untied"):
            for encoder in FIELD_ENCODERS[system]:
                for _, one in _repairs(found, system, encoder, regime):
                    plain, pick = one.candidates[AS_IT_IS], _pick(one)
                    models.append((system, one.verdict, plain))
                    if one.pick != AS_IT_IS and one.verdict_after:
                        models.append((system, one.verdict_after, pick))
    clear = []
    for system, verdict, model in models:
        gap = model.ood - model.id
        if gap >= _BREAKS or gap <= _HOLDS:
            clear.append((named(system), verdict, "background" if gap >= _BREAKS else "events"))
    return clear


def _verdict_table(clear: Sequence[tuple[str, str, str]]) -> Table:
    kinds = sorted({(system, truth) for system, _, truth in clear})
    return Table(
        name="verdicts",
        caption=f"What the audit says of plain and repaired models that clearly break (field error {_BREAKS} or more above ID) or clearly "
        f"hold (at most {_HOLDS} above). Right is *background* for those that break and *events* for those that hold.",
        header=("recordings", "models that", "background", "unclear", "events"),
        rows=tuple(
            (
                system,
                "break" if truth == "background" else "hold",
                *(f"{clear.count((system, said, truth))}" for said in ("background", "unclear", "events")),
            )
            for system, truth in kinds
        ),
    )


def _chart(found: Found) -> Chart | None:
    panels = []
    for system in FIELD_SYSTEMS:
        rows = _repairs(found, system, MAIN_ENCODER[system])
        if not rows:
            continue
        sides = {
            "bench": [statistics.fmean(of(one).id for _, one in rows) for of in (_plain, _pick)],
            "field": [statistics.fmean(of(one).ood for _, one in rows) for of in (_plain, _pick)],
        }
        panels.append(
            Panel(
                title=f"{named(system)}: {_QUESTIONS[system]}",
                x_label="",
                y_label=_UNITS[system],
                series=tuple(
                    Series(
                        name=name, x=["as it is", "repaired"], y=values, look="bars",
                        colour="id" if name == "bench" else "ood",
                    )
                    for name, values in sides.items()
                ),
            )
        )  # fmt: skip
    if not panels:
        return None
    return Chart(
        name="field",
        caption="A residual CNN (bearings: a CNN) on real recordings, before and after `crest.repair`; means over seeds. No field label chose anything.",
        panels=tuple(panels),
    )


def _plain(repaired: RepairScore) -> RepairCandidate:
    return repaired.candidates[AS_IT_IS]


def _ratios(found: Found, systems: Sequence[str], regime: str = "default") -> dict[tuple[str, str], float]:
    ratios = {}
    for system in systems:
        for encoder in FIELD_ENCODERS[system]:
            rows = _repairs(found, system, encoder, regime)
            if rows:
                plain, pick = _means(rows)
                ratios[system, encoder] = pick / plain if plain else (1.0 if pick == 0 else math.inf)
    return ratios


def _worst_place(found: Found, ratios: dict[tuple[str, str], float], regime: str) -> str:
    """Where the pick is worst against the plain model, in words."""
    system, encoder = place = max(ratios, key=ratios.__getitem__)
    plain, pick = _means(_repairs(found, system, encoder, regime))
    change = percent(ratios[place] - 1, 1) if plain else f"no error to {pick:.2f}"
    return f"worst: {named(system)}, {ENCODER_NAMES[encoder]}, {change}"


def _helps(found: Found) -> tuple[Help, ...]:
    """The plain model and the pick with every encoder, with a tie and without; with the main encoder the better of what an expert does first."""
    helps = []
    for regime in ("default", "untied"):
        for system in FIELD_SYSTEMS:
            for encoder in FIELD_ENCODERS[system]:
                rows = _repairs(found, system, encoder, regime)
                if not rows:
                    continue
                plain, pick = _means(rows)
                main = regime == "default" and encoder == MAIN_ENCODER[system]
                expert, expert_is = _expert(found, system) if main else (None, "")
                helps.append(
                    Help(
                        place=f"{named(system)}, {ENCODER_NAMES[encoder]}",
                        real=True,
                        tied=regime == "default",
                        first=main,
                        unit=_UNITS[system],
                        plain=plain,
                        expert=expert,
                        expert_is=expert_is,
                        repaired=pick,
                    )
                )
    return tuple(helps)


def _expert(found: Found, system: str) -> tuple[float | None, str]:
    """The lowest mean field error of what experts do first, and what that is; None while a run is missing."""
    experts = _experts(found, system)
    if len(experts) < len(EXPERTS[system]):
        return None, ""
    best = min(experts, key=lambda name: experts[name][1])
    return experts[best][1], best


def _judged(found: Found) -> tuple[Claim, ...]:
    tied = _ratios(found, FIELD_SYSTEMS)
    untied = _ratios(found, CLASSIFIED, "untied")
    medians = {
        system: statistics.median(ratio for (one, _), ratio in tied.items() if one == system)
        for system in CLASSIFIED
    }
    worst, worst_untied = max(tied.values()), max(untied.values())
    clear = _verdicts(found)
    right = sum(said == truth for _, said, truth in clear)
    alarms = sum(said == "background" and truth == "events" for _, said, truth in clear)
    contests = _contests(found)
    tests = [
        (system, encoder, against(records["crest"], records[_stronger(records)]))
        for system, encoder, records in contests
    ]
    changes = [test.change for _, _, test in tests if test is not None]
    lower = sum(change < 0 for change in changes)
    masses = [
        {form: statistics.fmean(one.credit["id"].ecm for one in records[form]) for form in FORMS}
        for system, _, records in contests
        if system == "mitbih"
    ]
    above = sum(one["crest"] > max(one[form] for form in ATTENTION) for one in masses)
    return (
        _LOWER.judged(
            ", ".join(f"{named(system)} {ratio:.2f}" for system, ratio in medians.items()),
            holds=max(medians.values()) <= 0.6,
            partly=min(medians.values()) <= 0.6,
            bar="median over four encoders at most 0.6 on each",
        ),
        _SAFE.judged(
            _worst_place(found, tied, "default"),
            holds=worst <= 1.05,
            partly=worst <= 1.15,
            bar="5 % or less with each encoder, means over seeds",
        ),
        _VERDICTS.judged(
            f"{right} of {len(clear)}, {alarms} false alarms",
            holds=right >= 0.9 * len(clear),
            partly=right >= 0.8 * len(clear),
            bar="90 %",
        ),
        _UNHARMED.judged(
            _worst_place(found, untied, "untied"),
            holds=worst_untied <= 1.05,
            partly=worst_untied <= 1.15,
            bar="5 % or less with each encoder, means over seeds",
        ),
        _QUESTION.judged(
            f"lower in {lower} of {len(changes)} places, median {percent(statistics.median(changes), 0)}",
            holds=lower == len(changes),
            partly=lower > len(changes) / 2,
            bar="lower mean field error in all places",
        ),
        _CREDIT.judged(
            f"higher with {above} of {len(masses)} encoders",
            holds=above == len(masses),
            partly=above > 0,
            bar="higher mean ECM with each encoder",
        ),
    )


def _show(found: Found) -> Shown:
    contests = _contests(found)
    clear = _verdicts(found)
    tables = (
        _worth_table(found),
        _repair_table(
            found,
            "default",
            "repairs",
            "Plain models and what `crest.repair` picks, ID / field, means over seeds. Expected: the pick's error with what was declared exchanged, "
            "known without a field label. Worst cell: the largest field error over target x condition, before and after. HIT-SM's speeds "
            "are known, wander and posture are not.",
        ),
        _method_table(found),
        _verdict_table(clear) if clear else None,
        _repair_table(
            found,
            "untied",
            "control",
            "The same recordings without a tie, on the bench and in the field: there is nothing to repair.",
        ),
        _contest_table(contests) if contests else None,
        _credit_table(contests),
        _reader_table(found),
        _dial_table(found),
    )
    chart = _chart(found)
    return Shown(
        tables=tuple(table for table in tables if table is not None and table.rows),
        charts=() if chart is None else (chart,),
        claims=_judged(found) if found.complete() else CLAIMS,
        helps=_helps(found),
        notes=(
            "Nothing was added to any recording: ties are made by choosing among real windows. People are never on both sides, and "
            "patients but one: records 201 and 202 of MIT-BIH are of the same man. "
            "HIT-SM has the same bearings on both sides, in other parts of the recordings.",
            "CWRU keeps its own piece. Its held load breaks no cue, so there is nothing to repair there.",
        ),
    )


FIELD_EXPERIMENT = Experiment(
    name="field",
    evidence="Beyond the paper: docs/evidence/field.md",
    summary="Real ECG, falls and bearings with a cue that breaks: what do plain models, experts, rivals and a repair do in the field?",
    show=_show,
    runs=field_runs(),
    studies=(FIELD_READERS,),
)
