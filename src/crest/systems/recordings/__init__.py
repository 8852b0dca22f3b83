"""One's own recordings: a table and a folder of signals become trajectories, and these become splits."""

from crest.systems.recordings.loading import load_recordings
from crest.systems.recordings.splits import split_by_condition

__all__ = ["load_recordings", "split_by_condition"]
