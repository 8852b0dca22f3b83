"""The credit probe: where along the trajectory the pooled vector takes its direction from.

On a given score the three quantities are known from attribution benchmarks as Relevance Mass Accuracy
(ECM), Relevance Rank Accuracy (Prec@|E|) and the Pointing Game (CiE@1). They differ here in one point:
tied steps count with their expected value under random tie-breaking, so a score that tells no step from
another gets exactly the chance level, whatever the order of the steps.
"""

import torch
from torch import Tensor

from crest._base.arrays import (
    Counts,
    EventMask,
    Features,
    PerTrajectory,
    Pooled,
    StepFlags,
    StepMask,
    StepScores,
    at_least_float32,
    valid_steps,
)
from crest._base.doors import door
from crest._base.tensors import (
    as_flags,
    as_mask,
    require_finite,
    require_floating,
    require_series,
    require_tensor,
)
from crest.probes.result import Credit

DELTA = 1e-12  # our choice: docs/evidence/choices.md#delta


def _unit(vectors: Tensor) -> Tensor:
    """The vectors at length one along the last axis; zero stays zero."""
    # Without this the squares over- or underflow, and the cosine would depend on the scale.
    largest = vectors.abs().amax(-1, keepdim=True)
    vectors = vectors / torch.where(largest > 0, largest, 1)
    length = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / torch.where(length > 0, length, 1)


@door
def step_scores(features: Features, pooled: Pooled) -> StepScores:
    """Cosine s_t between each step's feature and the pooled vector, in [-1, 1].

    If either vector is zero the score is 0. Computed in float32 at least.

    Example:
        >>> step_scores(torch.tensor([[[3.0, 0.0], [0.0, 0.0], [-1.0, 0.0]]]), torch.tensor([[2.0, 0.0]]))
        tensor([[ 1.,  0., -1.]])
    """
    if not torch.compiler.is_compiling():
        require_series("features", features, "(B, T, D)")
        require_tensor("pooled", pooled, "(B, D)", (features.shape[0], features.shape[2]))
        require_floating("pooled", pooled)
    dtype = at_least_float32(features, pooled)
    # A product and a sum, not a matrix product: equal steps must get equal bits, or ties are lost.
    cosine = (_unit(features.to(dtype)) * _unit(pooled.to(dtype)).unsqueeze(1)).sum(-1)
    return cosine.clamp(-1, 1)


@door
def positive_credit(scores: StepScores) -> StepScores:
    """Positive part c_t = max(s_t, 0): a step that opposes the pooled direction does not support it.

    Example:
        >>> positive_credit(torch.tensor([[0.5, -0.5]]))
        tensor([[0.5000, 0.0000]])
    """
    require_floating("scores", scores)
    return scores.clamp(min=0)


def credit_shares(scores: StepScores, mask: StepMask | None = None) -> StepScores:
    """Positive credit of each valid step over that of all; 0 if no step has any.

    Example:
        >>> credit_shares(torch.tensor([[0.6, -0.5, 0.2, 0.9]]), torch.tensor([[True, True, True, False]]))
        tensor([[0.7500, 0.0000, 0.2500, 0.0000]])
    """
    positive = positive_credit(scores)
    if mask is not None:
        positive = positive.masked_fill(~mask, 0.0)
    return positive / positive.sum(1, keepdim=True).clamp(min=torch.finfo(positive.dtype).tiny)


def _valid(
    scores: StepScores, events: StepFlags, mask: StepFlags | None
) -> tuple[StepScores, EventMask, StepMask]:
    """Scores in float32 at least, events on valid steps only, and the mask."""
    if not torch.compiler.is_compiling():
        require_tensor("scores", scores, "(B, T)", (None, None))
    require_floating("scores", scores)
    flags = as_flags("events", events, scores)
    valid = valid_steps(as_mask(mask, scores), flags)
    return scores.to(at_least_float32(scores)), flags & valid, valid


@door
def event_credit_mass(
    scores: StepScores, events: StepFlags, mask: StepFlags | None = None, delta: float = DELTA
) -> PerTrajectory:
    """Share of the positive credit that falls on event steps (ECM); NaN without event steps.

    Without any positive credit it is 0. Uniform positive credit gives the event fraction.

    Example:
        >>> scores = torch.tensor([[0.9, 0.1, -0.5, 0.0]])
        >>> event_credit_mass(scores, torch.tensor([[True, False, True, False]]))
        tensor([0.9000])
    """
    scores, events, mask = _valid(scores, events, mask)
    positive = positive_credit(scores)
    mass = torch.where(events, positive, 0).sum(1) / (torch.where(mask, positive, 0).sum(1) + delta)
    return mass.masked_fill(~events.any(1), torch.nan)


def _expected_hits(scores: StepScores, events: EventMask, mask: StepMask, count: Counts) -> PerTrajectory:
    """Share of the `count` best valid steps that are events, in expectation over random tie-breaking."""
    ranked = scores.masked_fill(~mask, -torch.inf)
    last = ranked.sort(1, descending=True).values.gather(1, count.unsqueeze(1) - 1)
    above, tied = (ranked > last) & mask, (ranked == last) & mask

    def number(steps: StepMask) -> PerTrajectory:
        return steps.sum(1).to(scores.dtype)

    # Divided in this order, a row of ties gives |E| / T to the last bit.
    share_above = number(above & events) / count
    share_tied = (count - number(above)) / count * (number(tied & events) / number(tied))
    undefined = ~events.any(1) | ranked.isnan().any(1)
    return (share_above + share_tied).masked_fill(undefined, torch.nan)


@door
def precision_at_event_rate(
    scores: StepScores, events: StepFlags, mask: StepFlags | None = None
) -> PerTrajectory:
    """Share of the `|E|` best-scored valid steps that are events (Prec@|E|); NaN without event steps.

    Steps tied for the last places share them evenly, so the order of the steps does not matter.

    Example:
        >>> scores = torch.tensor([[0.9, 0.5, 0.5, 0.0]])
        >>> precision_at_event_rate(scores, torch.tensor([[True, True, False, False]]))
        tensor([0.7500])
    """
    scores, events, mask = _valid(scores, events, mask)
    return _expected_hits(scores, events, mask, events.sum(1).clamp(min=1))


@door
def credit_in_event_at_1(
    scores: StepScores, events: StepFlags, mask: StepFlags | None = None
) -> PerTrajectory:
    """1 where the best-scored valid step is an event, else 0 (CiE@1); NaN without event steps.

    Steps tied for the maximum share it evenly: two tied steps, one of them an event, give 0.5.

    Example:
        >>> scores = torch.tensor([[0.2, 0.8, 0.1], [0.5, 0.5, 0.5]])
        >>> credit_in_event_at_1(scores, torch.tensor([[False, True, False], [True, False, False]]))
        tensor([1.0000, 0.3333])
    """
    scores, events, mask = _valid(scores, events, mask)
    return _expected_hits(scores, events, mask, torch.ones_like(events[:, 0], dtype=torch.int64))


@door
def chance_level(
    events: StepFlags, mask: StepFlags | None = None, dtype: torch.dtype = torch.float32
) -> PerTrajectory:
    """Event fraction `|E| / T` over the valid steps; 0 without event steps.

    Example:
        >>> chance_level(torch.tensor([[True, False, False, False]]))
        tensor([0.2500])
    """
    if not torch.compiler.is_compiling():
        require_tensor("events", events, "(B, T)", (None, None))
    if not (dtype.is_floating_point):
        raise ValueError(f"dtype must be that of floating point numbers, got {dtype}")
    flags = as_flags("events", events, events)
    valid = valid_steps(as_mask(mask, events), flags)
    return (flags & valid).sum(1).to(dtype) / valid.sum(1).clamp(min=1)


@door
def credit(
    features: Tensor, pooled: Tensor, events: Tensor, mask: Tensor | None = None, *, validate: bool = True
) -> Credit:
    """Step scores, ECM, Prec@|E|, CiE@1 and chance level of every trajectory, and their averages.

    Nothing here carries a gradient: the probe is for diagnosis, never a training objective.

    Args:
        features: (B, T, D), what the readout pools. Padded steps may hold anything, NaN included.
        pooled: (B, D), what the readout returned. In its place, the rows of a classifier's head ask which steps speak for
            a class: `(head.weight - head.weight.mean(0))[classes]`.
        events: (B, T), booleans or 0/1 integers; events on padded steps are ignored. They are those of the
            features: if strides leave fewer steps than the inputs have, see `crest.events_at`.
        mask: (B, T), True (or 1) where a step is valid; all of them by default.
        validate: False skips the checks that read values (finite, 0/1) and so wait for the device;
            shapes and dtypes are checked always.

    Example:
        >>> features = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [-1.0, 1.0]]])
        >>> credit(features, torch.tensor([[1.0, 0.0]]), torch.tensor([[1, 0, 0, 0]]))
        Credit of 1 trajectory
                     mean  chance
          CiE@1     1.000   0.250
          Prec@|E|  1.000   0.250
          ECM       1.000   0.250
    """
    require_series("features", features, "(B, T, D)")
    require_tensor("pooled", pooled, "(B, D)", (features.shape[0], features.shape[2]))
    require_floating("pooled", pooled)
    _require_own_rate(events, features)
    events = as_flags("events", events, features, validate)
    valid = valid_steps(as_mask(mask, features, validate), events)
    if validate:
        require_finite("features", features, valid)
        require_finite("pooled", pooled)
    features, pooled = features.detach(), pooled.detach()
    return _measured(step_scores(torch.where(valid.unsqueeze(-1), features, 0), pooled), events, valid)


@door
def credit_of_scores(
    scores: Tensor, events: Tensor, mask: Tensor | None = None, *, validate: bool = True
) -> Credit:
    """Credit of given step scores, such as saliency or attention weights, instead of the cosines.

    Args:
        scores: (B, T), higher where a step counts more. Padded steps may hold anything, NaN included.
        events: as in `credit`.
        mask: as in `credit`.
        validate: as in `credit`.

    Example:
        >>> weights = torch.tensor([[0.5, 0.25, 0.25, 0.0]])
        >>> credit_of_scores(weights, torch.tensor([[1, 0, 0, 0]])).mean_ecm
        0.5
    """
    require_tensor("scores", scores, "(B, T)", (None, None))
    require_floating("scores", scores)
    _require_own_rate(events, scores)
    events = as_flags("events", events, scores, validate)
    valid = valid_steps(as_mask(mask, scores, validate), events)
    if validate:
        require_finite("scores", scores, valid)
    scores = torch.where(valid, scores.detach(), 0)
    return _measured(scores.to(at_least_float32(scores)), events, valid)


def _require_own_rate(events: object, like: Tensor) -> None:
    """Say what to do with the events of inputs that have more steps than what is measured."""
    rows, steps = like.shape[:2]
    if isinstance(events, Tensor) and events.ndim == 2 and len(events) == rows and events.shape[1] > steps:
        raise ValueError(
            f"events must have shape (B, T) = {(rows, steps)}, got {tuple(events.shape)}: "
            f"crest.events_at(events, {steps}) gives those of the features"
        )


def _measured(scores: StepScores, events: EventMask, valid: StepMask) -> Credit:
    """Every quantity of scores that are 0 on padded steps."""
    events = events & valid
    counted = events.any(1)
    return Credit(
        scores=scores,
        positive=positive_credit(scores),
        ecm=event_credit_mass(scores, events, valid),
        precision=precision_at_event_rate(scores, events, valid),
        cie=credit_in_event_at_1(scores, events, valid),
        chance=chance_level(events, valid, scores.dtype).masked_fill(~counted, torch.nan),
        counted=counted,
    )
