"""Plain values for the explorer's script: trajectories once each, and what every model makes of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crest.probes.traces import Trace, Traces

_DIGITS = 5
"""Significant digits of every number on the page. They are finer than a pixel and halve the page's size."""


@dataclass(frozen=True, kw_only=True)
class TracedModel:
    """A model in the explorer."""

    name: str
    """As the reader sees it."""
    source: str
    """What messages call it, such as the id of a run."""
    colour: str
    """In CSS notation."""
    traces: Traces
    """Some trajectories step by step; those of one system are the same for all models."""


def explorer_system(name: str, models: Sequence[TracedModel]) -> dict[str, Any]:
    """One system of the explorer: signals and events belong to the trajectory, so they are there once.

    Args:
        name: as the reader sees it.
        models: they must hold the same trajectories, as far as they hold them.
    """
    trajectories: dict[tuple[str, int], Trace] = {}
    for model in models:
        for trace in model.traces.rows:
            known = trajectories.setdefault((trace.split, trace.index), trace)
            if known.events is None:
                # Events may be known to one of the models alone.
                trajectories[trace.split, trace.index] = trace
            if not _same_data(known, trace):
                raise ValueError(
                    f"explored must hold the same trajectories for all readouts of {name}, but {trace.split} "
                    f"{trace.index} of {model.source} differs from that of {models[0].source}"
                )
    return {
        "name": name,
        "channels": models[0].traces.channels,
        "rate": models[0].traces.sample_rate,
        "trajectories": [_trajectory(trace) for trace in trajectories.values()],
        "readouts": [_readout(model, trajectories) for model in models],
    }


def _trajectory(trace: Trace) -> dict[str, Any]:
    return {
        "split": trace.split,
        "index": trace.index,
        "y": _short(trace.y),
        "cue": _short(trace.cue),
        "signals": [_shorts(signal) for signal in trace.signals],
        "events": trace.events,
    }


def _readout(model: TracedModel, trajectories: Iterable[tuple[str, int]]) -> dict[str, Any]:
    rows = {(trace.split, trace.index): trace for trace in model.traces.rows}
    return {
        "name": model.name,
        "colour": model.colour,
        # In the order of the trajectories; null where this model has none.
        "rows": [_reading(rows[key]) if key in rows else None for key in trajectories],
    }


def _reading(trace: Trace) -> dict[str, Any]:
    return {
        "prediction": _short(trace.prediction),
        "credit": _shorts(trace.credit),
        "transience": _shorts(trace.transience),
        "votes": _shorts(trace.votes),
    }


def _same_data(one: Trace, other: Trace) -> bool:
    """Whether two traces are of the same trajectory. Simulations may differ in their last bits between machines."""
    known = one.events is not None and other.events is not None
    if (known and one.events != other.events) or np.shape(one.signals) != np.shape(other.signals):
        return False
    return np.allclose(one.signals, other.signals, rtol=1e-3, atol=1e-3)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def _shorts(values: Sequence[float] | None) -> list[float | None] | None:
    return None if values is None else [_short(value) for value in values]
