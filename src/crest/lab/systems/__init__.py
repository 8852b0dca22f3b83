"""Systems: signals x (N, T, C), labels y (N), events (N, T), proxy (N) per split.

The simulators and the bearings need the lab extra, and say so. Every name loads on first use. Trajectories
themselves, their files and your own recordings are in `crest.recordings`.
"""

import importlib
from typing import TYPE_CHECKING

from crest._base.extras import missing_extra

if TYPE_CHECKING:
    from crest.lab.systems.base import Sizes
    from crest.lab.systems.cwru import CwruSystem
    from crest.lab.systems.decodability import Errors, global_features, read_by_ridge
    from crest.lab.systems.gear import GearSystem
    from crest.lab.systems.impact import ImpactSystem
    from crest.lab.systems.regimes import OUTSIDE, RECORDED, REGIMES, SIMULATORS, SYSTEMS, make_system, regime

_HOMES = {
    "base": ("Sizes",),
    "cwru": ("CwruSystem",),
    "decodability": ("Errors", "global_features", "read_by_ridge"),
    "gear": ("GearSystem",),
    "impact": ("ImpactSystem",),
    "regimes": ("OUTSIDE", "RECORDED", "REGIMES", "SIMULATORS", "SYSTEMS", "make_system", "regime"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'crest.lab.systems' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"crest.lab.systems.{_HOME_OF[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "crest").partition(".")[0] == "crest":
            raise
        raise ImportError(missing_extra(f"crest.lab.systems.{name}", error.name, "lab")) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "OUTSIDE",
    "RECORDED",
    "REGIMES",
    "SIMULATORS",
    "SYSTEMS",
    "CwruSystem",
    "Errors",
    "GearSystem",
    "ImpactSystem",
    "Sizes",
    "global_features",
    "make_system",
    "read_by_ridge",
    "regime",
]
