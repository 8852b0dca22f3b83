"""Probes of where a model reads: they take tensors or a plain callable, so they serve any network.

`crest.probes.metrics.CreditInEvent` needs torchmetrics and is therefore not imported here.
"""

from crest.background import interpolate_out
from crest.probes.batches import batches_of, evaluating, in_batches
from crest.probes.credit import (
    chance_level,
    credit,
    credit_in_event_at_1,
    credit_of_scores,
    event_credit_mass,
    positive_credit,
    precision_at_event_rate,
    step_scores,
)
from crest.probes.deletion import DeletionCurve, deletion, deletion_by, error_without
from crest.probes.errors import error_rate, label_error_rate, macro_f1, rmse, rmse_or_error_rate
from crest.probes.rates import events_at, scores_at
from crest.probes.result import Credit, CreditMeans
from crest.probes.saliency import saliency
from crest.probes.traces import Trace, Traces, step_traces

__all__ = [
    "Credit",
    "CreditMeans",
    "DeletionCurve",
    "Trace",
    "Traces",
    "batches_of",
    "chance_level",
    "credit",
    "credit_in_event_at_1",
    "credit_of_scores",
    "deletion",
    "deletion_by",
    "error_rate",
    "error_without",
    "evaluating",
    "event_credit_mass",
    "events_at",
    "in_batches",
    "interpolate_out",
    "label_error_rate",
    "macro_f1",
    "positive_credit",
    "precision_at_event_rate",
    "rmse",
    "rmse_or_error_rate",
    "saliency",
    "scores_at",
    "step_scores",
    "step_traces",
]
