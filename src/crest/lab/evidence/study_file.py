"""A study of your own: a TOML file names recordings, encoders, readouts, fronts, remedies and seeds, and becomes an experiment."""

import collections
import dataclasses
import functools
import itertools
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from crest._base.arguments import require_choice
from crest.lab.encoders import ENCODERS, OWN
from crest.lab.evidence.experiment import Experiment
from crest.lab.evidence.remedy_runs import REANCHORED
from crest.lab.evidence.study_shown import show_study
from crest.lab.evidence.study_standing import Contender
from crest.lab.own_code import own_code
from crest.lab.remedies import fronted_fields
from crest.lab.runs.spec import RunSpec
from crest.lab.study_keys import STUDY_PARTS, StudyFileError, read_study, study_places
from crest.lab.systems import Sizes
from crest.lab.systems.recordings import MOST_WINDOWS, RecordingsSystem
from crest.lab.training import OWN_SCHEDULE, SCHEDULES
from crest.recordings.labels import class_names, require_named
from crest.recordings.table import read_table
from crest.remedies import CONTROL, REMEDIES

STUDY_REMEDIES = {one.key: name for name, one in REMEDIES.items() if one.key is not None}
"""Names of remedies, by how the file of a study spells them."""
STUDY_FRONTS = {
    key: name for key, name in STUDY_REMEDIES.items() if name == CONTROL or REMEDIES[name].front is not None
}
"""Those that stand in front of the model and change nothing else: a study crosses them with the other remedies."""
# Of every split all windows that there are.
_ALL = Sizes(**dict.fromkeys(STUDY_PARTS, MOST_WINDOWS))
_LEAST_ID = 2


def study_of(path: Path) -> Experiment:
    """The study that a file describes: docs/lab/studies.md. Recordings and encoders are read for their names' sake.

    Raises:
        StudyFileError: Something in it is wrong. The message begins with the file's name.
    """
    given = read_study(path)
    try:
        return _experiment(path, given)
    except (ValueError, OSError) as error:
        raise StudyFileError(f"{path}: {error}") from error


def _experiment(path: Path, given: Mapping[str, Any]) -> Experiment:
    system = _system(given["recordings"], path.parent)
    contenders = _contenders(given, system, path.parent)
    runs = _runs(contenders, dataclasses.asdict(system), _seeds(given["models"]))
    return Experiment(
        name=path.stem,
        evidence="Your recordings",
        summary=f"Which model reads {system.label} from {Path(system.table).name}?",
        show=functools.partial(
            show_study,
            contenders=contenders,
            has_ood=bool(system.ood),
            classes=len(system.classes) if isinstance(system.classes, tuple) else 0,
            guess=_guess(system),
        ),
        runs=runs,
        called=str(path),
        check=functools.partial(_checked, path, runs),
    )


# -- the recordings


def _system(given: Mapping[str, Any], folder: Path) -> RecordingsSystem:
    table, signals = study_places(given, folder)
    rows = read_table(table).rows
    fields = {name: value for name, value in given.items() if name != "signals"}
    if isinstance(given.get("classes"), list):
        # Cells of a table are text.
        fields["classes"] = [str(one) for one in given["classes"]]
    if "ood" in given:
        # As in `split_by_condition`: conditions are compared as text.
        several = given["ood"] if isinstance(given["ood"], list) else [given["ood"]]
        fields["ood"] = [str(one) for one in several]
    if "split" in given:
        cells = {row.cells[given["split"]] for row in rows}
        fields |= {name: [name] for name in ("id", "ood") if name in cells}
    system = RecordingsSystem(**fields | {"table": str(table.resolve()), "folder": str(signals.resolve())})
    # Written out, so that a run is named by its classes and knows how many outputs it needs.
    labels = [row.cells[system.label] for row in rows]
    names = class_names(labels, system.classes)
    if names is not None:
        require_named(system.label, labels, names)
    return dataclasses.replace(
        system, classes=system.classes if names is None else names, content=system.digest()
    )


def _guess(system: RecordingsSystem) -> float:
    """The ID error of a constant prediction: 1 in standard deviations of a label; of classes, the share of recordings of other classes."""
    if not system.classes:
        return 1.0
    labels = collections.Counter(
        row.cells[system.label]
        for row in read_table(Path(system.table)).rows
        if not _is_ood(row.cells, system)
    )
    return 1 - max(labels.values(), default=0) / max(labels.total(), 1)


def _is_ood(cells: Mapping[str, str], system: RecordingsSystem) -> bool:
    if system.split is not None:
        return cells[system.split] == "ood"
    names = [cells[column] for column in system.conditions]
    several = [f"{column}={name}" for column, name in zip(system.conditions, names, strict=True)]
    return any(one in system.ood for one in (", ".join(names), *several))


# -- the models


def _contenders(given: Mapping[str, Any], system: RecordingsSystem, folder: Path) -> tuple[Contender, ...]:
    models, training = given["models"], given["training"]
    _require_remedies(models.get("remedies", ()), models.get("fronts"))
    encoders, readouts, fronts, remedies = (
        dict.fromkeys(models.get(key, default))
        for key, default in (
            ("encoders", ()),
            ("readouts", ("scored_attention", "crest")),
            ("fronts", ("none",)),
            ("remedies", ("none",)),
        )
    )
    return tuple(
        Contender(
            encoder=encoder,
            readout=readout,
            front=STUDY_FRONTS[front],
            remedy=STUDY_REMEDIES[remedy],
            fields={
                **_encoder_fields(encoder, readout, system.window, folder),
                **fronted_fields(STUDY_FRONTS[front], STUDY_REMEDIES[remedy]),
                "readout": readout,
                "objective": "cross_entropy" if system.classes else "mse",
                "sizes": _ALL,
                "schedule": dataclasses.replace(SCHEDULES.get(encoder, OWN_SCHEDULE), **training),
            },
        )
        for encoder, readout, front, remedy in itertools.product(encoders, readouts, fronts, remedies)
        # CREST re-anchored would be CREST.
        if (readout, STUDY_REMEDIES[remedy]) != ("crest", REANCHORED)
    )


def _require_remedies(given: Collection[str], fronts: Collection[str] | None) -> None:
    for remedy in given:
        require_choice("remedies", remedy, STUDY_REMEDIES)
        if fronts is not None and REMEDIES[STUDY_REMEDIES[remedy]].front is not None:
            raise ValueError(
                f"remedies must have no front beside the list of fronts, got {remedy}: name it in fronts, which every remedy is "
                "combined with"
            )
    for front in fronts or ():
        require_choice("fronts", front, STUDY_FRONTS)
    # To re-anchor changes a plain model after its training, so it has no runs of its own.
    again, plain = (REMEDIES[name].key for name in (REANCHORED, CONTROL))
    if again in given and plain not in given:
        raise ValueError(
            f"remedies must have {plain} beside {again}, which changes the models without a remedy"
        )


def _encoder_fields(encoder: str, readout: str, window: int, folder: Path) -> dict[str, Any]:
    """Fields of the runs of an encoder before a readout."""
    if ":" in encoder:
        code = own_code("encoders", encoder, folder)
        options = {"factory": code.name, "place": str(code.place), "content": code.content()}
        return {"encoder": OWN, "encoder_options": {**options, "steps": window}}
    stride = ENCODERS[encoder].stride
    # CREST's constants count steps of the signals, whatever the encoder's stride.
    strided = readout == "crest" and stride > 1
    return {"encoder": encoder, **({"readout_options": {"stride": stride}} if strided else {})}


def _seeds(models: Mapping[str, Any]) -> list[int]:
    seeds = models.get("seeds", 3)
    return sorted(set(seeds)) if isinstance(seeds, list) else list(range(seeds))


def _runs(
    contenders: tuple[Contender, ...], system: Mapping[str, Any], seeds: list[int]
) -> tuple[RunSpec, ...]:
    """Every contender on every seed, seed by seed: half of them is a smaller study."""
    again = {(one.encoder, one.readout, one.front) for one in contenders if one.remedy == REANCHORED}
    runs = []
    for seed, one in itertools.product(seeds, contenders):
        if one.remedy == REANCHORED:
            continue
        reanchored = one.remedy == CONTROL and (one.encoder, one.readout, one.front) in again
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
    """What there is to train on. Recordings are read whole, and every model predicts two windows."""
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
                spec.model_for(splits.train).eval()(torch.from_numpy(splits.train.x[:2]))
    except (ValueError, OSError) as error:
        raise StudyFileError(f"{path}: {error}") from error
    outside = bool(system.ood)
    held = f", {len(splits.ood)} OOD" if outside else "; nothing is held out as OOD"
    gaps = len(windows) - len(splits.train) - len(splits.id) - outside * len(splits.ood)
    lost = (
        f'; {gaps} are left out as gaps around ID, which id_by = "recording" would not need' if gaps else ""
    )
    labels = (
        ""
        if system.classes
        else "; labels are standardised on the training windows, so errors are in their standard deviations"
    )
    return f"{path}: {len(splits.train)} training windows, {len(splits.id)} ID{held}{lost}; signals: {system.units}{labels}"
