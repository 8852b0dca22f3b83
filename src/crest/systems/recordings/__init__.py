"""One's own recordings: a table and a folder of signals become trajectories, and these become splits.

Both names load on first use: to read a table takes no torch.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crest.systems.recordings.loading import load_recordings
    from crest.systems.recordings.splits import split_by_condition

_HOMES = {"load_recordings": "loading", "split_by_condition": "splits"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'crest.systems.recordings' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"crest.systems.recordings.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


__all__ = ["load_recordings", "split_by_condition"]
