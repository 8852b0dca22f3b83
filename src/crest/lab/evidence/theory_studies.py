"""The studies behind the theory piece: closed forms beside simulated readers and selectors."""

from typing import Any

import numpy as np

from crest._base import rng
from crest.lab.runs.study import Study
from crest.theory import (
    TwoChannel,
    budget_risk,
    credit_share,
    credit_share_order,
    fit_reader,
    reader_risk,
    risk_id,
    risk_ood,
    sensitivity_ratio,
    simulated_budget_risk,
)

# Steps, noise scales and cue: S_B near 4, where both sides of the failure show.
MODEL = {"T": 1000, "s0": 1.0, "s1": 8.0, "gamma": 0.5}
LAW = {"L": 20, "s0": 2.0}


def dilution(
    *, T: int, s0: float, s1: float, gamma: float, counts: list[int], n: int
) -> dict[str, list[float]]:
    """Risks, credit share and its order over epsilon: closed form, and simulated readers."""
    generator = rng.generator(0, "evidence/dilution")
    found: dict[str, list[float]] = {}

    def note(**values: Any) -> None:
        for name, value in values.items():
            found.setdefault(name, []).append(float(value))

    for count in counts:
        epsilon = count / T
        law: dict[str, Any] = {"epsilon": epsilon, "T": T, "s0": s0, "s1": s1, "gamma": gamma}
        model = TwoChannel(**law)
        means, y = model.sample_means(n, generator)
        weights = fit_reader(means, y)
        # Credit of a channel: how much of the prediction's covariance with the label it brings.
        parts = [float(np.mean(weights[k] * means[:, k] * y)) for k in (0, 1)]
        note(
            epsilon=epsilon,
            risk_id=risk_id(**law),
            risk_ood=risk_ood(**law),
            simulated_id=reader_risk(weights, *model.sample_means(n, generator)),
            simulated_ood=reader_risk(weights, *model.sample_means(n, generator, g=0.0)),
            share=credit_share(**law),
            simulated_share=parts[0] / sum(parts),
            order=credit_share_order(**law),
            sensitivity=sensitivity_ratio(epsilon=epsilon, s0=s0, s1=s1, gamma=gamma),
            simulated_sensitivity=weights[0] / weights[1],
        )
    return found


def budget_law(*, L: int, s0: float, budgets: list[int], n: int) -> dict[str, list[float]]:
    """Theorem 1's risk over the budget: closed form, and simulated ideal selectors."""
    generator = rng.generator(0, "evidence/budget_law")
    return {
        "budget": [float(budget) for budget in budgets],
        "risk": [float(budget_risk(budget, L, s0)) for budget in budgets],
        "simulated": [float(simulated_budget_risk(budget, L, s0, n, generator)) for budget in budgets],
    }


DILUTION_STUDY = Study(
    name="dilution",
    compute=dilution,
    parameters={**MODEL, "counts": [1, 2, 4, 9, 18, 37, 75, 150, 300], "n": 400_000},
)
LAW_STUDY = Study(
    name="budget_law",
    compute=budget_law,
    parameters={**LAW, "budgets": [1, 2, 5, 10, 15, 20, 27, 40, 80, 160, 400], "n": 200_000},
)
