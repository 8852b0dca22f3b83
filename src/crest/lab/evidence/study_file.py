"""A study of one's own: a TOML file names recordings, encoders, readouts, remedies and seeds, and becomes an experiment."""

import dataclasses
import functools
import itertools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from crest.checks.arguments import require, require_choice, require_known
from crest.lab.encoders import ENCODERS, OWN
from crest.lab.evidence.experiment import Experiment
from crest.lab.evidence.study_shown import REANCHOR, Contender, show_study
from crest.lab.own_code import own_code
from crest.lab.runs.spec import RunSpec
from crest.lab.training import OWN_SCHEDULE, SCHEDULES, Schedule
from crest.readouts import READOUTS
from crest.systems import Sizes
from crest.systems.recordings.labels import class_names
from crest.systems.recordings.system import MOST_WINDOWS, RecordingsSystem
from crest.systems.recordings.table import read_table

ENDING = ".toml"
"""By which `crest run` knows the file of a study."""
STUDY_REMEDIES: dict[str, dict[str, Any]] = {
    "none": {},
    "ac_coupling": {"remedy": "high_pass", "remedy_options": {"kind": "level"}},
    "high_pass": {"remedy": "high_pass"},
    "jitter": {"remedy": "jitter"},
    "exchange": {"remedy": "exchange"},
    REANCHOR: {},
}
"""Fields of the runs of each remedy. To re-anchor changes a plain model after its training, so it has no runs of its own."""
_PARTS = ("train", "id", "ood")
_INSIDE = ("folder", "content", "id", "classes")
_FIELDS = [field.name for field in dataclasses.fields(RecordingsSystem) if field.name not in _INSIDE]
_KEYS = {
    "recordings": (*_FIELDS, "signals", "split"),
    "models": ("encoders", "readouts", "remedies", "seeds"),
    "training": tuple(field.name for field in dataclasses.fields(Schedule)),
}
# Of every split all windows that there are.
_ALL = Sizes(**dict.fromkeys(_PARTS, MOST_WINDOWS))
_LEAST_ID = 2


def study_of(path: Path) -> Experiment:
    """The study that a file describes: docs/studies.md. Recordings and encoders are read for their names' sake.

    Raises:
        ValueError: Something in it is wrong. The message begins with the file's name.
    """
    if not path.is_file():
        raise ValueError(f"{path} must be the file of a study, and it does not exist")
    try:
        with path.open("rb") as file:
            given = tomllib.load(file)
        return _experiment(path, given)
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error


def _experiment(path: Path, given: Mapping[str, Any]) -> Experiment:
    require_known("the file", "section", given, _KEYS)
    for section, keys in _KEYS.items():
        if not isinstance(given.get(section, {}), dict):
            raise ValueError(f"{section} must be a section, [{section}], got {given[section]!r}")
        require_known(f"[{section}]", "key", given.get(section, {}), keys)
    system = _system(given.get("recordings", {}), path.parent)
    contenders = _contenders(given, system, path.parent)
    runs = _runs(contenders, dataclasses.asdict(system), _seeds(given.get("models", {})))
    return Experiment(
        name=path.stem,
        evidence="Your recordings",
        summary=f"Which model reads {system.label} from {Path(system.table).name}?",
        show=functools.partial(
            show_study, contenders=contenders, has_ood=bool(system.ood), of_classes=bool(system.classes)
        ),
        runs=runs,
        called=str(path),
        check=functools.partial(_checked, path, runs),
    )


# -- the recordings


def _system(given: Mapping[str, Any], folder: Path) -> RecordingsSystem:
    for name in ("table", "window"):
        if name not in given:
            raise ValueError(f"[recordings] must have {name}, got none")
    fields = {name: value for name, value in given.items() if name not in ("signals", "split")}
    for name in ("table", "signals"):
        if not isinstance(given.get(name, ""), str):
            raise ValueError(f"{name} must be a path, got {given[name]!r}")
    table = folder / given["table"]
    if not table.is_file():
        raise ValueError(f"table must be a file that exists, got {str(table)!r}")
    signals = folder / given["signals"] if "signals" in given else table.parent
    if not signals.is_dir():
        raise ValueError(f"signals must be a folder that exists, got {str(signals)!r}")
    if isinstance(fields.get("ood"), str | int | float):
        fields["ood"] = [fields["ood"]]
    if isinstance(fields.get("ood"), list):
        # As in `split_by_condition`: conditions are compared as text.
        fields["ood"] = [str(one) for one in fields["ood"]]
    fields |= _divided(given, table)
    system = RecordingsSystem(**fields | {"table": str(table.resolve()), "folder": str(signals.resolve())})
    _require_columns(system, table)
    # Written out, so that a run is named by its classes and knows how many outputs it needs.
    names = class_names([row.cells[system.label] for row in read_table(table).rows], system.classes)
    return dataclasses.replace(system, classes=names, content=system.digest())


def _divided(given: Mapping[str, Any], table: Path) -> dict[str, Any]:
    """The fields that a column of splits stands for."""
    column = given.get("split")
    if column is None:
        if "ood" in given and "condition" not in given:
            raise ValueError("ood must come with condition, the column that it is about")
        return {}
    if "ood" in given or "condition" in given:
        raise ValueError("split must come without condition and ood: it says itself which rows are OOD")
    rows = read_table(table).rows
    _require_column("split", column, tuple(rows[0].cells) if rows else (), table)
    cells = {row.cells[column] for row in rows}
    for cell in sorted(cells):
        require_choice(f"a cell of {column!r}, the column of the split,", cell, _PARTS)
    return {"condition": column, **{name: [name] for name in ("id", "ood") if name in cells}}


def _require_columns(system: RecordingsSystem, table: Path) -> None:
    columns = read_table(table).columns
    for name in ("file", "label", "condition", "events", "proxy"):
        column = getattr(system, name)
        if column is not None:
            _require_column(name, column, columns, table)


def _require_column(name: str, column: Any, columns: tuple[str, ...], table: Path) -> None:
    require_choice(f"{name} names a column of {str(table)!r}: it", column, columns)


# -- the models


def _contenders(given: Mapping[str, Any], system: RecordingsSystem, folder: Path) -> tuple[Contender, ...]:
    models = given.get("models", {})
    encoders = _names(models, "encoders", None)
    readouts = _names(models, "readouts", ["scored_attention", "crest"])
    remedies = _names(models, "remedies", ["none"])
    for readout in readouts:
        require_choice("readouts", readout, READOUTS)
    for remedy in remedies:
        require_choice("remedies", remedy, STUDY_REMEDIES)
    if REANCHOR in remedies and "none" not in remedies:
        raise ValueError("remedies must have none beside reanchor, which changes the models without a remedy")
    training = given.get("training", {})
    return tuple(
        Contender(
            encoder=encoder,
            readout=readout,
            remedy=remedy,
            fields={
                **_encoder_fields(encoder, readout, system.window, folder),
                **STUDY_REMEDIES[remedy],
                "readout": readout,
                "objective": "cross_entropy" if system.classes else "mse",
                "sizes": _ALL,
                "schedule": dataclasses.replace(SCHEDULES.get(encoder, OWN_SCHEDULE), **training),
            },
        )
        for encoder, readout, remedy in itertools.product(encoders, readouts, remedies)
        # CREST re-anchored would be CREST.
        if (readout, remedy) != ("crest", REANCHOR)
    )


def _names(models: Mapping[str, Any], key: str, default: list[str] | None) -> list[str]:
    names = models.get(key, default)
    if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
        raise ValueError(f"{key} must be a list of names in [models], got {names!r}")
    return list(dict.fromkeys(names))


def _encoder_fields(encoder: str, readout: str, window: int, folder: Path) -> dict[str, Any]:
    """Fields of the runs of an encoder before a readout."""
    if ":" in encoder:
        code = own_code("encoders", encoder, folder)
        options = {"factory": code.name, "place": str(code.place), "content": code.content()}
        return {"encoder": OWN, "encoder_options": {**options, "steps": window}}
    require_choice("encoders", encoder, [*ENCODERS, "file.py:function"])
    stride = ENCODERS[encoder].stride
    # CREST's constants count steps of the signals, whatever the encoder's stride.
    strided = readout == "crest" and stride > 1
    return {"encoder": encoder, **({"readout_options": {"stride": stride}} if strided else {})}


def _seeds(models: Mapping[str, Any]) -> list[int]:
    seeds = models.get("seeds", 3)
    if isinstance(seeds, list):
        for seed in seeds:
            require("seeds", seed, "be a whole number, 0 or more")
        return sorted(set(seeds))
    require("seeds", seeds, "be a whole number, 1 or more")
    return list(range(seeds))


def _runs(
    contenders: tuple[Contender, ...], system: Mapping[str, Any], seeds: list[int]
) -> tuple[RunSpec, ...]:
    """Every contender on every seed, seed by seed: half of them is a smaller study."""
    again = {(one.encoder, one.readout) for one in contenders if one.remedy == REANCHOR}
    runs = []
    for seed, one in itertools.product(seeds, contenders):
        if one.remedy == REANCHOR:
            continue
        reanchored = one.remedy == "none" and (one.encoder, one.readout) in again
        measures = [
            "exchange",
            *(["reanchor"] if reanchored else []),
            *(["traces"] if seed == seeds[0] else []),
        ]
        runs.append(
            RunSpec(
                system="recordings", system_options=system, seed=seed, measures=tuple(measures), **one.fields
            )
        )
    return tuple(runs)


# -- before anything is trained


def _checked(path: Path, runs: tuple[RunSpec, ...]) -> str:
    """What there is to train on. Recordings are read whole, and every model answers two windows."""
    first = [spec for spec in runs if spec.seed == runs[0].seed]
    try:
        system = RecordingsSystem(**first[0].system_options)
        windows = system.windows()
        splits = system.divided(windows, first[0].seed, _ALL)
        if len(splits.id) < _LEAST_ID:
            raise ValueError(
                f"id_fraction must leave {_LEAST_ID} windows for ID, got {len(splits.id)}: take more, or shorter windows"
            )
        for spec in first:
            with torch.no_grad():
                spec.model(splits.train.x.shape[2]).eval()(torch.from_numpy(splits.train.x[:2]))
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error
    outside = bool(first[0].system_options["ood"])
    held = f", {len(splits.ood)} OOD" if outside else "; nothing is held out as OOD"
    gaps = len(windows) - len(splits.train) - len(splits.id) - outside * len(splits.ood)
    lost = (
        f'; {gaps} are left out as gaps around ID, which id_by = "recording" would not need' if gaps else ""
    )
    return f"{path}: {len(splits.train)} training windows, {len(splits.id)} ID{held}{lost}"
