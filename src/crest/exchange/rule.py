"""The one rule that chooses a model without a label from the field. `crest.repair` and the evidence call it too.

What decides is the error with the declared nuisances exchanged: that breaks the tie between target and nuisances in data as
in training, and the error there is an estimate of what is left in the field. If conditions are known and enough
trajectories break their tie with the target, these tell it directly, and decide.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace

from torch import Tensor

from crest._base.arguments import require_choice
from crest._base.doors import door_leaving
from crest._base.tensors import as_targets, require_tensor
from crest.exchange.candidates import Candidate, Choice, Criterion, JudgedCandidate, larger_error
from crest.exchange.conditions import errors_by_name, predictions_of
from crest.exchange.measurement import exchange_test
from crest.exchange.result import Exchange
from crest.exchange.settings import ExchangeSettings, settings_of
from crest.exchange.ties import (
    Conditions,
    condition_columns,
    condition_names,
    decides,
    even_constant,
    even_error,
    telling_tie,
)
from crest.probes.errors import ErrorOf, on_copies, rmse_or_error_rate, settled_error
from crest.probes.outputs import read_targets

# our choice: docs/evidence/choices.md#the-rule
BELOW_A_CONSTANT = 0.9
NEAR = 1.2


@door_leaving("candidates", "conditions")
def choose(
    candidates: Mapping[str, Candidate | tuple[Callable[..., Tensor] | Exchange, float]],
    inputs: Tensor | None = None,
    *,
    targets: Tensor | None = None,
    keep: str | None = None,
    mask: Tensor | None = None,
    conditions: Conditions | None = None,
    error: ErrorOf = rmse_or_error_rate,
    exchange: ExchangeSettings | None = None,
) -> Choice:
    """The candidate with the lowest expected error; the model as it is if what was declared does not move it.

    In this order. The candidate `keep` is kept if the declared nuisances do not move its prediction, by the verdict of
    `crest.audit`: what is not broken is not repaired. Else the error with these exchanged decides. Candidates within a fifth
    of the lowest count as equal, because an exchange test of a hundred trajectories cannot tell them apart; of these the lowest
    ID error wins, and of equal ones the first given. The rule cannot tell, and chooses none, if no candidate is a tenth below
    the error of a constant prediction. No label of the field is used. A candidate with an `other_error` is judged by the larger
    of the two errors.

    With conditions that are tied to the target, and four trajectories or more that break the tie, the error averaged evenly
    over target x condition takes the place of the exchanged one, for the constant prediction too, and `keep` is kept if it is
    within a fifth of the lowest.

    Args:
        candidates: by name, each a `Candidate` or a plain tuple of function and ID error, or of a finished exchange test
            and ID error.
        inputs: (N, T, C), as in training, for the exchange test; not needed if all tests are done.
        targets: (N,), or one-hot classes or several labels (N, K), of the inputs.
        keep: name of the candidate that is there already, the model as it is, if there is one.
        mask: (N, T), True where a step is valid.
        conditions: (N,), the condition of each trajectory (a load, a machine), or several columns by name. With them each
            candidate's error under its worst condition is shown, and if target and condition are tied, the few that break
            the tie decide. They must vary, and some of them repeat.
        error: from predictions and targets to one number. By default the root mean square error, and for logits
            (B, K) the share of wrong classes.
        exchange: how candidates are tested; all on the same exchanges.

    Example:
        >>> import torch
        >>> inputs = torch.randn(64, 100, 1, generator=torch.Generator().manual_seed(0)) * 0.01
        >>> inputs += torch.linspace(-10, 10, 64).sin()[:, None, None]
        >>> targets = torch.linspace(1, 5, 64)
        >>> inputs[:, 50] += targets[:, None]
        >>> reads_event, reads_level = (lambda x: x.amax(1) - x.median(1).values), (lambda x: x.median(1).values)
        >>> choose({"event": (reads_event, 0.12), "level": (reads_level, 0.10)}, inputs, targets=targets).name
        'event'
    """
    settings, error = settings_of(exchange), on_copies(error)
    known = _known(candidates)
    if keep is not None:
        require_choice("keep", keep, known)
    untested = [name for name, one in known.items() if one.exchange is None]
    needs = (
        ([f"the exchange test of {untested[0]!r}"] if untested else [])
        + (["conditions"] if conditions is not None else [])
    )  # fmt: skip
    for argument, value in (("inputs", inputs), ("targets", targets)):
        if needs and value is None:
            raise ValueError(f"{argument} must be given for {needs[0]}, got None")
    if inputs is not None and targets is not None:
        require_tensor("inputs", inputs, "(B, T, C)", (None, None, None))
        targets = read_targets(as_targets("targets must be", targets, len(inputs)))[0]

    def tested(name: str) -> Exchange:
        one = known[name]
        if one.exchange is not None:
            return one.exchange
        assert one.function is not None
        assert inputs is not None
        try:
            return exchange_test(
                one.function, inputs, mask=mask, targets=targets, error=error, exchange=settings
            )
        except ValueError as refused:
            raise ValueError(f"candidate {name!r}: {refused}") from refused

    tests = {name: tested(name) for name in known}
    _require_one_way(tests)
    by_condition: dict[str, dict[Hashable, float]] = {}
    if conditions is not None and inputs is not None and targets is not None:
        columns = condition_columns(conditions, len(inputs))
        names = condition_names(columns, len(inputs))
        tie = telling_tie(targets, columns)
        for name, one in known.items():
            if one.function is None:
                continue
            found = predictions_of(one.function, inputs, mask, batch_size=settings.batch_size)
            by_condition[name] = errors_by_name(found, targets, names, error)
            if decides(tie):
                even, settled = one.even_error, settled_error(error, found, targets)
                known[name] = replace(
                    one,
                    even_error=even_error(found, targets, tie, settled) if even is None else even,
                    even_constant=even_constant(found, targets, tie, settled),
                )
    return _ruled(known, tests, by_condition, keep)


def _known(
    candidates: Mapping[str, Candidate | tuple[Callable[..., Tensor] | Exchange, float]],
) -> dict[str, Candidate]:
    """Every candidate as a `Candidate`."""
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


def _require_one_way(tests: Mapping[str, Exchange]) -> None:
    """Raise a ValueError unless all candidates were tested in the same way, with targets: else their errors do not compare."""
    for what, values in (
        ("kind of background", sorted({one.kind for one in tests.values()})),
        ("exchange", sorted({one.what for one in tests.values()})),
        ("invariant", sorted({"+".join(one.invariant) or "nothing" for one in tests.values()})),
    ):
        if len(values) > 1:
            raise ValueError(
                f"all candidates must be tested the same way, got {' and '.join(values)} as {what}: pass exchange= to "
                "choose how functions are tested"
            )
    for name, one in tests.items():
        if one.expected_error is None:
            raise ValueError(f"targets must be given to choose, but candidate {name!r} was tested without")


def _ruled(
    known: Mapping[str, Candidate],
    tests: Mapping[str, Exchange],
    by_condition: Mapping[str, Mapping[Hashable, float]],
    keep: str | None,
) -> Choice:
    """The rule itself."""
    even = {name: one.even_error for name, one in known.items() if one.even_error is not None}
    by: Criterion = "conditions" if len(even) == len(known) else "exchange"
    errors = (
        even
        if by == "conditions"
        else {
            name: larger_error(one.expected_error, known[name].other_error) or 0.0
            for name, one in tests.items()
        }
    )
    # Each error against that of a constant by the same measure: if a class is rare, a constant errs little, but not evenly.
    constants = {
        name: one.even_constant if by == "conditions" else tests[name].constant_error
        for name, one in known.items()
    }
    better = {
        name: constant is None or errors[name] <= BELOW_A_CONSTANT * constant
        for name, constant in constants.items()
    }
    lowest = min(errors, key=lambda name: errors[name])
    near = [name for name in errors if better[name] and errors[name] <= NEAR * errors[lowest]]
    sound = keep if keep is not None and better[keep] and _is_sound(tests[keep], keep in near, by) else None
    best = sound or min(near, key=lambda name: known[name].id_error, default=None)
    what = "on exchanged signals" if by == "exchange" else "averaged evenly over target x condition"
    if sound is not None:
        reason = (
            "What was declared does not move its prediction, so there is nothing to repair."
            if by == "exchange"
            else f"Its error {what} is within a fifth of the lowest, so there is nothing to repair."
        )
    elif best is not None:
        reason = (
            f"It has the lowest error {what}."
            if best == lowest
            else f"Its error {what} is within a fifth of the lowest, and of these it has the lowest ID error."
        )
    elif not any(tests[name].learnt(one.id_error) for name, one in known.items()):
        reason = (
            f"No candidate is clearly better than a constant prediction {what}, and none has learnt its task on data as in "
            "training. Were they trained for long enough?"
        )
    elif by == "conditions":
        # The few that break the tie are there already, so they are not what is missing.
        reason = (
            f"No candidate is clearly better than a constant prediction {what}, whose error is {constants[lowest]:.3g} there: none "
            "holds when target and condition part. Try other remedies, or train on more trajectories that break the tie."
        )
    else:
        reason = (
            f"No candidate is clearly better than a constant prediction {what}. Either the target is in what was declared, or "
            "the exchange does not fit these signals. A few trajectories whose target and condition part would settle it."
        )

    short = "expected" if by == "exchange" else "even"

    def said(name: str) -> str:
        if not better[name]:
            return "no better than a constant"
        if sound is not None:
            return "sound as it is" if name == sound else "not needed"
        if name == lowest:
            return f"lowest {short} error"
        if name not in near:
            return f"a higher {short} error"
        return f"lowest ID error near the lowest {short} error" if name == best else "a higher ID error"

    return Choice(
        name=best,
        reason=reason,
        by=by,
        lowest_error=min(known, key=lambda name: known[name].id_error),
        candidates={
            name: JudgedCandidate(
                id_error=one.id_error,
                exchange=tests[name],
                better=better[name],
                reason=said(name),
                even_error=one.even_error,
                held_out=one.held_out,
                other_error=one.other_error,
                condition_errors=by_condition.get(name),
            )
            for name, one in known.items()
        },
    )


def _is_sound(test: Exchange, near: bool, by: Criterion) -> bool:
    """Whether there is nothing to repair."""
    return near if by == "conditions" else test.verdict == "events"
