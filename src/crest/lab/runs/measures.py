"""What a run measures on request, by the probes: deletion, saliency, and some trajectories step by step."""

import copy
import dataclasses
import math
from collections.abc import Callable

import torch
from torch import Tensor

from crest._base import rng
from crest._base.arrays import EventMask, Features, Signals, StepScores
from crest.exchange import ExchangeSettings, exchange_test
from crest.exchange.settings import What
from crest.lab.evaluation import condition_errors, score, worst_error
from crest.lab.model import Model, answered_class
from crest.lab.runs.record import ReanchoredScore, Shares
from crest.probes import (
    CreditMeans,
    DeletionCurve,
    Trace,
    Traces,
    batches_of,
    credit_of_scores,
    deletion_by,
    evaluating,
    in_batches,
    positive_credit,
    saliency,
    scores_at,
    step_scores,
    step_traces,
)
from crest.readouts import CrestReadout, EventReadout
from crest.readouts.base import WeightedReadout
from crest.recordings import Splits, Trajectories
from crest.remedies import reanchor

# Trajectories of each split: enough to choose from, and a record stays below half a megabyte.
TRACED = 4
_DIGITS = 4


def measured_deletion(model: Model, data: Trajectories, seed: int) -> dict[str, DeletionCurve]:
    """Errors after interpolating out steps: by credit, by the readout's own rating, at random, the events."""
    x, y, events, _ = data.tensors()
    if events is None:
        raise ValueError("data must have events to measure deletion, got none")
    known = events
    rate = _own_rating(model)

    def answer(inputs: Signals) -> Tensor:
        return in_batches(model, batches_of(inputs, known))

    def credited(rows: Signals, inside: EventMask) -> StepScores:
        features = model.features(rows)
        return scores_at(positive_credit(step_scores(features, model.pool(features, inside))), rows.shape[1])

    with evaluating(model):
        ratings = {"credit": in_batches(credited, batches_of(x, known))}
        if rate is not None:
            ratings["rated"] = in_batches(
                lambda rows: scores_at(rate(model.features(rows)), rows.shape[1]), batches_of(x)
            )
    ratings["random"] = torch.from_numpy(rng.generator(seed, "deletion/random").random(known.shape))
    return deletion_by(answer, x, y, ratings, events=known)


def measured_saliency(model: Model, data: Trajectories) -> CreditMeans | None:
    """The probe's averages with the size of the input gradient as the score of each step.

    The gradient is that of the prediction: for a classifier, the logit of the predicted class. None if no trajectory
    has an event.
    """
    x, _, events, _ = data.tensors()
    if events is None:
        raise ValueError("data must have events to measure saliency, got none")

    def gradient(rows: Signals, inside: EventMask) -> StepScores:
        target = answered_class(model(rows, inside)) if model.outputs > 1 else None
        return saliency(lambda inputs: model(inputs, inside), rows, target=target)

    with evaluating(model):
        scores = in_batches(gradient, batches_of(x, events))
    # The published records were averaged in float32: a run of today must give their bits.
    return credit_of_scores(scores, events).averages(torch.float32)


def measured_rating(model: Model, data: Trajectories) -> CreditMeans | None:
    """The probe's averages with the readout's own rating as the score of each step; None if it has none, or no event."""
    x, _, events, _ = data.tensors()
    rate = _own_rating(model)
    if events is None or rate is None:
        return None
    with evaluating(model):
        scores = in_batches(lambda rows: scores_at(rate(model.features(rows)), rows.shape[1]), batches_of(x))
    return credit_of_scores(scores, events).averages()


def measured_traces(model: Model, splits: Splits) -> Traces:
    """The first trajectories of the ID and the OOD split, step by step."""
    rows = [row for name in ("id", "ood") for row in _traces(model, name, getattr(splits, name)[:TRACED])]
    return Traces(channels=list(splits.id.channels), sample_rate=float(splits.id.sample_rate), rows=rows)


def _traces(model: Model, split: str, data: Trajectories) -> list[Trace]:
    x, y, events, cue = data.tensors()
    readout = model.readout
    # What CREST itself ranks if it is CREST, else what it would with its defaults.
    rates = readout if isinstance(readout, CrestReadout) else CrestReadout(run_up=0)
    with evaluating(model):
        features = model.features(x)
        answers = model(x, events)
        found = answered_class(answers)
        traces = step_traces(
            x,
            features,
            model.pool(features, events),
            predictions=answers if found is None else found.float(),
            targets=y,
            cue=cue,
            events=events,
            transience=rates.profile(features),
            votes=readout.votes(features) if isinstance(readout, CrestReadout) else None,
            split=split,
            digits=_DIGITS,
        )
    names = data.names or [""] * len(traces)
    return [dataclasses.replace(trace, name=name) for trace, name in zip(traces, names, strict=True)]


def measured_exchange(model: Model, data: Trajectories, what: What = "background") -> Shares:
    """What the prediction follows when backgrounds of these trajectories are exchanged, whole or by their spectra."""
    if isinstance(model.readout, EventReadout):
        raise ValueError(
            f"model must have a label-free readout to measure exchange, got {type(model.readout).__name__}"
        )
    x, y, *_ = data.tensors()
    found = exchange_test(model, x, targets=y, exchange=ExchangeSettings(what=what))
    # A prediction that does not vary follows nothing, and JSON has no NaN.
    if not found.varies:
        error = found.exchanged_error
        return Shares(
            transient=0.0, background=0.0, interaction=0.0, background_alone=0.0, exchanged_error=error
        )
    parts = {field.name: getattr(found, field.name) for field in dataclasses.fields(Shares)}
    if math.isnan(found.moved):
        parts |= {"moved": None, "moved_interval": None, "nuisances": {}, "together": None}
    if what == "background":
        # Measured once, with the spectra.
        parts |= {"nuisances": {}, "together": None}
    return Shares(**parts)


def measured_reanchored(model: Model, splits: Splits, *, conditions: bool = False) -> ReanchoredScore:
    """Errors and shares of the model with CREST on its frozen encoder and the head fitted again; a copy is changed.

    Args:
        model: as it was trained.
        splits: the head is fitted on the first, errors are those of the others.
        conditions: whether to measure the error under each condition too.
    """
    again = copy.deepcopy(model)
    x, y, _, _ = splits.train.tensors()
    labels = y if model.outputs == 1 else y.long()
    result = reanchor(
        again, list(batches_of(x, labels)), pooling="readout", head="head", stride=model.encoder.stride
    )
    return ReanchoredScore(
        conditions=condition_errors(again, splits) if conditions else {},
        worst=worst_error(again, splits.ood) if conditions else None,
        score=score(again, splits),
        exchange=measured_exchange(again, splits.id),
        spectral=measured_exchange(again, splits.id, "spectrum"),
        budget=str(result.budget),
        leave_one_out=float(result.error),
    )


def _own_rating(model: Model) -> Callable[[Features], Tensor] | None:
    """What the readout itself says about its steps: CREST's votes, learned weights, else nothing."""
    readout = model.readout
    if isinstance(readout, CrestReadout):
        return readout.votes
    if isinstance(readout, WeightedReadout) and list(readout.parameters()):
        return readout.step_weights
    return None
