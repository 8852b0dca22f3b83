"""What the explorer of the page shows: trajectories once each, and what every readout makes of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from crest.lab.evidence.names import named
from crest.lab.report.colours import COLOURS
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from crest.probes import Trace, Traces

_DIGITS = 5
"""Significant digits of every number on the page. They are finer than a pixel and halve the page's size."""


def explorer_data(explored: Sequence[Record]) -> list[dict[str, Any]]:
    """Plain values for the explorer's script: a list of systems, each with its trajectories and readouts.

    Signals and events belong to the trajectory, so they are there once however many readouts were trained on it.

    Args:
        explored: records with traces; those of one system must hold the same trajectories.
    """
    groups: dict[str, list[Record]] = {}
    for record in explored:
        groups.setdefault(_data_key(record.spec), []).append(record)
    names = _told_apart([_system_words(records[0].spec) for records in groups.values()])
    return [_system(name, records) for name, records in zip(names, groups.values(), strict=True)]


def _system(name: str, records: Sequence[Record]) -> dict[str, Any]:
    trajectories: dict[tuple[str, int], Trace] = {}
    for record in records:
        for trace in _traces(record).rows:
            known = trajectories.setdefault((trace.split, trace.index), trace)
            if not _same_data(known, trace):
                raise ValueError(
                    f"explored must hold the same trajectories for all readouts of {name}, but {trace.split} "
                    f"{trace.index} of {record.id} differs from that of {records[0].id}"
                )
    names = _told_apart([_readout_words(record.spec) for record in records])
    return {
        "name": name,
        "channels": _traces(records[0]).channels,
        "rate": _traces(records[0]).sample_rate,
        "trajectories": [_trajectory(trace) for trace in trajectories.values()],
        "readouts": [
            _readout(label, record, trajectories) for label, record in zip(names, records, strict=True)
        ],
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


def _readout(name: str, record: Record, trajectories: Iterable[tuple[str, int]]) -> dict[str, Any]:
    rows = {(trace.split, trace.index): trace for trace in _traces(record).rows}
    return {
        "name": name,
        "colour": COLOURS.get(record.spec.readout, COLOURS["other"]),
        # In the order of the trajectories; null where this record has none.
        "rows": [_reading(rows[key]) if key in rows else None for key in trajectories],
    }


def _reading(trace: Trace) -> dict[str, Any]:
    return {
        "prediction": _short(trace.prediction),
        "credit": _shorts(trace.credit),
        "transience": _shorts(trace.transience),
        "votes": _shorts(trace.votes),
    }


def _traces(record: Record) -> Traces:
    if record.traces is None:
        raise ValueError(f"explored must hold records with traces, got {record.id} without")
    return record.traces


def _same_data(one: Trace, other: Trace) -> bool:
    """Whether two traces are of the same trajectory. Simulations may differ in their last bits between machines."""
    if one.events != other.events or np.shape(one.signals) != np.shape(other.signals):
        return False
    return np.allclose(one.signals, other.signals, rtol=1e-3, atol=1e-3)


def _data_key(spec: RunSpec) -> str:
    """The part of a spec that decides its trajectories. The model has no part in it."""
    return repr((spec.system, spec.regime, sorted(spec.system_options.items()), spec.seed, spec.sizes))


def _system_words(spec: RunSpec) -> list[str]:
    """Names of a run's data: the first is always shown, the others only where they tell two runs apart."""
    system = named(spec.system)
    name = system if spec.regime == "default" else f"{system}, {spec.regime}"
    return [name, _options(spec.system_options), f"seed {spec.seed}", f"{spec.sizes}"]


def _readout_words(spec: RunSpec) -> list[str]:
    options = _options(spec.readout_options)
    return [named(spec.readout), options, spec.encoder, spec.objective, f"seed {spec.seed}", spec.id]


def _options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in options.items())


def _told_apart(names: Sequence[Sequence[str]]) -> list[str]:
    """A name for each, made of as few of its words as tell all names apart. Words that all have in common are left out."""
    differing = [column for column in range(1, len(names[0])) if len({words[column] for words in names}) > 1]
    shown = [words[0] for words in names]
    for column in differing:
        if len(set(shown)) == len(shown):
            break
        shown = [
            f"{name}, {words[column]}" if words[column] else name
            for name, words in zip(shown, names, strict=True)
        ]
    return shown


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def _shorts(values: Sequence[float] | None) -> list[float | None] | None:
    return None if values is None else [_short(value) for value in values]
