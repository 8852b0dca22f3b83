"""Try remedies on copies of a trained model, measure each, and take what the rule picks."""

import copy
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from crest._base.arguments import require
from crest._base.doors import door_leaving
from crest._base.rng import scope, undisturbed
from crest._base.tensors import require_finite
from crest._repair.conditions import ConditionPair
from crest._repair.fitting import NOTHING_MOVES, fitting
from crest._repair.measuring import Yardstick
from crest._repair.repaired import AS_IT_IS, MeasuredModel, Repaired, control_note
from crest._repair.telling import telling
from crest._repair.trying import in_numbers, in_words, tried
from crest._repair.workshop import Fit, TriedModel, Workshop, measured
from crest.exchange.candidates import Choice
from crest.exchange.rule import choose
from crest.exchange.settings import ExchangeSettings, settings_of
from crest.exchange.ties import Conditions
from crest.probes.errors import ErrorOf, as_numbers_note, rmse_or_error_rate
from crest.remedies.registry import CONTROL, REMEDIES, remedies_of
from crest.remedies.remedy import Remedy
from crest.strangers.batch import Batch, BatchKeys, as_batches
from crest.strangers.batch_forms import BatchForm, require_rereadable, split_batches
from crest.strangers.failures import CALL_ERRORS, require_same, why_it_failed
from crest.strangers.model import StrangerModel, part_at, settled_axes


@door_leaving("model", "fit", "remedies", "conditions", "tell")
def repair(
    model: nn.Module,
    train_batches: Any,
    *,
    pooling: str | tuple[str, str] | None = None,
    fit: Fit | None = None,
    validation: Iterable[Any] | None = None,
    remedies: Sequence[str] | Mapping[str, Any] | None = None,
    invariant: Sequence[str] | None = None,
    conditions: Conditions | tuple[Conditions, Conditions] | None = None,
    field: Iterable[Any] | None = None,
    channels_first: bool | None = None,
    keys: BatchKeys | None = None,
    error: ErrorOf = rmse_or_error_rate,
    exchange: ExchangeSettings | None = None,
    jobs: int = 1,
    tell: Callable[[str], object] | bool | None = None,
) -> Repaired:
    """The remedies of `crest.remedies` on copies of a trained model, each measured, and the one that the rule picks.

    The given model is never changed. Without `fit`, only `crest.reanchor` is tried, which trains nothing but the head. With
    it, each other remedy gets a fresh copy of the trained model, and `fit` trains it further on batches that the remedy
    may change. One more copy is trained longer without any remedy: what that gives, no remedy may claim. What is tried follows
    from an exchange test of the given model: the remedies against what was declared and moves its prediction. The rule is
    `crest.choose`: the lowest error with what was declared exchanged or, with conditions, the lowest error averaged evenly over
    target x condition. If it cannot tell, the model stays as it is. A remedy that fails is told in `Repaired.skipped`; the
    others go on.

    Args:
        model: gives (B,), (B, 1) or logits (B, K), one answer for each trajectory. Called with the inputs and, where the
            batches have one, the mask (B, T): by the name `mask` if its `forward` has that, as lengths (B,) if it has an
            argument of such a name, else as the second argument.
        train_batches: (inputs, targets), (inputs, targets, mask), (inputs, targets, lengths) or dicts; a list or a
            `DataLoader`, since it is read many times. Targets are (B,): numbers, or classes for logits.
        pooling: path of the pooling layer, or of the module whose output a line of `forward` pools, as
            `model.named_modules()` lists it; or a pair of it and the path of the layer that reads the pooled vector.
            Found by default.
        fit: your own training, `fit(model, batches)`, in place or with the trained model as its result. It starts from the
            trained weights; to train from the start, let it draw them anew. Torch's global state is seeded for it.
        validation: held-out batches as in training. Without them a fifth of the trajectories of `train_batches`, drawn by the
            seed, is held out of every training here; all batches are then kept in memory.
        remedies: which to try, names of `crest.remedies.REMEDIES`; by default those that fit, and none if nothing that was
            declared moves the prediction. Or a mapping with
            your own: from a name to a module for the front of the model, a function of a batch of signals (x), or (x, mask),
            that changes batches in training, a pair of both, a `crest.remedies.Remedy`, or the name of a known one. A front
            and a function get signals as the model does.
        invariant: what the prediction must not depend on, of `crest.nuisances.NAMES`; by default those of `exchange`: offset,
            drift and tones. Add "gain", "colour" or "rate" if your physics says that they do not tell the target.
        conditions: (N,), the operating condition of each trajectory of `train_batches`, in their order, or several columns by
            name; with `validation`, a pair: of `train_batches` and of `validation`. Sampling can then be balanced, and where
            four held-out trajectories or more break the tie of target and condition, candidates are judged by these. So they
            are by a validation without the tie that training has.
        field: batches of another operating condition, with labels, if there are any. Their errors are shown. Nothing is
            chosen by them.
        channels_first: whether the inputs are (B, C, T). Found from the first layer; (B, T, C) where that does not tell.
        keys: of inputs, targets and mask, where the batches are dicts with other names than the usual ones.
        error: from predictions and targets to one number. By default the root mean square error, and for logits the
            share of wrong classes.
        exchange: how candidates are tested. Its seed is also that of what is held out, of changed batches and of torch's
            state in `fit`.
        jobs: how many candidates are trained at a time, each in a process with its share of torch's threads. Needs joblib.
            With as many threads, results are the same as one after the other. The processes end with the call.
        tell: called with a sentence as each candidate begins and ends, such as `print`; or True for a progress bar, or these
            sentences where standard error is no terminal, which needs the lab extra.

    Example:
        >>> import torch
        >>> _ = torch.manual_seed(1000)
        >>> model = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 1))
        >>> x, y = 0.1 * torch.randn(60, 1, 100), torch.rand(60)
        >>> x[:, 0, 50:54] += y.unsqueeze(1)
        >>> found = repair(model, [(x, y)], exchange=ExchangeSettings(trajectories=8, block=4))
        >>> list(found.candidates), found.after.id_error < found.before.id_error
        (['as it is', 're-anchored'], True)
    """
    pooling, head = pooling if isinstance(pooling, tuple | list) else (pooling, None)
    original = _checked(model, pooling, head, fit)
    if remedies is not None:
        remedies_of(remedies)
    require("jobs", jobs, "be a whole number, 1 or more")
    settings = settings_of(exchange, invariant)
    seed = settings.seed
    # Even a loader that does not shuffle draws a number when it is opened: the user's generators stay as they were.
    with undisturbed():
        train_batches = as_batches(train_batches, "train_batches")
        require_rereadable("train_batches", train_batches)
        form = BatchForm(keys, channels_first)
        notes: list[str] = []
        known = ConditionPair.checked(conditions, train_batches, validation, form, seed)
        if validation is None:
            with scope(seed, "repair/reading"):
                train_batches, validation = split_batches(train_batches, form, seed)
            notes.append(
                "ID errors and shares are of a fifth of the training trajectories, held out of every training here. If the "
                "model as it is was trained on them, its own ID error is too low."
            )
        first = _first(train_batches, form, seed)
        found: list[str] = []
        channels_first = settled_axes(original, first, channels_first, longer=False, notes=found)
        notes += [f"{_sentence(note)}. Pass channels_first= if that is wrong." for note in found]
        # Lengths are read anew now that the axes are known: which axis is time decides how many steps there are.
        form, first = (
            replace(form, channels_first=channels_first),
            first.with_axes(channels_first, "train_batches"),
        )
        _require_taken(original, first)
        held_out = form.joined(validation, "validation", channels_first)
        weights, tie, told = (None, None, []) if known is None else known.ties(held_out)
        notes += told
        yardstick = Yardstick(
            validation=held_out, channels_first=channels_first, error=error, exchange=settings, tie=tie
        )
        place = None if field is None else form.joined(field, "field", channels_first)
        plain = TriedModel(model=original, row=measured(original, yardstick, time.perf_counter()))
        # An error that is no error, such as a negative one, is told before anything is trained.
        plain.row.candidate()
        if place is not None:
            # What is wrong with the field is told before anything is trained.
            yardstick.predictions(original, place)
        workshop = Workshop(
            model=original, batches=train_batches, form=form, first=first, channels_first=channels_first, seed=seed,
            pooling=pooling, head=head, fit=fit, weights=weights,
        )  # fmt: skip
        answers = yardstick.predictions(original, yardstick.validation)
        notes += [_sentence(note) for note in as_numbers_note(error, answers, yardstick.validation.targets)]
        if remedies is None:
            remedies = fitting(plain.row.exchange, known=weights is not None, judged=tie is not None)
            notes += [] if remedies else [NOTHING_MOVES]
        wanted = _wanted(remedies, fit)
        with telling(tell, sum(workshop.lacks(one) is None for one in wanted.values())) as say:
            say("given", AS_IT_IS, in_numbers(plain))
            candidates, skipped = tried(workshop, wanted, yardstick, say, jobs)
        candidates = {AS_IT_IS: plain, **candidates}
        choice = ruled({name: one.row for name, one in candidates.items()})
        chosen = choice.name or AS_IT_IS
        notes += [
            *workshop.notes,
            *candidates[chosen].row.exchange.train_first(candidates[chosen].row.id_error),
        ]
        notes += control_note(chosen, {name: one.row for name, one in candidates.items()})
        return Repaired(
            model=candidates[chosen].model,
            name=chosen,
            choice=choice,
            candidates=_with_field(candidates, yardstick, place, notes),
            skipped=skipped,
            notes=tuple(notes),
            structure=candidates[chosen].structure,
            reanchored=next((one.reanchored for one in candidates.values() if one.reanchored), None),
        )


def ruled(rows: Mapping[str, MeasuredModel]) -> Choice:
    """What the rule says of these candidates, of which one is the model as it is."""
    return choose({name: row.candidate() for name, row in rows.items()}, keep=AS_IT_IS)


def _checked(model: nn.Module, pooling: str | None, head: str | None, fit: Fit | None) -> nn.Module:
    """A copy of the model in evaluation mode, if the arguments are what they should be."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    for path in (pooling, head):
        if path is not None:
            part_at(model, "pooling", path)
    if fit is not None and not callable(fit):
        raise ValueError(f"fit must be a function of a model and batches, got {type(fit).__name__}")
    try:
        return copy.deepcopy(model).eval()
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"model must be one that copy.deepcopy can copy: {in_words(error)}") from error


def _wanted(remedies: Sequence[str] | Mapping[str, Any], fit: Fit | None) -> dict[str, Remedy]:
    """What is tried, by name. Where something is trained, the control comes first, named or not."""
    found = remedies_of(remedies)
    if AS_IT_IS in found:
        raise ValueError(f"remedies must have other names than that of the given model, got {AS_IT_IS!r}")
    trains = fit is not None and any(one.needs_fit for one in found.values())
    return {CONTROL: REMEDIES[CONTROL], **found} if trains else found


def _first(batches: Iterable[Any], form: BatchForm, seed: int) -> Batch:
    with scope(seed, "repair/reading"):
        for batch in batches:
            return form.parts(batch, "train_batches")
    raise ValueError("train_batches must hold at least one batch, got none")


def _require_taken(model: nn.Module, first: Batch) -> None:
    """Raise a ValueError unless the model takes the batch, and predicts the same twice."""
    if first.mask is None:
        require_finite("inputs of train_batches", first.inputs)
    stranger, masked = StrangerModel(model), first.mask is not None
    try:
        with stranger.quiet():
            answer, again = (stranger.raw(first.inputs, first.mask) for _ in range(2))
    except CALL_ERRORS as error:
        shape = tuple(first.inputs.shape)
        raise ValueError(
            why_it_failed(error, shape, masked=masked, channels_first=first.channels_first)
        ) from error
    if isinstance(answer, Tensor):
        require_same(answer, again)


def _sentence(note: str) -> str:
    return note[0].upper() + note[1:]


def _with_field(
    tried: Mapping[str, TriedModel], yardstick: Yardstick, place: Batch | None, notes: list[str]
) -> dict[str, MeasuredModel]:
    """The numbers of the candidates with their errors in the field, which come after the choice."""
    if place is None:
        return {name: one.row for name, one in tried.items()}
    rows = {}
    for name, one in tried.items():
        try:
            error = yardstick.error_on(one.model, place)
        except Exception as failed:
            error = math.nan
            notes.append(f"In the field {name} failed: {in_words(failed)}")
        rows[name] = replace(one.row, field_error=error)
    return rows
