"""What other packages show of a trained model: captum's integrated gradients and tslens' WinTSR, scored by the events."""

# Both packages are asked for only if a run measures them.
# ruff: noqa: PLC0415

import time
from collections.abc import Callable
from typing import Any, TypeAlias

from torch import Tensor

from crest._base.extras import missing_extra
from crest.lab.model import Model, answered_class
from crest.lab.runs.record import Attribution
from crest.probes import credit_of_scores, evaluating
from crest.readouts import EventReadout
from crest.recordings import Trajectories

# our choice: docs/evidence/choices.md#attributions
_TRAJECTORIES = {"integrated_gradients": 64, "wintsr": 16}
_PATH_STEPS = 32
_AT_ONCE = 64

Attribute: TypeAlias = Callable[[Tensor, Tensor | None], Tensor]
"""From signals (B, T, C) and the output to explain, if there are several, to attributions (B, T, C)."""


def measured_attributions(model: Model, data: Trajectories) -> dict[str, Attribution]:
    """How much of each attribution lies on the events, and what it cost; by the name of the method.

    A step's score is the size of the attribution, summed over channels. For a classifier, it is that of the predicted
    class.
    """
    x, _, events, _ = data.tensors()
    if events is None:
        raise ValueError("data must have events to measure attribution, got none")
    if isinstance(model.readout, EventReadout):
        raise ValueError(
            f"model must have a label-free readout to measure attribution, got {type(model.readout).__name__}"
        )
    found = {}
    for name, attribute in _METHODS.items():
        rows = x[: _TRAJECTORIES[name]]
        try:
            method = attribute(model)
        except ImportError as error:
            raise ImportError(missing_extra("the measure attribution", error.name, "rivals")) from error
        with evaluating(model):
            answered = answered_class(model(rows))
            started = time.perf_counter()
            scores = method(rows, answered).detach().abs().sum(-1)
            seconds = time.perf_counter() - started
        means = credit_of_scores(scores, events[: len(rows)]).averages()
        if means is not None:
            found[name] = Attribution(credit=means, seconds=seconds, trajectories=len(rows))
    return found


def _integrated_gradients(model: Model) -> Attribute:
    from captum.attr import IntegratedGradients

    method: Any = IntegratedGradients(model)
    return lambda rows, target: method.attribute(
        rows, target=target, n_steps=_PATH_STEPS, internal_batch_size=_AT_ONCE
    )


def _wintsr(model: Model) -> Attribute:
    # On gradients: on occlusion, its default, the calls grow with the square of the length, 10^5 and more for a trajectory.
    from captum.attr import Saliency
    from tslens import WinTSR

    method: Any = WinTSR(Saliency(model))
    return lambda rows, target: method.attribute(
        rows, target=target, sliding_window_shapes=(1, rows.shape[2])
    ).squeeze(1)


_METHODS: dict[str, Callable[[Model], Attribute]] = {
    "integrated_gradients": _integrated_gradients,
    "wintsr": _wintsr,
}
