"""Remedies beside the readout: small pieces for your own training loop, and the registry of them all, `REMEDIES`.

Take the background off the inputs (`HighPass`), make it useless in training (`exchange_background`, `JitterLevel`), or put
CREST on a trained encoder and fit the head again (`reanchor`). None of them sees an OOD label. None wins everywhere.
"""

from crest.remedies.augmentation import Augmentation, Collation
from crest.remedies.exchange import ExchangeBackground, exchange_background
from crest.remedies.front import WithFront
from crest.remedies.high_pass import HighPass
from crest.remedies.jitter import JitterLevel
from crest.remedies.reanchored import Reanchored, TriedBudget
from crest.remedies.reanchoring import reanchor
from crest.remedies.registry import CONTROL, REMEDIES, USUAL_REMEDIES
from crest.remedies.remedy import Remedy

__all__ = [
    "CONTROL",
    "REMEDIES",
    "USUAL_REMEDIES",
    "Augmentation",
    "Collation",
    "ExchangeBackground",
    "HighPass",
    "JitterLevel",
    "Reanchored",
    "Remedy",
    "TriedBudget",
    "WithFront",
    "exchange_background",
    "reanchor",
]
