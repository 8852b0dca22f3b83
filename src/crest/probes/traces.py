"""Traces: some trajectories step by step, what the model saw and where it reads, as plain values."""

from dataclasses import dataclass

import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.arrays import StepScores, valid_steps
from crest._base.doors import door
from crest._base.tensors import (
    as_flags,
    as_mask,
    as_per_trajectory,
    require_finite,
    require_floating,
    require_tensor,
)
from crest.probes.credit import credit_shares, step_scores
from crest.probes.rates import scores_at


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One trajectory step by step: what the model saw and where it reads. None stands for what is not known.

    Everything has the steps T of the signals. If the network has strides, credit, transience and votes are
    spread over the steps that a step of the features stands for. What stands on padding is NaN.
    """

    split: str
    """The set of trajectories that it is from, such as "id" or "ood"."""
    index: int
    """Its place in the split."""
    y: float | None
    """The label."""
    cue: float | None
    """The smooth cue that goes with the label, such as the speed level."""
    prediction: float | None
    signals: list[list[float]]
    """The channels, each with its values over time."""
    events: list[int] | None
    """Event steps, in their order."""
    credit: list[float]
    """Share of the positive credit of each step, at the pooling interface; all 0 if no step has any."""
    transience: list[float] | None
    """The profile r_t of the features."""
    votes: list[float] | None
    """Share of the feature channels that selected each step; None for readouts that select none."""
    name: str = ""
    """What it is called, such as file, start and condition; "" if that is not known, and in records from before names were kept."""


@dataclass(frozen=True, kw_only=True)
class Traces:
    """Some trajectories step by step, with what they share."""

    channels: list[str]
    """Names of the signals."""
    sample_rate: float
    """Steps per unit of time."""
    rows: list[Trace]


@door
def step_traces(
    signals: Tensor,
    features: Tensor,
    pooled: Tensor,
    *,
    predictions: Tensor | None = None,
    targets: Tensor | None = None,
    cue: Tensor | None = None,
    events: Tensor | None = None,
    transience: Tensor | None = None,
    votes: Tensor | None = None,
    mask: Tensor | None = None,
    split: str = "",
    digits: int | None = None,
) -> list[Trace]:
    """A trace of every trajectory; what is not given is None there.

    Args:
        signals: (B, T, C), what the network was shown.
        features: (B, T', D), what its readout pools; T' is T, or less if the network has a stride.
        pooled: (B, D), what the readout returned.
        predictions: (B,) or (B, 1).
        targets: (B,) or (B, 1).
        cue: (B,) or (B, 1).
        events: (B, T), booleans or 0/1 integers, at the steps of the signals.
        transience: (B, T'), how transient each step of the features is.
        votes: (B, T'), how many of the D channels chose each step, as `crest.CrestReadout.votes` counts them.
        mask: (B, T'), True where a step of the features is valid; the others get no credit and may hold
            anything.
        split: where the trajectories are from.
        digits: significant digits that every number is rounded to; None keeps all.

    Example:
        >>> signals = torch.tensor([[[0.0], [3.0], [1.0]]])
        >>> (trace,) = step_traces(signals, signals, torch.tensor([[2.0]]), events=torch.tensor([[0, 1, 0]]))
        >>> trace.credit, trace.events, trace.votes
        ([0.0, 0.5, 0.5], [1], None)
    """
    if digits is not None:
        require("digits", digits, "be a whole number, 1 or more")
    _require_numbers("signals", signals, "(B, T, C)", (None, None, None))
    known = None if events is None else as_flags("events", events, signals)
    steps = signals.shape[1]
    shares = _credit_shares(features, pooled, mask, len(signals))
    if shares.shape[1] > steps:
        raise ValueError(
            f"features must have at most the steps of the signals, T = {steps}, got {shares.shape[1]}"
        )
    share_of_votes = None if votes is None else _share_of_votes(votes, features)
    labels = _numbers("targets", targets, len(signals), digits)
    cues = _numbers("cue", cue, len(signals), digits)
    answers = _numbers("predictions", predictions, len(signals), digits)
    profiles = _profiles("transience", transience, shares, steps, digits)
    chosen = _profiles("votes", share_of_votes, shares, steps, digits)
    # A share is divided among the steps that have it: all of them still add up to 1.
    spread = scores_at(shares, steps) * (shares.shape[1] / steps)
    return [
        Trace(
            split=split,
            index=i,
            y=labels[i],
            cue=cues[i],
            prediction=answers[i],
            signals=[_shorts(signal, digits) for signal in signals[i].T],
            events=None if known is None else known[i].nonzero().flatten().tolist(),
            credit=_shorts(spread[i], digits),
            transience=profiles[i],
            votes=chosen[i],
        )
        for i in range(len(signals))
    ]


def _require_numbers(name: str, value: Tensor, letters: str, expected: tuple[int | None, ...]) -> None:
    require_tensor(name, value, letters, expected)
    require_floating(name, value)
    require_finite(name, value)


def _credit_shares(features: Tensor, pooled: Tensor, mask: Tensor | None, rows: int) -> StepScores:
    """Shares of credit, after what they are made of was checked."""
    require_tensor("features", features, "(B, T', D)", (rows, None, None))
    require_floating("features", features)
    valid = valid_steps(as_mask(mask, features), features[..., 0])
    require_finite("features", features, valid)
    _require_numbers("pooled", pooled, "(B, D)", (rows, features.shape[2]))
    kept = torch.where(valid.unsqueeze(-1), features.detach(), 0)
    return credit_shares(step_scores(kept, pooled.detach()), valid)


def _share_of_votes(votes: Tensor, features: Tensor) -> Tensor:
    """Votes over the number of channels that could vote."""
    require_tensor("votes", votes, "(B, T')", features.shape[:2])
    width = features.shape[2]
    if not bool(((votes >= 0) & (votes <= width)).all()):
        raise ValueError(f"votes must lie in [0, D], D = {width}, got {votes.min()} to {votes.max()}")
    return votes / width


def _numbers(name: str, value: Tensor | None, rows: int, digits: int | None) -> list[float] | list[None]:
    """A number of each trajectory, from (B,) or (B, 1); None of each if they are not known."""
    if value is None:
        return [None] * rows
    numbers = as_per_trajectory(f"{name} must be", value, rows)
    require_finite(name, numbers)
    return _shorts(numbers, digits)


def _profiles(
    name: str, value: Tensor | None, like: StepScores, steps: int, digits: int | None
) -> list[list[float]] | list[None]:
    """A number of each of the signals' steps of each trajectory; None of each trajectory if they are not known."""
    if value is None:
        return [None] * len(like)
    require_tensor(name, value, "(B, T')", like.shape)
    require_finite(name, value)
    return [_shorts(row, digits) for row in scores_at(value, steps)]


def _shorts(values: Tensor, digits: int | None) -> list[float]:
    return [float(value if digits is None else f"{value:.{digits}g}") for value in values.tolist()]
