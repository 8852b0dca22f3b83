"""Cues in the data, before any network: how well the target is read from each nuisance alone, and from what is brief alone."""

from crest._cues.cues import cues
from crest._cues.result import Cue, Cues

__all__ = ["Cue", "Cues", "cues"]
