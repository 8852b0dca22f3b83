"""Between the steps of the inputs and those of the features, which are fewer if a network has strides.

Step s of S features stands for the stretch from s T / S to (s + 1) T / S of the T input steps, so that the stretches are
equally long and cover all of them. If S does not divide T, an input step may lie in two stretches.
"""

import torch
from torch import Tensor

from crest._base.arguments import require
from crest._base.arrays import StepFlags, StridedEvents, StridedScores, at_least_float32
from crest._base.doors import door
from crest._base.tensors import as_flags, require_tensor


@door
def events_at(events: StepFlags, steps: int) -> StridedEvents:
    """Events (B, T) of the inputs as events (B, steps) of the features: True where any input step of the stretch is.

    `crest.credit` wants the events of the features. Not for masks: a step of the features would be valid with
    a single valid step of the inputs.

    Args:
        events: (B, T), booleans or 0/1 integers.
        steps: number of steps of the features, at most T; with T of them the events stay as they are.

    Example:
        >>> events_at(torch.tensor([[0, 0, 0, 1, 1, 0, 0, 0]]), 4)
        tensor([[False,  True,  True, False]])
    """
    require_tensor("events", events, "(B, T)", (None, None))
    flags = as_flags("events", events, events)
    given = events.shape[1]
    require("steps", steps, "be a whole number, 1 or more")
    if steps > given:
        raise ValueError(f"steps must be at most those of the events, T = {given}, got {steps}")
    if steps == given:
        return flags
    step = torch.arange(steps, device=flags.device)
    # From the first step that the stretch touches to the one after the last: rounded down and up, in whole numbers.
    start, stop = step * given // steps, -(-(step + 1) * given // steps)
    before = torch.nn.functional.pad(flags.cumsum(1), (1, 0))
    return before[:, stop] > before[:, start]


@door
def scores_at(scores: Tensor, steps: int) -> StridedScores:
    """Scores (B, S) of the features as scores (B, steps) of the inputs: each input step has that of its stretch.

    One that lies in two stretches has their mean, weighted by how much of it lies in each; so the mean over
    all steps is kept. `crest.deletion` and pictures over the signal want scores of the inputs.

    Args:
        scores: (B, S), or whole numbers such as CREST's votes.
        steps: number of steps of the inputs, at least S; with S of them the scores stay as they are.

    Example:
        >>> scores_at(torch.tensor([[1.0, 3.0]]), 4), scores_at(torch.tensor([[1.0, 3.0]]), 3)
        (tensor([[1., 1., 3., 3.]]), tensor([[1., 2., 3.]]))
    """
    require_tensor("scores", scores, "(B, S)", (None, None))
    require("steps", steps, "be a whole number, 1 or more")
    given = scores.shape[1]
    if steps < given:
        raise ValueError(f"steps must be at least those of the scores, S = {given}, got {steps}")
    scores = scores.to(at_least_float32(scores))
    if steps == given:
        return scores
    # In units of 1 / steps of a stretch, a step is `given` long and a stretch `steps`: whole numbers.
    start = torch.arange(steps, device=scores.device) * given
    first, last = start // steps, (start + given - 1) // steps
    in_last = (start + given - last * steps).to(scores.dtype) / given
    mixed = torch.lerp(scores[:, first], scores[:, last], in_last.expand(len(scores), -1))
    return torch.where(first == last, scores[:, first], mixed)
