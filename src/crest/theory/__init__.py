"""The paper's solvable model and its laws, in closed form and by experiment. Needs NumPy only."""

from crest.theory.anchoring import (
    anchored_risk_ood,
    anchored_snr,
    anchored_snr_blend,
    best_anchor_weight,
    contrast_snr_blend,
)
from crest.theory.budget_law import best_budget, best_precision, budget_risk, simulated_budget_risk
from crest.theory.dilution import (
    ReaderWeights,
    background_snr,
    credit_share,
    credit_share_order,
    event_snr,
    reader_weights,
    risk_id,
    risk_id_limit,
    risk_ood,
    risk_ood_from_snr,
    risk_ood_limit,
    sensitivity_ratio,
)
from crest.theory.two_channel import (
    PooledMeans,
    Risks,
    TwoChannel,
    TwoChannelSample,
    fit_reader,
    reader_risk,
    simulated_risks,
)

__all__ = [
    "PooledMeans",
    "ReaderWeights",
    "Risks",
    "TwoChannel",
    "TwoChannelSample",
    "anchored_risk_ood",
    "anchored_snr",
    "anchored_snr_blend",
    "background_snr",
    "best_anchor_weight",
    "best_budget",
    "best_precision",
    "budget_risk",
    "contrast_snr_blend",
    "credit_share",
    "credit_share_order",
    "event_snr",
    "fit_reader",
    "reader_risk",
    "reader_weights",
    "risk_id",
    "risk_id_limit",
    "risk_ood",
    "risk_ood_from_snr",
    "risk_ood_limit",
    "sensitivity_ratio",
    "simulated_budget_risk",
    "simulated_risks",
]
