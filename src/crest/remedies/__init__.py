"""Remedies beside the readout: small pieces for your own training loop, and the registry of them all, `REMEDIES`.

Take the background off the inputs (`HighPass`), or what speed and load change (`Standardise`, `Whiten`, `Envelope`). Make either
useless in training (`exchange_background`, `JitterLevel`, `ExchangeNuisances`, `Stretch`). Untie target and condition
(`balanced_batches`). Or put CREST on a trained encoder and fit the head again (`reanchor`). `fitting_remedies` says which to try. None
of them sees an OOD label. None wins everywhere.
"""

from crest.remedies.augmentation import Augmentation, Collation
from crest.remedies.balanced import balanced_batches
from crest.remedies.chain import Chain
from crest.remedies.envelope import Envelope
from crest.remedies.exchange import ExchangeBackground, exchange_background
from crest.remedies.fitting import fitting_remedies
from crest.remedies.front import WithFront
from crest.remedies.high_pass import HighPass
from crest.remedies.jitter import JitterLevel
from crest.remedies.nuisance_exchange import ExchangeNuisances
from crest.remedies.reanchored import Reanchored, TriedBudget
from crest.remedies.reanchoring import reanchor
from crest.remedies.registry import CONTROL, REMEDIES, USUAL_REMEDIES
from crest.remedies.remedy import Remedy
from crest.remedies.standardise import Standardise
from crest.remedies.stretch import Stretch
from crest.remedies.whiten import Whiten

__all__ = [
    "CONTROL",
    "REMEDIES",
    "USUAL_REMEDIES",
    "Augmentation",
    "Chain",
    "Collation",
    "Envelope",
    "ExchangeBackground",
    "ExchangeNuisances",
    "HighPass",
    "JitterLevel",
    "Reanchored",
    "Remedy",
    "Standardise",
    "Stretch",
    "TriedBudget",
    "Whiten",
    "WithFront",
    "balanced_batches",
    "exchange_background",
    "fitting_remedies",
    "reanchor",
]
