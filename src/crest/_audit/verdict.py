"""From what was measured to a finding: events, background, or unclear, with its reasons and what to do."""

from dataclasses import dataclass

from crest._audit.readings import Deletion
from crest.exchange.result import FOLLOWS, AuditVerdict, Exchange

# our choice: docs/choices.md#audit
LEVEL_PART = 0.7
TANGLED = 0.3
SHARP = 0.5
FEWEST = 8


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The verdict, why, and what to do."""

    verdict: AuditVerdict
    reasons: tuple[str, ...]
    advice: tuple[str, ...]


def found(
    exchange: Exchange,
    *,
    level: Exchange | None,
    sharp: float,
    core_credit: tuple[float, float] | None,
    deletion: Deletion | None,
    few: bool = False,
    channels_first: bool = False,
    masked: bool = False,
    error: float | None = None,
) -> Finding:
    """The finding.

    The exchange test decides, since it asks the model itself: `Exchange.verdict`. The rest is said beside it.

    Args:
        exchange: the exchange test, of spectra.
        level: the same with levels alone exchanged; only asked of models that do not read the events.
        sharp: share of the trajectories in which a transient core stands out.
        core_credit: mean share of the credit on the core of the inputs, and the share of the steps that it has.
        deletion: change of the answers without the core, and without as many other steps.
        few: whether there are too few trajectories for a verdict.
        channels_first: whether the model takes (B, C, T): the advice then says so to the layers that it names.
        masked: whether a mask or lengths came with the trajectories: the advice then hands them on.
        error: of the model, where targets are known: the advice for one that has hardly learnt its task is to train it.
    """
    verdict: AuditVerdict = "unclear" if few else exchange.verdict
    reasons = [_exchange_words(exchange)]
    if few:
        reasons.insert(0, f"Fewer than {FEWEST} trajectories tell too little for a verdict.")
    elif verdict == "unclear" and exchange.transient_interval[1] >= FOLLOWS:
        reasons.append(f"The limit of {FOLLOWS:.0%} lies in this interval: more trajectories may tell.")
    if core_credit is not None:
        share, chance = core_credit
        times = share / chance if chance > 0 else 0.0
        reasons.append(
            f"At the pooling interface {share:.0%} of the credit is on the most transient {chance:.0%} of the steps: {times:.1f} "
            "times even credit."
        )
    if deletion is not None:
        reasons.append(
            f"Removing the most transient steps shifts predictions by {deletion.core:.2f} standard deviations; removing as many "
            f"other steps shifts them by {deletion.others:.2f}."
        )
    if exchange.varies and exchange.interaction > TANGLED:
        reasons.append(
            "Much of it follows neither alone. Either the model reads the two together, or they do not fit when they are "
            "exchanged, as where events keep to the phase of a wave."
        )
    if sharp < SHARP:
        reasons.append(
            f"A transient core stands out in {sharp:.0%} of the trajectories only: there may be no brief event to read."
        )
    return Finding(
        verdict=verdict,
        reasons=tuple(reasons),
        advice=_advice(
            verdict,
            level=level,
            sharp=sharp,
            exchange=exchange,
            turned=channels_first,
            masked=masked,
            train=exchange.train_first(error),
        ),
    )


def _exchange_words(exchange: Exchange) -> str:
    if not exchange.varies:
        return "The predictions do not vary: they follow nothing."
    (low, high), moved = exchange.transient_interval, exchange.moved_interval
    what = "the spectra of backgrounds" if exchange.what == "spectrum" else "backgrounds"
    return (
        f"When {what} are exchanged, {exchange.transient:.0%} of the predictions' variance follows the transient "
        f"({low:.0%} to {high:.0%}), {exchange.background:.0%} the background, {exchange.interaction:.0%} both together; the "
        f"predictions move by {exchange.moved:.2f} standard deviations ({moved[0]:.2f} to {moved[1]:.2f})."
    )


def _advice(
    verdict: AuditVerdict,
    *,
    level: Exchange | None,
    sharp: float,
    exchange: Exchange,
    turned: bool,
    masked: bool,
    train: tuple[str, ...],
) -> tuple[str, ...]:
    if not exchange.varies:
        return ("Train the model: a constant answer cannot be mended here.",)
    if verdict == "events":
        return train or ("Leave the model as it is: its answer follows the events.",)
    if sharp < SHARP:
        return (
            *train,
            "This tool may be the wrong one: without a brief event there is nothing to re-anchor on. If the target lives in the "
            "background, leave the model as it is.",
        )
    more = ", channels_first=True" if turned else ""

    def in_front(kind: str) -> str:
        layer = f'crest.HighPass("{kind}"{more})'
        if not masked:
            return f"{layer} in front of the model"
        return f"crest.remedies.WithFront({layer}, model), which hands mask or lengths on to both, in the place of the model"

    each = "each training batch, with its mask" if masked else "each training batch"
    first = (
        f"The level alone moves the answer: try AC coupling first. Put {in_front('level')}, and train the model again."
        if level is not None and level.moved >= LEVEL_PART * exchange.moved
        else f"More than the level moves the answer. First try {in_front('slow')}, or "
        f'crest.ExchangeBackground("slow"{more}) on {each}; with either, train the model again.'
    )
    second = (
        "crest.repair does this on copies of a module, trains them with a function of yours, and picks by the error on exchanged "
        "backgrounds; without training, it puts CREST in the place of a pooling layer."
    )
    last = (
        "If the answer should depend on the background, such as a load that scales the event, or if the event itself tells "
        "the cue, none of this helps: compare errors by condition."
    )
    return (*train, first, second, last)
