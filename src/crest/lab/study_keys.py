"""The file of a study as it is written: sections, keys, names and columns, looked at before anything heavy is loaded.

A misspelt key is an error at once: neither torch nor the catalog is imported here. `crest.lab.evidence.study_file` knows
what the names stand for, and so is which fronts and remedies there are; the tests hold the lists below to the registries.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crest._base.arguments import require, require_choice, require_known
from crest.lab.own_code import own_code
from crest.recordings.options import SPLIT_PARTS, TABLE_COLUMNS, Division, RecordingOptions
from crest.recordings.table import read_table

ENDING = ".toml"
"""By which `crest run` knows the file of a study."""
STUDY_ENCODERS = ("pointwise", "local", "gru", "attention", "cnn", "residual", "patch")
"""Encoders by name; others are the user's own code."""
STUDY_READOUTS = (
    "mean", "last", "max", "attention", "scored_attention", "gated_attention", "registers", "windowed", "conjunctive", "crest",
)  # fmt: skip
STUDY_PARTS = SPLIT_PARTS
"""What a column of the split may say."""
MOST_RUNS = 10_000
"""Runs of one study: more is a slip of the pen, such as seeds = 1000000."""
# A study is a page written by hand; what is longer or deeper is none.
_LARGEST = 2**16
"""Bytes of the file."""
_BRACKETS = 100
"""Opening brackets of the file: the depth that it can have at most."""
_DOTS = 200
"""Dots of a line: the parts that a key can have at most."""
_WHOLE, _POSITIVE = "be a whole number, 1 or more", "be positive"
# Labels are standardised on the training windows of each run.
_OPTIONS = tuple(
    field.name
    for field in dataclasses.fields(RecordingOptions)
    if field.name not in ("label_mean", "label_scale")
)
_DIVISION = ("id_by", "id_fraction", "gap")
_TRAINING = {
    "epochs": _WHOLE,
    "batch": _WHOLE,
    "learning_rate": _POSITIVE,
    "weight_decay": "be 0 or more",
    "clip": _POSITIVE,
}
"""Keys that hold a number, and what it must be."""
_LISTS = ("encoders", "readouts", "fronts", "remedies")
"""Keys that hold names, each with each of the others."""
STUDY_KEYS = {
    "recordings": ("table", "signals", "ood", *_DIVISION, *_OPTIONS),
    "models": (*_LISTS, "seeds"),
    "training": tuple(_TRAINING),
}
"""The keys of each section."""


class StudyFileError(ValueError):
    """Something is wrong with the file of a study; the message begins with the file's name."""


def read_study(path: Path) -> dict[str, dict[str, Any]]:
    """What the file of a study says, section by section, each of its values of the right kind.

    Raises:
        StudyFileError: A key, a name, a value or a column is wrong, or a file is not there.
    """
    if not path.is_file():
        raise StudyFileError(f"{path} must be the file of a study, and it does not exist")
    try:
        with path.open("rb") as file:
            given = tomllib.loads(_short_text(file.read(_LARGEST + 1)))
        require_known("the file", "section", given, STUDY_KEYS)
        for section, keys in STUDY_KEYS.items():
            if not isinstance(given.setdefault(section, {}), dict):
                raise ValueError(f"{section} must be a section, [{section}], got {given[section]!r}")
            require_known(f"[{section}]", "key", given[section], keys)
        for name, value in given["training"].items():
            require(name, value, _TRAINING[name])
        _require_recordings(given["recordings"], path.parent)
        _require_models(given["models"], path.parent)
    except tomllib.TOMLDecodeError as error:
        # What TOML says of words without quotes, one of them or several.
        bare = str(error).startswith(("Invalid value (at line", "Expected newline"))
        raise StudyFileError(f"{path}: {error}{': text needs quotes' * bare}") from error
    except (ValueError, OSError, RecursionError) as error:
        raise StudyFileError(f"{path}: {error}") from error
    return given


def _short_text(content: bytes) -> str:
    """The text of a study, refused before it is parsed when it is long or deep: a key of 50,000 parts takes gigabytes."""
    if len(content) > _LARGEST:
        raise ValueError(f"the file must have at most {_LARGEST} bytes, got more")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"the file must be text in UTF-8, got {error}") from error
    # Counted in the text as it is, quotes and comments included: a reader of TOML that judges for another one could err.
    if (count := text.count("[") + text.count("{")) > _BRACKETS:
        raise ValueError(f"the file must have at most {_BRACKETS} opening brackets, got {count}")
    for number, line in enumerate(text.split("\n"), 1):
        if (count := line.count(".")) > _DOTS:
            raise ValueError(f"a line must have at most {_DOTS} dots, got {count} in line {number}")
    return text


def study_places(recordings: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """The table, and the folder of the signals; paths begin at the folder of the study.

    Example:
        >>> study_places({"table": "bench/table.csv"}, Path("studies"))[1].as_posix()
        'studies/bench'
    """
    table = folder / recordings["table"]
    return table, folder / recordings["signals"] if "signals" in recordings else table.parent


def _require_recordings(given: Mapping[str, Any], folder: Path) -> None:
    for name in ("table", "window"):
        if name not in given:
            raise ValueError(f"[recordings] must have {name}, got none")
    for name in ("table", "signals", "split"):
        if not isinstance(given.get(name, ""), str):
            raise ValueError(f"{name} must be text, got {given[name]!r}")
    RecordingOptions(**{name: value for name, value in given.items() if name in _OPTIONS})
    Division(**{name: value for name, value in given.items() if name in _DIVISION})
    ood = given.get("ood", [])
    if ood != [] and not _is_list(ood if isinstance(ood, list) else [ood], str, int, float):
        raise ValueError(f"ood must be a list of conditions, got {ood!r}")
    if "split" in given and "ood" in given:
        raise ValueError("split must come without ood: its column says which rows are OOD")
    if "ood" in given and "condition" not in given:
        raise ValueError("ood must come with condition, the column that holds its values")
    _require_files(given, folder)


def _require_files(given: Mapping[str, Any], folder: Path) -> None:
    """Table and signals are there, the table has the columns, and the one of the split says what it may say."""
    table, signals = study_places(given, folder)
    if not table.is_file():
        raise ValueError(f"table must be a file that exists, got {str(table)!r}")
    if not signals.is_dir():
        raise ValueError(f"signals must be a folder that exists, got {str(signals)!r}")
    found = read_table(table)
    for name in TABLE_COLUMNS:
        column = given.get(name, name if name in ("file", "label") else None)
        for one in column if isinstance(column, list) else [] if column is None else [column]:
            require_choice(f"{name} names a column of {str(table)!r}: it", one, found.columns)
    if "split" in given:
        for cell in sorted({row.cells[given["split"]] for row in found.rows}):
            require_choice(f"a cell of {given['split']!r}, the column of the split,", cell, STUDY_PARTS)


def _require_models(given: Mapping[str, Any], folder: Path) -> None:
    if "encoders" not in given:
        raise ValueError("[models] must have encoders, got none")
    for key in _LISTS:
        if key in given and not _is_list(given[key], str):
            raise ValueError(f"{key} must be a list of names in [models], got {given[key]!r}")
    for encoder in given["encoders"]:
        if ".py:" in encoder:
            own_code("encoders", encoder, folder)
        elif ":" not in encoder:
            require_choice("encoders", encoder, [*STUDY_ENCODERS, "file.py:function"])
    for readout in given.get("readouts", ()):
        require_choice("readouts", readout, STUDY_READOUTS)
    _require_seeds(given.get("seeds", 1))
    seeds = given.get("seeds", 1)
    runs = len(set(seeds)) if isinstance(seeds, list) else seeds
    for key in _LISTS:
        runs *= len(set(given.get(key, ["one"])))
    if runs > MOST_RUNS:
        raise ValueError(
            f"encoders, readouts, fronts, remedies and seeds must make at most {MOST_RUNS} runs, got {runs}"
        )


def _require_seeds(seeds: object) -> None:
    if not isinstance(seeds, list):
        require("seeds", seeds, _WHOLE)
    elif not seeds:
        raise ValueError("seeds must be a number of seeds or a list of them, got []")
    else:
        for seed in seeds:
            require("seeds", seed, "be a whole number, 0 or more")


def _is_list(value: object, *kinds: type) -> bool:
    """Whether it is a list with something in it, all of these kinds. For Python true is a number; here it is none."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, kinds) and not isinstance(one, bool) for one in value)
    )
