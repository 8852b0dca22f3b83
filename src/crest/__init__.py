"""See which time steps a pooled model reads, and re-anchor it on the events.

    readout = crest.CrestReadout()                     # nn.Module: (B, T, D) -> (B, D), no parameters
    pooled = readout(features, mask=padding_mask)
    votes = readout.votes(features)                    # (B, T): where the event is, for free
    print(crest.credit(features, pooled, events))      # CiE@1, ECM, Prec@|E|, chance

    crest.replace_pooling(model, "path.to.pool", crest.CrestReadout())

The core needs torch and numpy only. `CreditInEvent` (torchmetrics) and `CrestPooler` (scikit-learn) load on
first use.
"""

import importlib
from typing import TYPE_CHECKING

from crest import theory
from crest.probes import (
    Credit,
    DeletionCurve,
    credit,
    deletion,
    error_without,
    interpolate_out,
    saliency,
)
from crest.readouts import (
    READOUTS,
    REFERENCES,
    AttentionReadout,
    ConjunctiveReadout,
    CrestConfig,
    CrestReadout,
    EventReadout,
    EventWindowReadout,
    GatedAttentionReadout,
    LastReadout,
    MaxReadout,
    MeanReadout,
    Readout,
    RegistersReadout,
    ScoredAttentionReadout,
    WindowedReadout,
    make_readout,
)
from crest.replacement import replace_pooling

if TYPE_CHECKING:
    from crest.estimator import CrestPooler as CrestPooler
    from crest.probes.metrics import CreditInEvent as CreditInEvent

__version__ = "0.1.0"

# Their packages are optional, so they load on first use.
_ON_FIRST_USE = {
    "CreditInEvent": "crest.probes.metrics",
    "CrestPooler": "crest.estimator",
    "systems": "crest.systems",
}


def __getattr__(name: str) -> object:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module 'crest' has no attribute {name!r}")
    module = importlib.import_module(_ON_FIRST_USE[name])
    return module if name == "systems" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_ON_FIRST_USE, "__version__"])


# Without the names of `_ON_FIRST_USE`: a star import must work where their packages are not installed.
__all__ = [
    "READOUTS",
    "REFERENCES",
    "AttentionReadout",
    "ConjunctiveReadout",
    "Credit",
    "CrestConfig",
    "CrestReadout",
    "DeletionCurve",
    "EventReadout",
    "EventWindowReadout",
    "GatedAttentionReadout",
    "LastReadout",
    "MaxReadout",
    "MeanReadout",
    "Readout",
    "RegistersReadout",
    "ScoredAttentionReadout",
    "WindowedReadout",
    "credit",
    "deletion",
    "error_without",
    "interpolate_out",
    "make_readout",
    "replace_pooling",
    "saliency",
    "theory",
]
