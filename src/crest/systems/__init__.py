"""Systems: signals x (N, T, C), labels y (N), events (N, T), proxy (N) per split.

Trajectories, their files and one's own recordings need no extra. The simulators and the bearings need the lab
extra, and say so. Every name loads on first use.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crest.systems.base import Sizes, Splits, Trajectories
    from crest.systems.cwru import CwruSystem
    from crest.systems.decodability import Errors, global_features, read_by_ridge
    from crest.systems.gear import GearSystem
    from crest.systems.impact import ImpactSystem
    from crest.systems.regimes import OUTSIDE, REGIMES, SIMULATORS, SYSTEMS, make_system, regime
    from crest.systems.storage import load, save

_HOMES = {
    "base": ("Sizes", "Splits", "Trajectories"),
    "cwru": ("CwruSystem",),
    "decodability": ("Errors", "global_features", "read_by_ridge"),
    "gear": ("GearSystem",),
    "impact": ("ImpactSystem",),
    "regimes": ("OUTSIDE", "REGIMES", "SIMULATORS", "SYSTEMS", "make_system", "regime"),
    "storage": ("load", "save"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'crest.systems' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"crest.systems.{_HOME_OF[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "crest").partition(".")[0] == "crest":
            raise
        raise ImportError(
            f"crest.systems.{name} needs {error.name}: pip install 'crest-readout[lab]'"
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


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
