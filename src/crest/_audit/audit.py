"""Bring a trained model and data as in training; learn what its predictions follow."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from crest._audit.curves import response_curves
from crest._audit.inputs import preprocessing_seen
from crest._audit.label_units import units_advice
from crest._audit.looking import credit_at, known_events, looked_into
from crest._audit.readings import core_of, deletions, sharp_share
from crest._audit.recorded import taking_recorded
from crest._audit.result import Audit, ConditionReading
from crest._audit.separated import separated_trajectory
from crest._audit.shown import shown_traces
from crest._audit.tied import TieReading, tie_reading
from crest._audit.verdict import Evidence, found
from crest._base.arguments import require
from crest._base.doors import door_leaving
from crest._base.order import natural_order
from crest._cues.brief import brief_cue
from crest.exchange.conditions import errors_by_condition
from crest.exchange.groups import groups_of
from crest.exchange.measurement import exchange_test
from crest.exchange.settings import ExchangeSettings, settings_of
from crest.exchange.ties import Columns, Conditions, condition_columns, condition_names, tie_of
from crest.probes.asking import asked_about
from crest.probes.errors import (
    ErrorOf,
    are_classes,
    as_numbers_note,
    on_copies,
    rmse_or_error_rate,
    settled_error,
)
from crest.probes.foreign import as_function
from crest.probes.outputs import Output, label_codes
from crest.strangers.answers import stranger_of
from crest.strangers.batch import Batch, BatchKeys, gathered, known_count, require_in_order
from crest.strangers.lengths import padding_note
from crest.strangers.model import StrangerModel


@door_leaving("model", "conditions")
@taking_recorded
def audit(
    model: Any,
    batches: Any,
    *,
    features: str | Literal[False] | None = None,
    head: str | None = None,
    events: Any = None,
    invariant: Sequence[str] | None = None,
    conditions: Conditions | None = None,
    groups: Any = None,
    id_error: float | None = None,
    channels_first: bool | None = None,
    keys: BatchKeys | None = None,
    answer: Callable[[Any], Tensor] | None = None,
    output: Output | None = None,
    error: ErrorOf = rmse_or_error_rate,
    exchange: ExchangeSettings | None = None,
) -> Audit:
    """What does the prediction of a trained model follow? No event labels and no field data are needed.

    The model is asked about its inputs as they are, with one thing after the other exchanged between trajectories (offset,
    drift, tones, gain, colour, rate, the surroundings of the core), louder, slower and shifted, and with the most
    transient steps taken out. If it is a module, hooks also show the features of each step and the vector that
    its head reads: the pooling interface. Afterwards, also after an error, these are as before: its parameters, buffers and
    modes, its modules with their hooks, and the tensors, arrays, lists and dicts that the module holds. What its forward
    writes to objects of other classes stays written; generators, optimizers, schedulers and dataclasses are put back.

    Args:
        model: any module or function. A module is asked in evaluation mode and without gradients. A function may take and return
            NumPy arrays. A scikit-learn estimator, an object with `predict`, a scripted module, an exported program and an
            ONNX session are taken as they are.
        batches: data as in training: a tensor or an array of inputs, a tuple (inputs, targets), (inputs, targets, mask) or
            (inputs, targets, lengths), or an iterable of such batches or of dicts, such as a `DataLoader`. Inputs are
            (B, T, C) or (B, C, T); or (B, T), of one channel, for a model of two axes. Targets are numbers or classes (B,), one-hot
            classes (B, K), or several labels (B, L) of 0 and 1. What `crest.recordings.load_recordings` and its splits return is taken
            as it is: names, times, classes, events and groups come with it, and trajectories are then spread evenly over all.
        features: name of the module that gives the features of each step, as `model.named_modules()` lists it; found
            by default. False does not look into the model.
        head: name of the module that reads the pooled vector; found by default.
        events: (N, T), if they are known, at the steps of the inputs, in the order of the batches.
        invariant: what the prediction must not depend on, of `crest.nuisances.NAMES`; the verdict is about these. By default
            those of `exchange`: offset, drift and tones, which are never part of a brief event. Add "gain", "colour" or
            "rate" if your physics says so.
        conditions: (N,), the condition of each trajectory in the order of the batches, such as a speed; or several columns by
            name. Says how far target and condition are tied, and the error where the two part, which decides if there is
            enough. Best with held-out data. Needs targets. With loaded recordings also the name of a column of `extra`, such as
            "condition".
        groups: (N,), what each trajectory is a part of, in the order of the batches, such as its recording. Windows that overlap or
            come from one recording are alike; intervals are then by a bootstrap over groups. By default it is over trajectories.
        id_error: the model's error on held-out data as in training, if these are other data and you know it. If the model fails
            here, it says whether it has learnt its task at all.
        channels_first: whether the inputs are (B, C, T). By default the first layer tells; if it does not, time is
            the longer axis.
        keys: of inputs, targets and mask, if the batches are dicts with other names than the usual ones.
        answer: from what the model returns to predictions (B,), (B, 1) or logits (B, K), if it returns something else.
        output: which output is asked about, if the model has several: the name of a dict's entry, the place in a tuple, or the column
            of (B, K), with that column of targets (B, K) too; several are taken one after the other, `("logits", 2)`.
        error: from predictions and targets to one number; by default the root mean square error, and for logits
            the share of wrong classes, or of wrong labels.
        exchange: how the exchange test is done, and how many trajectories are looked at: the first ones; no batch after
            them is read.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> level, knock = torch.randn(2, 64, generator=generator)
        >>> x = level[:, None, None] + 0.01 * torch.randn(64, 100, 1, generator=generator)
        >>> x[:, 50:54, 0] += knock[:, None]
        >>> audit(lambda x: x.mean((1, 2)), x).verdict, audit(lambda x: x[:, 52, 0] - x[:, 20, 0], x).verdict
        ('background', 'events')
    """
    model = as_function(model, "model")
    settings, error = settings_of(exchange, invariant), on_copies(error)
    if events is not None or conditions is not None or groups is not None:
        require_in_order(batches)
    if id_error is not None:
        require("id_error", id_error, "be 0 or more")
    columns = None if conditions is None else condition_columns(conditions)
    given = gathered(batches, settings.trajectories, keys, channels_first=channels_first)
    if len(given) < 2:
        raise ValueError("batches must hold two trajectories or more: one has nothing to exchange")
    notes: list[str] = []
    brought = known_count(batches)
    if brought is not None and brought > len(given):
        notes.append(
            f"the first {len(given)} of {brought} trajectories were looked at: if they come file by file or class by class, shuffle them. Pass "
            "exchange=crest.ExchangeSettings(trajectories=...) to look at more"
        )
    stranger, given = stranger_of(
        model, given, channels_first, answer=answer, output=output, size=settings.batch_size, notes=notes
    )
    channels_first = stranger.channels_first
    with stranger.quiet():
        batch = stranger.beside(given)
        answers = stranger.predictions(batch)
        error = settled_error(error, answers, batch.targets)
        notes += as_numbers_note(error, answers, batch.targets)
        notes += padding_note(batch.signals, batch.mask)
        known = known_events(events, batch, notes)
        names = None if columns is None else _names(columns, batch, brought, notes)
        numbers = None if groups is None else _group_numbers(groups, len(batch), brought)
        tested = exchange_test(
            stranger,
            batch.signals,
            mask=batch.mask,
            targets=batch.targets,
            error=error,
            exchange=settings,
            groups=numbers,
        )
        interface, read = None, None
        if isinstance(model, nn.Module) and features is not False:
            interface, read = looked_into(stranger, batch, features, head, notes)
        if known is not None and read is None:
            notes.append("the model's features were not found, so nothing is compared with the events")
        core = core_of(batch.signals, batch.valid, settings.sigma)
        with asked_about("signals without their most transient steps", _WHY_DELETED, "model"):
            gone = deletions(stranger, batch, core, seed=settings.seed)
        with asked_about("signals that are louder, slower or shifted", _WHY_CURVES, "model"):
            curves = response_curves(stranger, batch, answers)
        by_condition = (
            None
            if names is None
            else _by_condition(
                stranger, batch, names, None if read is None else read.on(core.cpu())[0], error
            )
        )
    sharp = sharp_share(batch.signals, batch.valid)
    on_core = None if read is None else read.means_on(core.cpu())
    mistaken = None if batch.targets is None else float(error(answers, batch.targets))
    tie, untold, called = (
        (None, [], ())
        if columns is None or batch.targets is None
        else _tied(answers, batch, columns, error, seed=settings.seed, groups=numbers)
    )
    brief, unasked = _brief(batch) if tested.verdict == "background" else (None, [])
    finding = found(
        Evidence(
            exchange=tested,
            sharp=sharp,
            brief=brief,
            core_credit=on_core,
            deletion=gone,
            tie=tie,
            trajectories=len(batch),
            error=mistaken,
            id_error=id_error,
            channels_first=channels_first,
            masked=batch.mask is not None,
            running=isinstance(model, nn.Module) and any(isinstance(one, _NORMS) for one in model.modules()),
            preprocessed=preprocessing_seen(batch.signals, batch.mask),
        )
    )
    classes = _classes(answers, batch.targets)
    units = units_advice(answers, batch.targets, mistaken, tested.constant_error)
    labels = batch.targets is not None and batch.targets.ndim > 1
    return Audit(
        verdict=finding.verdict,
        reasons=(*finding.reasons, *untold, *unasked),
        headline=finding.headline,
        advice=(*units, *finding.advice),
        trajectories=len(batch.signals),
        brought=brought,
        groups=None if numbers is None else int(numbers.max()) + 1,
        steps=batch.signals.shape[1],
        exchange=tested,
        curves=curves,
        tie=tie,
        deletion=gone,
        sharp=sharp,
        interface=interface,
        core_credit=None if on_core is None else on_core[0],
        core_chance=None if on_core is None else on_core[1],
        concentration=None if read is None else float(read.concentration.nanmean()),
        credit=None if known is None or read is None else credit_at(read, known),
        error=mistaken,
        id_error=id_error,
        by_condition=by_condition,
        classes=classes,
        notes=tuple(notes),
        # Of several labels there is no one number to show.
        traces=shown_traces(
            replace(batch, targets=None) if labels else batch,
            answers,
            read,
            core,
            known,
            of_classes=bool(classes) and not labels,
        ),
        separated=separated_trajectory(batch, core, settings),
        conditions=called,
    )


_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
_WHY_DELETED = "to see how far that moves the prediction"
_WHY_CURVES = "to draw its response curves"


def _classes(predictions: Tensor, targets: Tensor | None) -> tuple[str, ...]:
    """The numbers of the K classes of logits (N, K), as text; none if predictions or targets are numbers."""
    outputs = predictions.shape[1] if predictions.ndim == 2 else 1
    if outputs == 1 or not (targets is None or are_classes(targets, outputs)):
        return ()
    return tuple(map(str, range(outputs)))


def _brief(batch: Batch) -> tuple[tuple[float, float] | None, list[str]]:
    """How far above chance a simple reader reads the targets from what is brief alone, and the upper end of that.

    None without targets, and if the reader refuses these trajectories: the premise is then not looked at, and a sentence says why.
    """
    if batch.targets is None:
        return None, []
    try:
        cue = brief_cue(
            batch.signals.cpu(),
            label_codes(batch.targets.cpu()),
            batch.mask if batch.mask is None else batch.mask.cpu(),
        )
    except ValueError as refused:
        # In the words of `crest.cues`, which calls them x and y.
        rule = str(refused)
        for short, name in (("x ", "inputs "), ("y ", "targets ")):
            rule = name + rule.removeprefix(short) if rule.startswith(short) else rule
        return None, [
            f"It was not tested whether a simple reader can tell the target from the brief part alone: {rule}."
        ]
    return (cue.score - cue.chance, cue.interval[1] - cue.chance), []


def _names(columns: Columns, batch: Batch, brought: int | None, notes: list[str]) -> list[Hashable]:
    """The condition of each trajectory that is looked at; a note tells what is only among the others.

    Args:
        columns: of all trajectories.
        batch: those that are looked at, the first ones.
        brought: how many there are, if that is known.
        notes: are added to.
    """
    if batch.targets is None:
        raise ValueError("conditions need targets in the batches, got none")
    count, given = len(batch), len(next(iter(columns.values())))
    names = condition_names(columns, given)
    if given < count or (brought is not None and given != brought):
        raise ValueError(
            f"conditions must have a value for each of the {brought or count} trajectories, got {given}"
        )
    if unseen := dict.fromkeys(name for name in names[count:] if name not in set(names[:count])):
        notes.append(
            f"conditions that are not among the first {count} of {given} trajectories: "
            f"{', '.join(map(str, unseen))}. Pass exchange=crest.ExchangeSettings(trajectories=...) to look at more"
        )
    return names[:count]


def _tied(
    answers: Tensor, batch: Batch, columns: Columns, error: ErrorOf, *, seed: int, groups: Tensor | None
) -> tuple[TieReading | None, list[str], tuple[str, ...]]:
    """The tie of target and condition, what conditions do not tell, and the condition of each trajectory as the tie names it."""
    assert batch.targets is not None
    first = {name: column[: len(batch)] for name, column in columns.items()}
    targets = batch.targets.cpu()
    tie, untold = tie_reading(answers.cpu(), targets, first, error, seed, groups=groups)
    return tie, untold, tie_of(targets, first).names


def _group_numbers(groups: Any, count: int, brought: int | None) -> Tensor:
    """The groups of the trajectories that are looked at, the first of those that were brought, as numbers from 0."""
    numbers = groups_of(groups, brought, first=count)
    if len(numbers) < count:
        raise ValueError(f"groups must have a value for each of the {count} trajectories, got {len(numbers)}")
    return numbers


def _by_condition(
    stranger: StrangerModel,
    batch: Batch,
    names: list[Hashable],
    share: Tensor | None,
    error: ErrorOf,
) -> dict[Hashable, ConditionReading]:
    assert batch.targets is not None
    errors = errors_by_condition(
        stranger,
        batch.signals,
        batch.targets,
        names,
        batch.mask,
        error=error,
        batch_size=stranger.size,
    )
    rows = {name: torch.tensor([given == name for given in names]) for name in errors}
    return {
        name: ConditionReading(
            error=value,
            core_credit=None if share is None else float(share[rows[name]].nanmean()),
            trajectories=int(rows[name].sum()),
        )
        for name, value in ((name, errors[name]) for name in natural_order(errors))
    }
