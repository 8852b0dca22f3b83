"""What the explorer of the page shows: trajectories once each, and what every readout makes of them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from crest._pages.colours import COLOURS
from crest._pages.explorer import TracedModel, explorer_system
from crest.lab.evidence.names import named
from crest.lab.runs.record import Record
from crest.lab.runs.spec import RunSpec
from crest.probes import Traces

_PER = {"gear": "s", "impact": "unit of time", "cwru": "s", "recordings": "s"}
"""What the sampling rate of a system is per. The oscillator's time is in units where its angular frequency is 1."""


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
    names = _told_apart([_readout_words(record.spec) for record in records])
    models = [
        TracedModel(
            name=label,
            source=record.id,
            colour=COLOURS.get(record.spec.readout, COLOURS["other"]),
            traces=_traces(record),
        )
        for label, record in zip(names, records, strict=True)
    ]
    spec = records[0].spec
    return explorer_system(
        name,
        models,
        per=_PER.get(spec.system, ""),
        unit="standard deviations of the label",
        classes=spec.classes,
    )


def _traces(record: Record) -> Traces:
    if record.traces is None:
        raise ValueError(f"explored must hold records with traces, got {record.id} without")
    if record.spec.has_ood:
        return record.traces
    # Nothing was held out, so what stands in its place are the ID windows again.
    inside = [row for row in record.traces.rows if row.split != "ood"]
    return dataclasses.replace(record.traces, rows=inside)


def _data_key(spec: RunSpec) -> str:
    """The part of a spec that decides its trajectories. The model has no part in it."""
    return repr((spec.system, spec.regime, sorted(spec.system_options.items()), spec.seed, spec.sizes))


def _system_words(spec: RunSpec) -> list[str]:
    """Names of a run's data: the first is always shown, the others only if they tell two runs apart."""
    system = named(spec.system)
    name = system if spec.regime == "default" else f"{system}, {spec.regime}"
    return [name, _options(spec.system_options), f"seed {spec.seed}", f"{spec.sizes}"]


def _readout_words(spec: RunSpec) -> list[str]:
    options = _options(spec.readout_options)
    encoder = str(spec.encoder_options.get("factory", spec.encoder))
    changes = ((spec.front, spec.front_options), (spec.remedy, spec.remedy_options))
    # As in the tables of a study: a model without a remedy has its readout's name alone.
    remedy = " + ".join(
        " ".join([name, *map(str, options.values())]) for name, options in changes if name != "none"
    )
    return [named(spec.readout), options, encoder, remedy, spec.objective, f"seed {spec.seed}", spec.id]


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
