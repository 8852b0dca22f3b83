"""Remedies beside the readout: small pieces for anybody's training loop.

Take the background off the inputs (`HighPass`), make it useless in training (`exchange_background`, `JitterLevel`), or put
CREST on a trained encoder and fit the head again (`reanchor`). None of them sees an OOD label. None wins everywhere.
"""

from crest.remedies.augmentation import Augmentation, Collation
from crest.remedies.exchange import ExchangeBackground, exchange_background
from crest.remedies.high_pass import HighPass
from crest.remedies.jitter import JitterLevel
from crest.remedies.reanchored import Reanchored, TriedBudget
from crest.remedies.reanchoring import reanchor

__all__ = [
    "Augmentation",
    "Collation",
    "ExchangeBackground",
    "HighPass",
    "JitterLevel",
    "Reanchored",
    "TriedBudget",
    "exchange_background",
    "reanchor",
]
