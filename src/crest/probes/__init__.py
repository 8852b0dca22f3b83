"""Probes of where a model reads: they take tensors or a plain callable, so they serve any network.

`crest.probes.metrics.CreditInEvent` needs torchmetrics and is therefore not imported here.
"""

from crest.probes.credit import (
    chance_level,
    credit,
    credit_in_event_at_1,
    event_credit_mass,
    positive_credit,
    precision_at_event_rate,
    step_scores,
)
from crest.probes.deletion import DeletionCurve, deletion, error_without, interpolate_out, rmse
from crest.probes.result import Credit
from crest.probes.saliency import saliency

__all__ = [
    "Credit",
    "DeletionCurve",
    "chance_level",
    "credit",
    "credit_in_event_at_1",
    "deletion",
    "error_without",
    "event_credit_mass",
    "interpolate_out",
    "positive_credit",
    "precision_at_event_rate",
    "rmse",
    "saliency",
    "step_scores",
]
