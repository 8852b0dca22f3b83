"""See which time steps a pooled model reads, and re-anchor it on the events.

    readout = crest.CrestReadout()                     # nn.Module: (B, T, D) -> (B, D), no parameters
    pooled = readout(features, mask=padding_mask)
    votes = readout.votes(features)                    # (B, T): where the event is, for free
    print(crest.credit(features, pooled, events))      # CiE@1, ECM, Prec@|E|, chance

    crest.replace_pooling(model, "path.to.pool", crest.CrestReadout())
    print(crest.repair(model, train_batches, fit=fit)) # remedies on copies of a trained model, measured and chosen

The core needs torch and numpy only; `CreditInEvent` needs torchmetrics, `CrestPooler` scikit-learn,
`LightningWatch` lightning, and `crest.systems` and `Repaired.save` the lab extra. Everything loads on first use.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crest import background as background
    from crest import ops as ops
    from crest import probes, theory
    from crest import readouts as readouts
    from crest import remedies as remedies
    from crest import repairing as repairing
    from crest import systems as systems
    from crest.auditing import Audit, audit
    from crest.candidates import Candidate, Choice
    from crest.choice import choose
    from crest.conditions import leave_one_condition_out
    from crest.estimator import CrestPooler as CrestPooler
    from crest.probes import (
        Credit,
        DeletionCurve,
        Exchange,
        credit,
        deletion,
        error_without,
        events_at,
        exchange_test,
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
    from crest.remedies import (
        ExchangeBackground,
        HighPass,
        JitterLevel,
        Reanchored,
        exchange_background,
        reanchor,
    )
    from crest.repairing import Repaired, repair
    from crest.replacement import replace_pooling
    from crest.streaming import StreamingCrest
    from crest.watching import Watch
    from crest.watching.callback import LightningWatch as LightningWatch

__version__ = "0.1.0"

_PROBES = (
    "Credit",
    "DeletionCurve",
    "Exchange",
    "credit",
    "deletion",
    "error_without",
    "events_at",
    "exchange_test",
    "interpolate_out",
    "saliency",
    "scores_at",
)
_REMEDIES = (
    "ExchangeBackground",
    "HighPass",
    "JitterLevel",
    "Reanchored",
    "exchange_background",
    "reanchor",
)
_MODULES = ("background", "ops", "probes", "readouts", "remedies", "repairing", "systems", "theory")
# Every name loads on first use: torch takes seconds, and `crest --help` does not need it.
_ELSEWHERE = {
    "Audit": "crest.auditing",
    "Candidate": "crest.candidates",
    "Choice": "crest.candidates",
    "CreditInEvent": "crest.probes.metrics",
    "CrestPooler": "crest.estimator",
    "LightningWatch": "crest.watching.callback",
    "StreamingCrest": "crest.streaming",
    "Watch": "crest.watching",
    "audit": "crest.auditing",
    "Repaired": "crest.repairing",
    "choose": "crest.choice",
    "leave_one_condition_out": "crest.conditions",
    "repair": "crest.repairing",
    "replace_pooling": "crest.replacement",
    **dict.fromkeys(_PROBES, "crest.probes"),
    **dict.fromkeys(_REMEDIES, "crest.remedies"),
}


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


# Without `CreditInEvent`, `CrestPooler`, `LightningWatch` and `systems`: a star import must work where their packages are missing.
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
    "DeletionCurve",
    "EventReadout",
    "EventWindowReadout",
    "Exchange",
    "ExchangeBackground",
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
    "StreamingCrest",
    "Watch",
    "WindowedReadout",
    "audit",
    "choose",
    "credit",
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
