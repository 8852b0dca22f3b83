"""The finding of an audit in one sentence, for the top of its page."""

from collections.abc import Sequence

from crest._audit.tied import TieReading
from crest._base.words import listed
from crest.exchange.result import MOVES, AuditVerdict, Exchange


def headline(
    verdict: AuditVerdict,
    exchange: Exchange,
    *,
    failing: Sequence[str] = (),
    tie: TieReading | None = None,
    decided: bool = False,
) -> str:
    """One sentence, or two short ones: what the predictions follow, and the number that says so.

    Args:
        verdict: of the audit.
        exchange: its test.
        failing: premises that do not hold.
        tie: of target and condition, if conditions are known.
        decided: whether the trajectories that break the tie decided.

    Example:
        >>> nothing = (float("nan"), float("nan"))
        >>> constant = Exchange(transient=float("nan"), background=0.0, interaction=0.0, transient_interval=nothing,
        ...                     background_interval=nothing, interaction_interval=nothing, background_alone=0.0, kind="core",
        ...                     trajectories=64)
        >>> headline("unclear", constant)
        'The prediction is the same for every trajectory, so it follows nothing.'
    """
    if not exchange.varies:
        return "The prediction is the same for every trajectory, so it follows nothing."
    if failing:
        return failing[0]
    if decided and tie is not None and tie.breaking_error is not None and tie.other_error is not None:
        does = "holds" if verdict == "events" else "fails"
        return (
            f"The model {does} when target and condition part: error {tie.breaking_error:.3g} on the {tie.breaking} trajectories where "
            f"they do, {tie.other_error:.3g} on the others."
        )
    return _of_exchange(verdict, exchange, tied=tie is not None and tie.tied)


def _of_exchange(verdict: AuditVerdict, exchange: Exchange, *, tied: bool) -> str:
    if exchange.together is None:
        return (
            f"{exchange.transient:.0%} of the predictions' variance follows the brief core of the signals, "
            f"{exchange.background:.0%} their background."
        )
    names = [name for name in exchange.invariant if name not in exchange.absent]
    if not names:
        return "Nothing that was declared could be swapped, so there is no verdict."
    low, high = exchange.together.moved_interval
    swap = f"swapping {listed(names)} between signals moves its predictions by"
    found = f"{exchange.together.moved:.2f} standard deviations"
    between = f"{low:.2f} to {high:.2f}, and the limit of {MOVES:g} lies between"
    if verdict == "unclear":
        left = " The trajectories whose target and condition part leave it open." if tied else ""
        return f"It is open: {swap} {found} ({between if low < MOVES <= high else f'limit {MOVES:g}'}).{left}"
    if low < MOVES <= high:
        return f"The model reads the {verdict}: {swap} {found} ({between}), so the swap of the surroundings decides."
    if verdict == "events":
        return f"The model reads the events: {swap} only {found} (limit {MOVES:g})."
    movers = exchange.movers()
    most = f", most of all the {movers[0]}" if movers and len(names) > 1 else ""
    return f"The model reads the background: {swap} {found} (limit {MOVES:g}){most}."
