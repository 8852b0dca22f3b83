"""From what was measured to a finding: events, background, or unclear, with its reasons and what to do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from crest._audit.headline import headline
from crest._audit.readings import Deletion
from crest._audit.tied import TieReading
from crest._base.words import listed
from crest.exchange.result import MOVES, AuditVerdict, Exchange

# our choice: docs/evidence/choices.md#audit
TANGLED = 0.3
SHARP = 0.5
FEWEST = 8


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The verdict, why, and what to do."""

    verdict: AuditVerdict
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    headline: str = ""
    """The finding in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that the finding is made of."""

    exchange: Exchange
    """The exchange test."""
    sharp: float
    """Share of the trajectories in which a transient core stands out."""
    brief: tuple[float, float] | None = None
    """How well a simple reader reads the target from what is brief alone, with the upper end of its interval; None if that was not measured."""
    core_credit: tuple[float, float] | None = None
    """Mean share of the credit on the core of the inputs, and the share of the steps that it has."""
    deletion: Deletion | None = None
    """Change of the predictions without the core, and without as many other steps."""
    tie: TieReading | None = None
    """Target x condition, if conditions are known."""
    trajectories: int = FEWEST
    """How many were looked at."""
    error: float | None = None
    """Of the model, if targets are known."""
    id_error: float | None = None
    """Of the model on data as in training, if it is known."""
    channels_first: bool = False
    """Whether the model takes (B, C, T): the advice then says so to the layers that it names."""
    masked: bool = False
    """Whether a mask or lengths came with the trajectories: the advice then hands them on."""
    running: bool = False
    """Whether the model normalises by running statistics in evaluation mode, and by those of the batch in training."""
    preprocessed: str | None = field(default=None)
    """What the inputs look like, if something was done to them already."""


def found(evidence: Evidence) -> Finding:
    """The finding: the trajectories that break a tie decide if there are enough, else the exchange of what was declared.

    If a premise fails, an alarm becomes *unclear*, with the reason.
    """
    exchange = evidence.exchange
    verdict = exchange.verdict
    reasons = [_declared_words(exchange)]
    direct = None if evidence.tie is None else evidence.tie.verdict(exchange.constant_error)
    if direct == "unclear":
        # They leave it open: then they cannot lift an alarm, and an exchange without one is not enough.
        verdict, direct = ("background" if verdict == "background" else "unclear"), None
    elif direct is not None:
        verdict = direct
    failing = _failing(evidence, verdict, direct)
    if evidence.tie is not None:
        reasons += _tie_words(evidence.tie, None if failing else direct)
    if failing:
        verdict = "unclear"
    reasons += failing
    reasons += _limit_words(exchange, verdict) if not failing and direct is None else []
    reasons += _undeclared_words(exchange)
    reasons += _beside(evidence)
    return Finding(
        verdict=verdict,
        reasons=tuple(reasons),
        advice=_advice(verdict, evidence),
        headline=headline(verdict, exchange, failing=failing, tie=evidence.tie, decided=direct is not None),
    )


def _failing(evidence: Evidence, verdict: AuditVerdict, direct: AuditVerdict | None) -> list[str]:
    """Premises that do not hold, in sentences: with one of them there is no clear verdict."""
    exchange, failing = evidence.exchange, []
    if evidence.trajectories < FEWEST:
        failing.append(f"Fewer than {FEWEST} trajectories are too few for a verdict.")
    if exchange.varies and evidence.error is not None and not exchange.learnt(evidence.error):
        numbers = (
            f"its error is {evidence.error:.3g}, that of a constant prediction {exchange.constant_error:.3g}"
        )
        failing.append(
            f"The model fails on these data: {numbers}. On data as in training its error is {evidence.id_error:.3g}. So it follows "
            "something that does not hold here. These data cannot tell what that is."
            if _learnt_elsewhere(evidence)
            else f"The model has hardly learnt its task on these data: {numbers}. So the audit cannot tell where it reads."
        )
    if verdict == "background" and direct is None:
        if evidence.sharp < SHARP:
            failing.append(
                f"A brief core stands out in only {evidence.sharp:.0%} of the trajectories. The target may be in what moves "
                "the predictions."
            )
        elif evidence.brief is not None and evidence.brief[1] <= 0:
            failing.append(
                "A simple reader cannot tell the target from the brief part alone. The target may be in what moves the "
                "predictions."
            )
    return failing


def _declared_words(exchange: Exchange) -> str:
    if not exchange.varies:
        return "The prediction is the same for every trajectory, so it follows nothing."
    if exchange.together is None or not exchange.invariant:
        return "Nothing was declared that the predictions must not depend on. Pass invariant= to declare it."
    missing = f" The signals have no {listed(exchange.absent)} to exchange." if exchange.absent else ""
    present = [name for name in exchange.invariant if name not in exchange.absent]
    if not present:
        return f"Nothing that was declared could be exchanged.{missing}"
    one, names = exchange.together, listed(present)
    low, high = one.moved_interval
    words = (
        f"Exchanging {names} between trajectories moves the predictions by {one.moved:.2f} standard deviations ({low:.2f} to "
        f"{high:.2f}; the limit is {MOVES:g})."
    )
    if one.error is not None:
        words += f" The error is then {one.error:.3g}. Expect that error when they stop following the target and nothing else changes."
    movers = exchange.movers()
    if movers and high >= MOVES:
        words += (
            " Alone: " + ", ".join(f"{name} {exchange.nuisances[name].moved:.2f}" for name in movers) + "."
        )
    return words + missing


def _limit_words(exchange: Exchange, verdict: AuditVerdict) -> list[str]:
    """What decides if the limit lies in the interval of how far the declared nuisances move the predictions."""
    if exchange.together is None or not exchange.varies:
        return []
    low, high = exchange.together.moved_interval
    if not low < MOVES <= high:
        return []
    if verdict == "unclear":
        return [f"The limit of {MOVES:g} lies in this interval. More trajectories may settle it."]
    return [
        f"The limit of {MOVES:g} lies in this interval, so the exchange of the surroundings decides: {exchange.transient:.0%} of the "
        "predictions' variance follows the transient."
    ]


def _undeclared_words(exchange: Exchange) -> list[str]:
    """What moves the predictions and was not declared: a fact and a question, never an alarm."""
    movers = exchange.movers(declared=False)
    if not movers or not exchange.varies:
        return []
    told = ", ".join(f"{name} by {exchange.nuisances[name].moved:.2f}" for name in movers)
    declared = _tuple((*exchange.invariant, *movers))
    return [
        f"Not declared, but it moves the predictions: {told}. That is right if it comes from the event or the fault itself. If not, "
        f"declare it: invariant={declared}."
    ]


def _tie_words(tie: TieReading, direct: AuditVerdict | None) -> list[str]:
    if not tie.tied:
        return [f"Target and condition are not tied in these data (Cramér's V {tie.strength:.2f})."]
    words = (
        f"Target and condition are tied in these data (Cramér's V {tie.strength:.2f}). The error at each condition can look good for "
        "this reason alone."
    )
    if tie.breaking_error is None or tie.other_error is None:
        return [f"{words} No trajectory breaks the tie. A few that do would settle it."]
    ends = "" if tie.breaking_interval is None else " ({:.3g} to {:.3g})".format(*tie.breaking_interval)
    found = (
        f"On the {tie.breaking} trajectories that break the tie its error is {tie.breaking_error:.3g}{ends}, on "
        f"the others {tie.other_error:.3g}."
    )
    if tie.breaking_interval is None:
        alone = "All of them are of one group, so the error of other groups is not known"
        return [words, f"{found} {alone}. That decides nothing. Some of another group would settle it."]
    if direct is None:
        return [words, f"{found} That decides nothing. More of them would settle it."]
    return [words, f"{found} This is direct evidence, so it decides."]


def _beside(evidence: Evidence) -> list[str]:
    exchange, reasons = evidence.exchange, []
    if evidence.preprocessed is not None:
        reasons.append(
            f"The inputs {evidence.preprocessed}: what was removed before the model cannot be exchanged here. Audit raw signals, "
            "with the preprocessing as the model's first layer."
        )
    if exchange.varies:
        low, high = exchange.transient_interval
        reasons.append(
            f"If everything around the core (the most transient steps) is exchanged, {exchange.transient:.0%} of the predictions' variance follows the "
            f"core ({low:.0%} to {high:.0%}), {exchange.background:.0%} the surroundings, {exchange.interaction:.0%} both together."
        )
    if evidence.core_credit is not None and not math.isnan(evidence.core_credit[0]):
        share, chance = evidence.core_credit
        times = share / chance if chance > 0 else 0.0
        reasons.append(
            f"At the pooling interface {share:.0%} of the credit is on the core, the most transient {chance:.0%} of the steps: {times:.1f} "
            "times the share of evenly spread credit. Credit alone does not tell whether the core decides."
        )
    if evidence.deletion is not None:
        reasons.append(
            f"Removing the most transient steps shifts predictions by {evidence.deletion.core:.2f} standard deviations; removing as "
            f"many other steps shifts them by {evidence.deletion.others:.2f}."
        )
    if exchange.varies and exchange.interaction > TANGLED:
        reasons.append(
            "Much of the variance follows neither alone. Either the model reads the two together, or they do not fit after an "
            "exchange, as when events keep to the phase of a wave."
        )
    if evidence.sharp < SHARP:
        reasons.append(
            f"A transient core stands out in only {evidence.sharp:.0%} of the trajectories: there may be no brief event to read."
        )
    return reasons


# What to put where, by the nuisance that moves the predictions.
_FRONTS = {
    "offset": 'crest.HighPass("level"{more})',
    "drift": "crest.HighPass({only})",
    "tones": 'crest.HighPass("tones"{more})',
    "gain": "crest.Standardise({only})",
}
_CHANGES = {
    "offset": "crest.JitterLevel({only})",
    "drift": "crest.ExchangeBackground({only})",
    "tones": 'crest.ExchangeNuisances("tones"{more})',
    "gain": 'crest.ExchangeNuisances("gain"{more})',
    "colour": 'crest.ExchangeNuisances("colour"{more})',
    "rate": "crest.Stretch({only})",
    "surroundings": 'crest.ExchangeNuisances("surroundings"{more})',
}


_RUNNING = (
    "The model has batch normalisation, and is audited in evaluation mode. Compare its error after model.train() and after "
    "model.eval(): if only the latter is high, the running statistics do not fit the weights."
)


def _advice(verdict: AuditVerdict, evidence: Evidence) -> tuple[str, ...]:
    exchange = evidence.exchange
    if not exchange.varies:
        return (
            "Train the model first: its prediction is the same for every trajectory, and no remedy changes that.",
        )
    failing = _advice_for_failure(evidence)
    if failing:
        return (*failing, _RUNNING) if evidence.running else failing
    if verdict == "events":
        movers = exchange.movers(declared=False)
        if movers and evidence.tie is None:
            return (
                f"Leave the model as it is if {listed(movers)} may move it: what was declared does not.",
                "If an operating condition changes them, such as a speed or a load, pass it as conditions=. The audit then tells whether the "
                "model fails when target and condition part.",
            )
        return ("Leave the model as it is: what was declared does not move it.",)
    if verdict == "unclear" and evidence.sharp < SHARP and evidence.tie is None:
        return (
            "If the target is in what moves the predictions, leave the model as it is.",
            "To settle it, add a few held-out trajectories whose target and condition part, and pass conditions=.",
        )
    more = ", channels_first=True" if evidence.channels_first else ""
    words = {"more": more, "only": more.removeprefix(", ")}
    movers = exchange.movers()
    if evidence.tie is not None and evidence.tie.verdict(exchange.constant_error) is not None:
        # What parts target and condition judged it, so the cause may be among what was not declared.
        both = {*movers, *exchange.movers(declared=False)}
        movers = tuple(sorted(both, key=lambda name: -exchange.nuisances[name].moved))
    first = (*movers, *exchange.invariant, "offset")[0]
    cause = (
        f"{first.capitalize()} {'move' if first == 'tones' else 'moves'} it most."
        if movers
        else "Nothing moves it much by itself."
    )
    each = "each training batch, with its mask" if evidence.masked else "each training batch"
    told = []
    if first in _FRONTS:
        layer = _FRONTS[first].format(**words)
        place = (
            f"crest.remedies.WithFront({layer}, model), which hands mask or lengths on to both, in place of the model"
            if evidence.masked
            else f"{layer} in front of the model"
        )
        told.append(f"put {place}")
    if first in _CHANGES:
        told.append(f"{_CHANGES[first].format(**words)} on {each}")
    declared = (*exchange.invariant, *(name for name in movers if name not in exchange.invariant))
    options = (f", invariant={_tuple(declared)}" if declared else "") + (
        "" if evidence.tie is None else ", conditions=conditions"
    )
    return (
        f"{cause} Try: {', or '.join(told)}; then train the model again.",
        f"crest.repair(model, batches, fit=fit{options}) tries the remedies that fit on copies of the model, "
        "trains them with your function, and picks by the error on exchanged signals"
        + (", or on those that break the tie." if evidence.tie is not None else "."),
        "If the prediction should depend on what moves it, such as a load that scales the event, none of this helps. Leave it out "
        "of invariant=.",
    )


def _learnt_elsewhere(evidence: Evidence) -> bool:
    """Whether it is known that the model has learnt its task on data as in training."""
    return evidence.id_error is not None and evidence.exchange.learnt(evidence.id_error)


def _advice_for_failure(evidence: Evidence) -> tuple[str, ...]:
    """What to do with a model that fails on these data; none if it does not fail, or if that is not known.

    More training helps a model that has not learnt its task. It does not help one that has learnt something that does not hold here.
    """
    train = evidence.exchange.train_first(evidence.error)
    if not train:
        return ()
    if _learnt_elsewhere(evidence):
        return (
            "Do not train the model for longer: it has learnt its task on data as in training, and what it learnt does not hold here.",
            "Audit held-out data as in training: that shows what the predictions follow. Then crest.repair(model, batches, fit=fit) on the "
            "training batches, with these data as field=, shows what each remedy gives here.",
        )
    if evidence.id_error is not None:
        return train
    return (
        f"If these are data as in training: {train[0][0].lower()}{train[0][1:]}",
        "If these are data from the field: the model may have learnt something that does not hold there, and more training does not help. "
        "Audit held-out data as in training, or pass id_error=, its error there.",
    )


def _tuple(names: Sequence[str]) -> str:
    """Names as they are typed in Python."""
    return "(" + ", ".join(f'"{name}"' for name in names) + (",)" if len(names) == 1 else ")")
