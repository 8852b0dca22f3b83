"""Plain values for the explorer's script: trajectories once each, and what every model makes of them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crest._pages.spectra import amplitude_spectrum, envelope_spectrum
from crest.probes.traces import Trace, Traces

_DIGITS = 5
"""Significant digits of a number that is told, and of signals, which may vary little around a large level."""
_PARTS = 999
"""Shares are drawn from zero, so whole parts of the largest are finer than a pixel, and a third as long as numbers."""
_PADDED = -1_000_000
"""Stands for padding among whole parts."""


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


def explorer_system(
    name: str,
    models: Sequence[TracedModel],
    *,
    per: str = "",
    unit: str = "",
    classes: Sequence[str] = (),
    names: Sequence[str] = (),
    spectra: bool = False,
) -> dict[str, Any]:
    """One system of the explorer: signals and events belong to the trajectory, so they are there once.

    Args:
        name: as the reader sees it.
        models: they must hold the same trajectories, as far as they hold them.
        per: what the sampling rate is per, such as "s"; "" if that is not known.
        unit: of labels and errors; "" if it is not known.
        classes: names of the classes that labels and predictions number; none if they are numbers themselves.
        names: what trajectories are called, by their place in the split, such as a file and a time; else they have the names of
            their traces, or are numbered.
        spectra: whether spectra and envelope spectra are shown beside the signals.
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
        "rate": _short(models[0].traces.sample_rate),
        "per": per,
        "unit": unit,
        "classes": list(classes),
        "trajectories": [
            _trajectory(trace, names[trace.index] if names else trace.name)
            | ({"spectra": _spectra(trace, models[0].traces.sample_rate)} if spectra else {})
            for trace in trajectories.values()
        ],
        "readouts": [_readout(model, trajectories) for model in models],
    }


def _trajectory(trace: Trace, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "split": trace.split,
        "index": trace.index,
        "y": _short(trace.y),
        "cue": _short(trace.cue),
        "signals": [_drawn(signal) for signal in trace.signals],
        "events": trace.events,
    }


def _spectra(trace: Trace, rate: float) -> dict[str, Any]:
    """Spectrum and envelope spectrum of each channel: amplitudes, how far lines are apart, and which lines are drawn."""
    found = {
        "spectrum": [amplitude_spectrum(signal) for signal in trace.signals],
        "envelope": [envelope_spectrum(signal) for signal in trace.signals],
    }
    return {
        name: {
            "width": _short(rate * of[0].width),
            "channels": [_in_parts(one.amplitudes.tolist()) for one in of],
            "places": [one.places.tolist() for one in of],
        }
        for name, of in found.items()
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
        # Told with all its digits, so it does not come from the parts.
        "on_events": None
        if trace.events is None
        else _short(sum(trace.credit[step] for step in trace.events)),
        "credit": _in_parts(trace.credit),
        "transience": _in_parts(trace.transience),
        "votes": _in_parts(trace.votes),
    }


def _same_data(one: Trace, other: Trace) -> bool:
    """Whether two traces are of the same trajectory. Simulations may differ in their last bits between machines."""
    known = one.events is not None and other.events is not None
    if (known and one.events != other.events) or np.shape(one.signals) != np.shape(other.signals):
        return False
    return np.allclose(one.signals, other.signals, rtol=1e-3, atol=1e-3, equal_nan=True)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def _in_parts(values: Sequence[float] | None) -> dict[str, Any] | None:
    """Values as whole parts of the largest, None on padding; the script multiplies them again.

    If values repeat, as under a network with strides, each is there once, followed by how often it comes.
    """
    if values is None:
        return None
    array = np.asarray(values, dtype=np.float64)
    padded = np.isnan(array)
    most = float(np.abs(array[~padded]).max(initial=0.0))
    unit = most / _PARTS or 1.0
    parts = np.where(padded, _PADDED, np.rint(array / unit)).astype(np.int64)
    # Where another value begins.
    begins = np.flatnonzero(np.concatenate(([True], parts[1:] != parts[:-1]))[: len(parts)])
    if 2 * len(begins) < len(parts):
        lengths = np.diff(begins, append=len(parts))
        runs = [part for run in zip(_told(parts[begins]), lengths.tolist(), strict=True) for part in run]
        return {"unit": float(f"{unit:.8g}"), "runs": runs}
    return {"unit": float(f"{unit:.8g}"), "parts": _told(parts)}


def _told(parts: npt.NDArray[np.int64]) -> list[int | None]:
    found: list[int | None] = parts.tolist()
    return [None if part == _PADDED else part for part in found] if _PADDED in parts else found


def _drawn(signal: Sequence[float]) -> list[float | int | None]:
    """Numbers in few letters: whole ones have no point. None on padding, where nothing is drawn."""
    short = [float(f"{value:.{_DIGITS}g}") for value in signal]
    return [None if math.isnan(one) else int(one) if one.is_integer() else one for one in short]
