"""Systems: signals x (N, T, C) and labels y (N) in three splits; events (N, T) and proxy (N) where they are known.

Needs the lab extra. One's own recordings are in `crest.systems.recordings`.
"""

from crest.systems.base import Sizes, Splits, Trajectories
from crest.systems.cwru import CwruSystem
from crest.systems.decodability import Errors, global_features, read_by_ridge
from crest.systems.gear import GearSystem
from crest.systems.impact import ImpactSystem
from crest.systems.regimes import OUTSIDE, REGIMES, SIMULATORS, SYSTEMS, make_system, regime
from crest.systems.storage import load, save

__all__ = [
    "OUTSIDE",
    "REGIMES",
    "SIMULATORS",
    "SYSTEMS",
    "CwruSystem",
    "Errors",
    "GearSystem",
    "ImpactSystem",
    "Sizes",
    "Splits",
    "Trajectories",
    "global_features",
    "load",
    "make_system",
    "read_by_ridge",
    "regime",
    "save",
]
