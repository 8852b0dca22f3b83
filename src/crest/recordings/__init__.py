"""Your own recordings: a table and a folder of signals become trajectories, and these become splits.

Every name loads on first use: to read a table takes no torch.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crest.recordings.loading import load_recordings
    from crest.recordings.options import RecordingOptions
    from crest.recordings.splits import split_by_column, split_by_condition
    from crest.recordings.storage import load, save
    from crest.recordings.trajectories import Splits, Trajectories

_HOMES = {
    "RecordingOptions": "options",
    "Splits": "trajectories",
    "Trajectories": "trajectories",
    "load": "storage",
    "load_recordings": "loading",
    "save": "storage",
    "split_by_column": "splits",
    "split_by_condition": "splits",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'crest.recordings' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"crest.recordings.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "RecordingOptions",
    "Splits",
    "Trajectories",
    "load",
    "load_recordings",
    "save",
    "split_by_column",
    "split_by_condition",
]
