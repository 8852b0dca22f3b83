"""See which time steps a pooled model reads, and re-anchor it on the events.

    readout = crest.CrestReadout()                     # nn.Module: (B, T, D) -> (B, D), no parameters
    pooled = readout(features, mask=padding_mask)
    votes = readout.votes(features)                    # (B, T): where the event is, for free
    print(crest.credit(features, pooled, events))      # CiE@1, ECM, Prec@|E|, chance

    crest.replace_pooling(model, "path.to.pool", crest.CrestReadout())
    print(crest.repair(model, train_batches, fit=fit)) # remedies on copies of a trained model, measured and chosen

The core needs torch and numpy only; `CreditInEvent` needs torchmetrics, `CrestClassifier`,
`CrestRegressor` and `CrestPooler` scikit-learn, `LightningWatch` lightning, and `crest.lab` and `Repaired.save` the lab extra. Everything loads on first use.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crest import background as background
    from crest import examples as examples
    from crest import exchange as exchange
    from crest import nuisances as nuisances
    from crest import probes, theory
    from crest import readouts as readouts
    from crest import recordings as recordings
    from crest import remedies as remedies
    from crest import strangers as strangers
    from crest._audit import Audit, Watch, audit
    from crest._audit.callback import LightningWatch as LightningWatch
    from crest._cues import Cues, cues
    from crest._repair import Repaired, repair
    from crest.estimators import CrestClassifier as CrestClassifier
    from crest.estimators import CrestRegressor as CrestRegressor
    from crest.exchange import (
        Candidate,
        Choice,
        Exchange,
        ExchangeSettings,
        choose,
        exchange_test,
        leave_one_condition_out,
    )
    from crest.probes import (
        Credit,
        DeletionCurve,
        credit,
        deletion,
        error_without,
        events_at,
        interpolate_out,
        saliency,
        scores_at,
    )
    from crest.probes.metrics import CreditInEvent as CreditInEvent
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
        signal_budget,
    )
    from crest.readouts.estimator import CrestPooler as CrestPooler
    from crest.readouts.streaming import StreamingCrest
    from crest.remedies import (
        Envelope,
        ExchangeBackground,
        ExchangeNuisances,
        HighPass,
        JitterLevel,
        Reanchored,
        Standardise,
        Stretch,
        Whiten,
        exchange_background,
        reanchor,
    )
    from crest.strangers import replace_pooling

__version__ = "0.1.0"

_MODULES = (
    "background",
    "examples",
    "exchange",
    "nuisances",
    "probes",
    "readouts",
    "recordings",
    "remedies",
    "strangers",
    "theory",
)
_NAMES_OF = {
    "_audit": ("Audit", "Watch", "audit"),
    "_audit.callback": ("LightningWatch",),
    "_cues": ("Cues", "cues"),
    "_repair": ("Repaired", "repair"),
    "estimators": ("CrestClassifier", "CrestRegressor"),
    "exchange": ("Candidate", "Choice", "Exchange", "ExchangeSettings", "choose", "exchange_test", "leave_one_condition_out"),
    "probes": (
        "Credit", "DeletionCurve", "credit", "deletion", "error_without", "events_at", "interpolate_out", "saliency",
        "scores_at",
    ),
    "probes.metrics": ("CreditInEvent",),
    "readouts.estimator": ("CrestPooler",),
    "readouts.streaming": ("StreamingCrest",),
    "remedies": (
        "Envelope", "ExchangeBackground", "ExchangeNuisances", "HighPass", "JitterLevel", "Reanchored", "Standardise", "Stretch",
        "Whiten", "exchange_background", "reanchor",
    ),
    "strangers": ("replace_pooling",),
}  # fmt: skip
# Every name loads on first use: torch takes seconds, and `crest --help` does not need it.
_ELSEWHERE = {name: f"crest.{home}" for home, names in _NAMES_OF.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"crest.{name}")
    if name not in __all__ and name not in _ELSEWHERE:
        raise AttributeError(f"module 'crest' has no attribute {name!r}")
    value = getattr(importlib.import_module(_ELSEWHERE.get(name, "crest.readouts")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_ELSEWHERE, *_MODULES, "__version__"})


# Without `CreditInEvent`, `LightningWatch` and what needs scikit-learn: a star import must work where their packages are missing.
__all__ = [
    "READOUTS",
    "REFERENCES",
    "AttentionReadout",
    "Audit",
    "Candidate",
    "Choice",
    "ConjunctiveReadout",
    "Credit",
    "CrestConfig",
    "CrestReadout",
    "Cues",
    "DeletionCurve",
    "Envelope",
    "EventReadout",
    "EventWindowReadout",
    "Exchange",
    "ExchangeBackground",
    "ExchangeNuisances",
    "ExchangeSettings",
    "GatedAttentionReadout",
    "HighPass",
    "JitterLevel",
    "LastReadout",
    "MaxReadout",
    "MeanReadout",
    "Readout",
    "Reanchored",
    "RegistersReadout",
    "Repaired",
    "ScoredAttentionReadout",
    "Standardise",
    "StreamingCrest",
    "Stretch",
    "Watch",
    "Whiten",
    "WindowedReadout",
    "audit",
    "choose",
    "credit",
    "cues",
    "deletion",
    "error_without",
    "events_at",
    "exchange_background",
    "exchange_test",
    "interpolate_out",
    "leave_one_condition_out",
    "make_readout",
    "probes",
    "reanchor",
    "repair",
    "replace_pooling",
    "saliency",
    "scores_at",
    "signal_budget",
    "theory",
]
