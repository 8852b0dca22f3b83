"""What was not declared and moves the chosen model more than the given one: a dependence that came with the remedy."""

from collections.abc import Sequence

from crest._base.words import listed
from crest._repair.repaired import MeasuredModel
from crest.exchange.result import MOVES
from crest.exchange.rule import NEAR


def undeclared_note(before: MeasuredModel, after: MeasuredModel) -> list[str]:
    """What newly moves the predictions and what to declare, as one note; nothing if there is none."""
    return [" ".join(undeclared_words(before, after))] if _new_movers(before, after) else []


def undeclared_words(before: MeasuredModel, after: MeasuredModel) -> tuple[str, str]:
    """What newly moves the predictions, with the numbers of both models, and what to do; two empty texts if there is none.

    Args:
        before: the model that was given.
        after: the chosen one.
    """
    names = _new_movers(before, after)
    if not names:
        return "", ""
    told = [
        f"{name} by {after.exchange.nuisances[name].moved:.2f} standard deviations (before {before.exchange.nuisances[name].moved:.2f}"
        f"{_error_words(after, name)})"
        for name in names
    ]
    declared = ", ".join(f'"{name}"' for name in (*after.exchange.invariant, *names))
    comma = "" if len(after.exchange.invariant) + len(names) > 1 else ","
    them = f"the {names[0]}, declare it" if len(names) == 1 else "these, declare them"
    return (
        f"Not declared, and it moves the chosen model more than the given one: {listed(told)}.",
        f"If the field changes {them}: invariant=({declared}{comma}).",
    )


def newly_moved(before: MeasuredModel, after: MeasuredModel) -> str:
    """The same in one short sentence; an empty text if there is none."""
    own, chosen = before.exchange.nuisances, after.exchange.nuisances
    told = [f"{name} {own[name].moved:.2f} → {chosen[name].moved:.2f}" for name in _new_movers(before, after)]
    return f"Not declared, and moves it more than before: {listed(told)}." if told else ""


def undeclared_harms(before: MeasuredModel, after: MeasuredModel) -> bool:
    """Whether the chosen model errs with such a thing exchanged: more than a constant prediction, or clearly more than expected."""
    limits = [
        limit
        for limit in (
            after.exchange.constant_error,
            None if after.expected_error is None else NEAR * after.expected_error,
        )
        if limit is not None
    ]
    errors = [after.exchange.nuisances[name].error for name in _new_movers(before, after)]
    return bool(limits) and any(error is not None and error > min(limits) for error in errors)


def _new_movers(before: MeasuredModel, after: MeasuredModel) -> Sequence[str]:
    """What was not declared and moves the chosen model past the limit, and the given one clearly less; the strongest first."""
    own, chosen = before.exchange.nuisances, after.exchange.nuisances
    return [
        name
        for name in after.exchange.movers(declared=False)
        if chosen[name].moved >= MOVES
        and name in own
        and chosen[name].moved_interval[0] > own[name].moved_interval[1]
    ]


def _error_words(after: MeasuredModel, name: str) -> str:
    error = after.exchange.nuisances[name].error
    return "" if error is None else f"; its error with {name} exchanged is {error:.3g}"
