"""Try remedies on copies of a trained model, measure each, and take what the rule picks."""

import copy
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from crest._base.arguments import require
from crest._base.doors import door_leaving
from crest._base.rng import scope, undisturbed
from crest._base.tensors import require_signals
from crest._base.untouched import require_weights
from crest._repair.alike import alike_note
from crest._repair.conditions import ConditionPair
from crest._repair.fitting import NOTHING_MOVES, fitting
from crest._repair.measuring import Yardstick
from crest._repair.repaired import AS_IT_IS, MeasuredModel, Repaired, control_note, other_separation_note
from crest._repair.several import several_labels
from crest._repair.telling import telling
from crest._repair.trying import in_numbers, in_words, tried
from crest._repair.undeclared import undeclared_note
from crest._repair.workshop import Fit, TriedModel, Workshop, measured
from crest.exchange.candidates import Choice
from crest.exchange.rule import choose
from crest.exchange.settings import ExchangeSettings, settings_of
from crest.exchange.ties import Conditions
from crest.probes.errors import ErrorOf, as_numbers_note, on_copies, rmse_or_error_rate
from crest.probes.outputs import ChosenOutput, Output, column_of
from crest.remedies.registry import CONTROL, REMEDIES, remedies_of
from crest.remedies.remedy import Remedy
from crest.strangers.batch import Batch, BatchKeys, as_batches, generators_of
from crest.strangers.batch_forms import (
    BatchForm,
    FirstBatches,
    bounded,
    require_rereadable,
    split_batches,
)
from crest.strangers.failures import CALL_ERRORS, why_it_failed
from crest.strangers.model import StrangerModel, part_at, settled_axes

# our choice: docs/evidence/choices.md#repair
_READ = 32


@door_leaving("model", "fit", "remedies", "conditions", "tell")
def repair(
    model: nn.Module,
    train_batches: Any,
    *,
    pooling: str | tuple[str, str] | None = None,
    fit: Fit | None = None,
    validation: Any = None,
    remedies: Sequence[str] | Mapping[str, Any] | None = None,
    invariant: Sequence[str] | None = None,
    conditions: Conditions | tuple[Conditions, Conditions] | None = None,
    field: Any = None,
    channels_first: bool | None = None,
    keys: BatchKeys | None = None,
    output: Output | None = None,
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
        model: gives (B,), (B, 1) or logits (B, K), one prediction for each trajectory. Called with the inputs and, if the
            batches have one, the mask (B, T): by the name `mask` if its `forward` has that, as lengths (B,) if it has an
            argument of such a name, else as the second argument.
        train_batches: (inputs, targets), (inputs, targets, mask), (inputs, targets, lengths) or dicts; a list or a
            `DataLoader`, since it is read many times. Targets are (B,): numbers, or classes for logits; or one-hot classes (B, K),
            or several labels (B, L) of 0 and 1. Of a loader without a
            length, which may never end, the first 32 x `exchange.trajectories` are read; `fit` gets all of it if there is a
            `validation`.
        pooling: path of the pooling layer, or of the module whose output a line of `forward` pools, as
            `model.named_modules()` lists it; or a pair of it and the path of the layer that reads the pooled vector.
            Found by default.
        fit: your own training, `fit(model, batches)`, in place or with the trained model as its result. It starts from the
            trained weights; to train from the start, let it draw them anew. The global states of torch, NumPy and Python are
            seeded for it, and put back afterwards. Its batches are copies, which it may change.
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
        channels_first: whether the inputs are (B, C, T). By default the first layer tells; if it does not, time is the longer axis,
            as in `crest.audit`.
        keys: of inputs, targets and mask, if the batches are dicts with other names than the usual ones.
        output: which output of the model is judged, if it has several, as in `crest.audit`; `fit` trains as it does.
        error: from predictions and targets to one number. By default the root mean square error, and for logits the
            share of wrong classes, or of wrong labels.
        exchange: how candidates are tested. Its seed is also that of what is held out, of changed batches and of torch's
            state in `fit`.
        jobs: how many candidates are trained at a time, each in a process with its share of torch's threads. Needs joblib.
            With as many threads, results are the same as one after the other. The processes end with the call; if it is ended early,
            what was measured by then is told in a warning.
        tell: called with a sentence as each candidate begins and ends, such as `print`; or True for a progress bar, or these
            sentences if standard error is no terminal, which needs the lab extra.

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
    original = _checked(model, pooling, head, fit, remedies)
    require("jobs", jobs, "be a whole number, 1 or more")
    settings = settings_of(exchange, invariant)
    seed, most = settings.seed, _READ * settings.trajectories
    # Even a loader that does not shuffle draws a number when it is opened: the user's generators stay as they were.
    with undisturbed(*generators_of(train_batches)):
        train_batches, validation, field = _read_batches(train_batches, validation, field)
        form = BatchForm(keys, channels_first)
        notes: list[str] = []
        # A loader without a length may never end.
        finite = bounded(train_batches, most)
        known = ConditionPair.checked(conditions, finite, validation, form, seed)
        if validation is None:
            with scope(seed, "repair/reading"):
                train_batches, validation = split_batches(finite, form, seed)
            notes += _cut_note(finite, most)
            notes.append(
                "ID errors and shares are measured on a fifth of the training trajectories, which no training here sees. If "
                "your model was trained on them, its own ID error is too low."
            )
        first = _first(train_batches, form, seed)
        found: list[str] = []
        channels_first = settled_axes(original, first, channels_first, notes=found)
        notes += [f"{_sentence(note)}. Pass channels_first= if that is wrong." for note in found]
        # Lengths are read anew now that the axes are known: which axis is time decides how many steps there are.
        form, first = (
            replace(form, channels_first=channels_first),
            first.with_axes(channels_first, "train_batches"),
        )
        column = column_of(output, _taken(original, first, output))
        held_out = _of_channels(
            first,
            form.joined(_finite(validation, most), "validation", channels_first, column, notes),
            "validation",
        )
        several = several_labels(bounded(train_batches, most), held_out, form, seed)
        weights, tie, told = (
            (None, None, []) if known is None else known.reading(column, several).ties(held_out)
        )
        notes += told
        yardstick = Yardstick(
            validation=held_out, channels_first=channels_first, error=on_copies(error), exchange=settings, tie=tie,
            choice=ChosenOutput(output=output),
        ).settled(original)  # fmt: skip
        yardstick.require_repeatable(original)
        place = (
            None
            if field is None
            else _of_channels(
                first,
                form.joined(_finite(field, most), "field", channels_first, column, several=several),
                "field",
            )
        )
        plain = TriedModel(model=original, row=measured(original, yardstick, time.perf_counter()))
        # An error that is no error, such as a negative one, is told before anything is trained.
        plain.row.candidate()
        if place is not None:
            # What is wrong with the field is told before anything is trained.
            yardstick.predictions(original, place)
        workshop = Workshop(
            model=original, batches=train_batches, form=form, first=first, channels_first=channels_first, seed=seed,
            pooling=pooling, head=head, fit=fit, most=most, weights=weights,
        )  # fmt: skip
        notes += map(
            _sentence, as_numbers_note(error, yardstick.predictions(original, held_out), held_out.targets)
        )
        if remedies is None:
            remedies = fitting(plain.row.exchange, known=weights is not None, judged=tie is not None)
            notes += [] if remedies else [NOTHING_MOVES]
        wanted = _wanted(remedies, fit)
        with telling(tell, sum(workshop.lacks(one) is None for one in wanted.values())) as say:
            say("given", AS_IT_IS, in_numbers(plain))
            candidates, skipped = tried(workshop, wanted, yardstick, say, jobs)
        candidates = {AS_IT_IS: plain, **candidates}
        rows = {name: one.row for name, one in candidates.items()}
        choice = ruled(rows)
        chosen = choice.name or AS_IT_IS
        notes += [
            *workshop.notes,
            *candidates[chosen].row.exchange.train_first(candidates[chosen].row.id_error),
        ]
        notes += [
            *alike_note(candidates, wanted, yardstick),
            *other_separation_note(rows),
            *control_note(chosen, rows),
            *undeclared_note(rows[AS_IT_IS], rows[chosen]),
        ]
        return Repaired(
            model=candidates[chosen].model,
            name=chosen,
            choice=choice,
            candidates=_with_field(candidates, yardstick, place, notes),
            skipped=skipped,
            notes=tuple(notes),
            structure=candidates[chosen].structure,
            conditions=() if known is None else known.names(held_out),
            reanchored=next((one.reanchored for one in candidates.values() if one.reanchored), None),
        )


def _read_batches(train: Any, validation: Any, field: Any) -> tuple[Any, Any, Any]:
    """All three as iterables of batches; None stays None."""
    train = as_batches(train, "train_batches")
    require_rereadable("train_batches", train)
    named = (("validation", validation), ("field", field))
    held_out, place = (None if one is None else as_batches(one, name) for name, one in named)
    return train, held_out, place


def _cut_note(batches: Iterable[Any], most: int) -> list[str]:
    if not isinstance(batches, FirstBatches) or not batches.cut:
        return []
    return [
        f"train_batches has no length: the first {most} trajectories are used. Pass validation= to train on all "
        "of them."
    ]


def _finite(batches: Any, most: int) -> Any:
    """The batches, of those that do not tell how many they are the first. What is no iterable is told of by who reads it."""
    return bounded(batches, most) if isinstance(batches, Iterable) else batches


def ruled(rows: Mapping[str, MeasuredModel]) -> Choice:
    """What the rule says of these candidates, of which one is the model as it is."""
    return choose({name: row.candidate() for name, row in rows.items()}, keep=AS_IT_IS)


def _checked(
    model: nn.Module, pooling: str | None, head: str | None, fit: Fit | None, remedies: Any
) -> nn.Module:
    """A copy of the model in evaluation mode, if the arguments are what they should be."""
    if not isinstance(model, nn.Module):
        raise ValueError(
            f"model must be a torch.nn.Module, got {type(model).__name__}: crest.repair trains copies of it, which only a module "
            "allows. crest.audit takes this model as it is, and names what to change before you train it again"
        )
    require_weights(model)
    for path in (pooling, head):
        if path is not None:
            part_at(model, "pooling", path)
    if fit is not None and not callable(fit):
        raise ValueError(f"fit must be a function of a model and batches, got {type(fit).__name__}")
    if remedies is not None:
        remedies_of(remedies)
    try:
        return copy.deepcopy(model).eval()
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"model must be one that copy.deepcopy can copy: {in_words(error)}") from error


def _wanted(remedies: Sequence[str] | Mapping[str, Any], fit: Fit | None) -> dict[str, Remedy]:
    """What is tried, by name. If something is trained, the control comes first, named or not."""
    found = remedies_of(remedies)
    if AS_IT_IS in found:
        raise ValueError(f"remedies must have other names than that of the given model, got {AS_IT_IS!r}")
    trains = fit is not None and any(one.needs_fit for one in found.values())
    return {CONTROL: REMEDIES[CONTROL], **found} if trains else found


def _of_channels(first: Batch, data: Batch, name: str) -> Batch:
    """The trajectories, if they have as many channels as those of training; else a ValueError."""
    wanted, got = (one.signals.shape[2] for one in (first, data))
    if wanted != got:
        axes, turned = ("(B, C, T)", "(B, T, C)") if first.channels_first else ("(B, T, C)", "(B, C, T)")
        hint = f": inputs of train_batches are {axes}, and these look like {turned}. Pass x.mT"
        raise ValueError(
            f"{name} must have the {wanted} channels of train_batches, got {got}{hint if data.signals.shape[1] == wanted else ''}"
        )
    return data


def _first(batches: Iterable[Any], form: BatchForm, seed: int) -> Batch:
    with scope(seed, "repair/reading"):
        for batch in batches:
            return form.parts(batch, "train_batches")
    raise ValueError("train_batches must hold at least one batch, got none")


def _taken(model: nn.Module, first: Batch, output: Output | None) -> Any:
    """The chosen output of the model on the batch; a ValueError unless it takes the batch."""
    if first.mask is None:
        require_signals("inputs of train_batches", first.inputs)
    stranger, masked = StrangerModel(model), first.mask is not None
    try:
        with stranger.quiet():
            found = stranger.raw(first.inputs, first.mask)
    except CALL_ERRORS as error:
        shape = tuple(first.inputs.shape)
        raise ValueError(
            why_it_failed(error, shape, masked=masked, channels_first=first.channels_first)
        ) from error
    return ChosenOutput(output=output)(found)


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
