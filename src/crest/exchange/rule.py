"""The rule that chooses a model without a label from the field: of those that follow the transient, the best on ID data.

What decides is the exchange test of `crest.probes`, and an error on data as in training.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Literal

from torch import Tensor

from crest._base.arguments import require, require_choice
from crest._base.doors import door_leaving
from crest._base.tensors import as_per_trajectory, require_tensor
from crest.background import SIGMA
from crest.exchange.candidates import Candidate, Choice, Judged
from crest.exchange.conditions import errors_by_condition
from crest.exchange.crossing import LENT, Lent
from crest.exchange.measurement import BLOCK_SIZE, BOOTSTRAP, CELLS, TRAJECTORIES, exchange_test
from crest.exchange.result import Exchange
from crest.probes.errors import ErrorOf, rmse_or_error_rate

# our choice: docs/choices.md#the-rule
LEAST = 0.5
MARGIN = 0.1
COST = 3.0
BELOW = 0.9


@door_leaving("candidates", "conditions")
def choose(
    candidates: Mapping[str, Candidate | tuple[Callable[..., Tensor] | Exchange, float]],
    inputs: Tensor | None = None,
    *,
    kind: str = "core",
    lent: Lent = "spectrum",
    mask: Tensor | None = None,
    least: float = LEAST,
    margin: float = MARGIN,
    cost: float = COST,
    by: Literal["share", "error"] = "share",
    conditions: Iterable[Hashable] | Tensor | None = None,
    targets: Tensor | None = None,
    error: ErrorOf = rmse_or_error_rate,
    sigma: float = SIGMA,
    trajectories: int = TRAJECTORIES,
    block: int = BLOCK_SIZE,
    batch_size: int = CELLS,
    bootstrap: int = BOOTSTRAP,
    seed: int = 0,
) -> Choice:
    """Of the candidates whose prediction follows the transient, the one with the lowest ID error.

    A candidate follows the transient if its transient share in the exchange test is at least `least`, and within
    `margin` of the highest among the candidates. Of equal ID errors the first given wins. The rule cannot tell, and
    chooses none, if no candidate follows the transient, or if the best of those that do has more than `cost` times the
    lowest ID error of all: the target then seems to live in the background. No label of the field is used.

    With `by="error"` the lowest error on backgrounds of others decides, which needs targets: it sees how far the
    background moves an answer, where a share sees only what moves it. The rule then cannot tell if no candidate is a tenth
    below the error of a constant answer.

    Args:
        candidates: by name, each a `Candidate` or a plain tuple of function and ID error, or of a finished exchange test
            and ID error.
        inputs: (N, T, C), as in training, for the exchange test; not needed where all tests are done.
        kind: kind of background, as in `crest.background.split`.
        lent: what of a background is exchanged, as in `crest.exchange_test`.
        mask: (N, T), True where a step is valid.
        least: the share of the variance that must follow the transient.
        margin: how far below the highest transient share a candidate may be.
        cost: how many times the lowest ID error a candidate that follows the transient may have.
        by: what decides: the share and the ID error, or the error on backgrounds of others.
        conditions: (N,), the condition of each trajectory (a load, a machine). With them each candidate's error
            under its worst condition is shown beside; the rule does not use it.
        targets: (N,), needed with conditions and with `by="error"`. With them each candidate's error on backgrounds of
            others is shown beside.
        error: from predictions and targets to one number. Unless given, the root mean square error, and for logits
            (B, K) the share of wrong classes.
        sigma: as in `crest.exchange_test`, with `trajectories`, `block`, `batch_size`, `bootstrap` and `seed`. All
            candidates are tested on the same exchanges.
        trajectories: how many are drawn.
        block: how many exchange among each other.
        batch_size: how many predictions are made at once.
        bootstrap: draws for the intervals.
        seed: of the drawn trajectories, their blocks and the bootstrap.

    Example:
        >>> import torch
        >>> inputs = torch.randn(64, 100, 1, generator=torch.Generator().manual_seed(0)) * 0.01
        >>> inputs += torch.linspace(-10, 10, 64).sin()[:, None, None]
        >>> inputs[:, 50] += torch.linspace(1, 5, 64)[:, None]
        >>> reads_event, reads_level = (lambda x: x.amax(1) - x.median(1).values), (lambda x: x.median(1).values)
        >>> choose({"event": (reads_event, 0.12), "level": (reads_level, 0.10)}, inputs).name
        'event'
    """
    require("least", least, "lie in [0, 1]")
    require("margin", margin, "lie in [0, 1]")
    require("cost", cost, "be 1 or more")
    require_choice("by", by, ("share", "error"))
    require_choice("lent", lent, LENT)
    if conditions is not None and targets is None:
        raise ValueError("targets must be given with conditions, got None")
    if targets is not None and inputs is not None:
        require_tensor("inputs", inputs, "(B, T, C)", (None, None, None))
        targets = as_per_trajectory("targets must be", targets, len(inputs))
    given = _given(candidates)
    found: dict[str, Exchange] = {}
    for name, one in given.items():
        if one.exchange is not None:
            found[name] = one.exchange
        elif one.function is not None:
            if inputs is None:
                raise ValueError(f"inputs must be given for the exchange test of {name!r}, got None")
            try:
                found[name] = exchange_test(
                    one.function, inputs, kind=kind, lent=lent, mask=mask, targets=targets, error=error, sigma=sigma,
                    trajectories=trajectories, block=block, batch_size=batch_size, bootstrap=bootstrap, seed=seed,
                )  # fmt: skip
            except ValueError as refused:
                raise ValueError(f"candidate {name!r}: {refused}") from refused
    kinds = sorted({exchange.kind for exchange in found.values()})
    if len(kinds) > 1:
        raise ValueError(f"candidates must be tested with one kind of background, got {', '.join(kinds)}")
    lents = sorted({exchange.lent for exchange in found.values()})
    if len(lents) > 1:
        raise ValueError(
            f"candidates must be tested with one thing lent, got {' and '.join(lents)}: lent= says which for functions"
        )
    by_condition: dict[str, dict[Hashable, float]] = {}
    if conditions is not None and targets is not None:
        if inputs is None:
            raise ValueError("inputs must be given with conditions, got None")
        # An iterator can be asked only once.
        named = isinstance(conditions, Iterable) and not hasattr(conditions, "tolist")
        names = list(conditions) if named else conditions
        by_condition = {
            name: errors_by_condition(
                one.function, inputs, targets, names, mask, error=error, batch_size=batch_size
            )
            for name, one in given.items()
            if one.function is not None
        }
    if by == "error":
        return _ruled_by_error(given, found, by_condition)
    return _ruled(given, found, by_condition, least=least, margin=margin, cost=cost)


def _given(
    candidates: Mapping[str, Candidate | tuple[Callable[..., Tensor] | Exchange, float]],
) -> dict[str, Candidate]:
    if not isinstance(candidates, Mapping) or not candidates:
        got = "none" if isinstance(candidates, Mapping) else type(candidates).__name__
        raise ValueError(f"candidates must be a mapping with a candidate or more by name, got {got}")
    found = {}
    for name, one in candidates.items():
        if not isinstance(one, Candidate) and not (isinstance(one, tuple) and len(one) == 2):
            got = f"{type(one).__name__} for {name!r}"
            raise ValueError(
                f"candidates must hold Candidates, or tuples of function and ID error, got {got}"
            )
        try:
            if isinstance(one, Candidate):
                found[name] = one
            elif isinstance(one[0], Exchange):
                found[name] = Candidate(exchange=one[0], id_error=one[1])
            else:
                found[name] = Candidate(one[0], one[1])
        except ValueError as error:
            raise ValueError(f"candidate {name!r}: {error}") from error
    return found


def _ruled(
    given: Mapping[str, Candidate],
    found: Mapping[str, Exchange],
    by_condition: Mapping[str, Mapping[Hashable, float]],
    *,
    least: float,
    margin: float,
    cost: float,
) -> Choice:
    """The rule itself."""
    errors = {name: one.id_error for name, one in given.items()}
    lowest_error = min(errors, key=lambda name: errors[name])
    highest = max((one.transient for one in found.values() if one.varies), default=0.0)
    against = {name: _against(one, highest, least, margin) for name, one in found.items()}
    following = [name for name, reason in against.items() if reason is None]
    chosen = best = None
    if not following:
        reason = f"No candidate follows the transient: no transient share reaches {least:g}."
    else:
        best = min(following, key=lambda name: errors[name])
        if errors[best] > cost * errors[lowest_error]:
            reason = (
                f"The target seems to live in the background: of the candidates that follow the transient {best} has the "
                f"lowest ID error, and it is more than {cost:g} times that of {lowest_error}."
            )
        else:
            chosen, reason = best, "The lowest ID error of the candidates that follow the transient."

    def said(name: str) -> str:
        if name == best:
            return "lowest ID error of these" if chosen else f"ID error above {cost:g} times the lowest"
        return against[name] or "a higher ID error"

    judged = {
        name: Judged(
            id_error=one.id_error,
            exchange=found[name],
            follows=against[name] is None,
            reason=said(name),
            held_out=one.held_out,
            condition_errors=by_condition.get(name),
        )
        for name, one in given.items()
    }
    return Choice(name=chosen, reason=reason, lowest_error=lowest_error, candidates=judged)


def _ruled_by_error(
    given: Mapping[str, Candidate],
    found: Mapping[str, Exchange],
    by_condition: Mapping[str, Mapping[Hashable, float]],
) -> Choice:
    """The rule that takes the lowest error on backgrounds of others."""
    errors: dict[str, float] = {}
    for name, one in found.items():
        if one.exchanged_error is None:
            raise ValueError(
                f"targets must be given to choose by error, but candidate {name!r} was tested without"
            )
        errors[name] = one.exchanged_error
    best = min(errors, key=lambda name: errors[name])
    constant = found[best].constant_error
    below = {name: constant is None or errors[name] <= BELOW * constant for name in errors}
    chosen = best if below[best] else None
    if chosen:
        reason = "The lowest error on backgrounds of others."
    elif not any(found[name].learnt(one.id_error) for name, one in given.items()):
        reason = (
            "No candidate is clearly better than a constant answer when backgrounds are exchanged, and none has learnt its task on "
            "data as in training: were they trained for long enough?"
        )
    else:
        reason = (
            "No candidate is clearly better than a constant answer when backgrounds are exchanged: the target seems to live in the "
            "background, or the exchange does not fit these signals."
        )

    def said(name: str) -> str:
        if not below[name]:
            return "no better than a constant on backgrounds of others"
        return (
            "lowest error on backgrounds of others"
            if name == best
            else "a higher error on backgrounds of others"
        )

    return Choice(
        name=chosen,
        reason=reason,
        lowest_error=min(given, key=lambda name: given[name].id_error),
        candidates={
            name: Judged(
                id_error=one.id_error,
                exchange=found[name],
                follows=below[name],
                reason=said(name),
                held_out=one.held_out,
                condition_errors=by_condition.get(name),
            )
            for name, one in given.items()
        },
    )


def _against(exchange: Exchange, highest: float, least: float, margin: float) -> str | None:
    """Why a candidate does not follow the transient; None if it does."""
    if not exchange.varies:
        return "its prediction does not vary"
    if exchange.transient < least:
        return f"transient share below {least:g}"
    if exchange.transient < highest - margin:
        return f"more than {margin:g} below the highest transient share"
    return None
