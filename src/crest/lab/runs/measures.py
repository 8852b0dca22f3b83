"""What a run measures on request: the harm of deleting steps, and some trajectories step by step."""

import functools
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from crest import rng
from crest.arrays import Features, StepScores
from crest.lab.evaluation import BATCH, evaluating
from crest.lab.model import Model
from crest.lab.runs.record import CreditMeans, Harm, Trace, Traces
from crest.probes import deletion, error_without, saliency
from crest.probes.credit import (
    chance_level,
    credit_in_event_at_1,
    event_credit_mass,
    positive_credit,
    precision_at_event_rate,
    step_scores,
)
from crest.readouts import CrestConfig, CrestReadout
from crest.readouts.base import WeightedReadout
from crest.readouts.transience import channel_transience, transience_profile
from crest.systems import Splits, Trajectories

Rating: TypeAlias = Callable[[Model, Features, Tensor | None], StepScores]

# Trajectories of each split: enough to choose from, and a record stays below half a megabyte.
TRACED = 4
DIGITS = 4


def measured_harm(model: Model, data: Trajectories, seed: int) -> dict[str, Harm]:
    """Errors after interpolating out steps: by credit, by the readout's own rating, at random, the events."""
    x, y, events, _ = data.tensors()
    if events is None:
        raise ValueError("data must have events to measure deletion, got none")
    known = events
    ratings = {"credit": _rated(model, data, _credit)}
    own = _own_rating(model)
    if own is not None:
        ratings["rated"] = _rated(model, data, own)
    ratings["random"] = torch.from_numpy(rng.generator(seed, "deletion/random").random(known.shape))

    def answer(inputs: Tensor) -> Tensor:
        places = [slice(start, start + BATCH) for start in range(0, len(inputs), BATCH)]
        return torch.cat([model(inputs[place], known[place]) for place in places])

    with evaluating(model):
        curves = {name: deletion(answer, x, y, rating) for name, rating in ratings.items()}
        without = error_without(answer, x, y, known)
    untouched, share = curves["random"].errors[0], known.float().mean().item()
    return {
        **{
            name: Harm(fractions=[*curve.fractions], errors=[*curve.errors]) for name, curve in curves.items()
        },
        "events": Harm(fractions=[0.0, share], errors=[untouched, without]),
    }


def measured_saliency(model: Model, data: Trajectories) -> CreditMeans | None:
    """The probe's averages with the size of the input gradient as the score of each step.

    None where no trajectory has an event.
    """
    if data.events is None:
        raise ValueError("data must have events to measure saliency, got none")
    scores = []
    with evaluating(model):
        for start in range(0, len(data), BATCH):
            x, _, known, _ = data[start : start + BATCH].tensors()
            # It takes gradients by itself, here too.
            scores.append(saliency(functools.partial(model, events=known), x))
    found = torch.cat(scores)
    events = torch.from_numpy(data.events)
    counted = events.any(1)
    if not counted.any():
        return None
    parts = {
        "cie": credit_in_event_at_1(found, events),
        "ecm": event_credit_mass(found, events),
        "precision": precision_at_event_rate(found, events),
        "chance": chance_level(events),
    }
    return CreditMeans(
        **{name: values[counted].mean().item() for name, values in parts.items()},
        counted=int(counted.sum()),
        without_events=int((~counted).sum()),
    )


def measured_traces(model: Model, splits: Splits) -> Traces:
    """The first trajectories of the ID and the OOD split, step by step."""
    rows = [row for name in ("id", "ood") for row in _traces(model, name, getattr(splits, name)[:TRACED])]
    return Traces(channels=list(splits.id.channels), sample_rate=float(splits.id.sample_rate), rows=rows)


def _traces(model: Model, split: str, data: Trajectories) -> list[Trace]:
    x, y, events, cue = data.tensors()
    with evaluating(model):
        features = model.features(x)
        answers = model(x, events)
        positive = _credit(model, features, events)
        transience = _transience(model, features)
        votes = _votes(model, features, events) if isinstance(model.readout, CrestReadout) else None
    credit = positive / positive.sum(1, keepdim=True).clamp(min=torch.finfo(positive.dtype).tiny)
    return [
        Trace(
            split=split,
            index=i,
            y=_short(y[i]),
            cue=None if cue is None else _short(cue[i]),
            prediction=_short(answers[i]),
            signals=[_shorts(signal) for signal in x[i].T],
            events=None if events is None else events[i].nonzero().flatten().tolist(),
            credit=_shorts(credit[i]),
            transience=_shorts(transience[i]),
            votes=None if votes is None else _shorts(votes[i]),
        )
        for i in range(len(data))
    ]


def _short(value: Tensor | float) -> float:
    return float(f"{float(value):.{DIGITS}g}")


def _shorts(values: Tensor) -> list[float]:
    return [_short(value) for value in values.tolist()]


def _rated(model: Model, data: Trajectories, rate: Rating) -> Tensor:
    """The rating of every step (N, T), a batch at a time."""
    parts = []
    with evaluating(model):
        for start in range(0, len(data), BATCH):
            x, _, events, _ = data[start : start + BATCH].tensors()
            parts.append(rate(model, model.features(x), events))
    return torch.cat(parts)


def _credit(model: Model, features: Features, events: Tensor | None) -> StepScores:
    return positive_credit(step_scores(features, model.pool(features, events)))


def _transience(model: Model, features: Features) -> StepScores:
    """The profile r_t by CREST's constants: the readout's own where it is CREST, else the defaults."""
    config = model.readout.config if isinstance(model.readout, CrestReadout) else CrestConfig()
    return transience_profile(channel_transience(features, sigma=config.sigma, delta=config.delta))


def _votes(model: Model, features: Features, _: Tensor | None) -> StepScores:
    readout = model.readout
    if not isinstance(readout, CrestReadout):
        raise ValueError(f"readout must be CREST's to have votes, got {type(readout).__name__}")
    return readout.votes(features) / features.shape[-1]


def _weights(model: Model, features: Features, _: Tensor | None) -> StepScores:
    readout = model.readout
    if not isinstance(readout, WeightedReadout):
        raise ValueError(f"readout must have step weights, got {type(readout).__name__}")
    return readout.step_weights(features)


def _own_rating(model: Model) -> Rating | None:
    """What the readout itself says about its steps: CREST's votes, learned weights, else nothing."""
    if isinstance(model.readout, CrestReadout):
        return _votes
    learned = isinstance(model.readout, WeightedReadout) and list(model.readout.parameters())
    return _weights if learned else None
