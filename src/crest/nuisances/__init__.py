"""Nuisances: named things that an operating condition changes, and that a prediction may have to be free of."""

from crest.nuisances.changes import exchange, remove
from crest.nuisances.scale import stretched
from crest.nuisances.separated import NAMES, SeparatedSignals, nuisances_of
from crest.nuisances.units import sigma_of

__all__ = ["NAMES", "SeparatedSignals", "exchange", "nuisances_of", "remove", "sigma_of", "stretched"]
