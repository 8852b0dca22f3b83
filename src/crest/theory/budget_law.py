"""Theorem 1, the budget law: the risk of the best selector of K steps is U-shaped with its minimum at K = L.

It speaks of the event channel alone. Arguments are numbers or arrays and broadcast.
"""

import numpy as np

from crest._base.arguments import require
from crest._base.doors import door
from crest._base.floats import Floats, Numbers, Values
from crest.theory.anchoring import anchored_snr
from crest.theory.reach import as_noise, as_steps
from crest.theory.two_channel import fit_reader, reader_risk


@door
def best_precision(K: Numbers, L: Numbers) -> Values:
    """Precision of the best selector of K steps when L are events, pi(K) = min(1, L / K).

    Example:
        >>> print(best_precision([5, 10, 20], 10))
        [1.  1.  0.5]
    """
    K = as_steps("K", K)
    L = as_steps("L", L)
    return np.minimum(1.0, L / K)


@door
def budget_risk(K: Numbers, L: Numbers, s0: Numbers) -> Values:
    """Risk of the best selector of K steps, R(K) = s0^2 / (pi(K)^2 K + s0^2) (Theorem 1).

    Up to K = L it is s0^2 / (K + s0^2) and falls; beyond, s0^2 K / (L^2 + s0^2 K) and rises. At K = T the
    signal-to-noise ratio is epsilon^2 T / s0^2, that of the event channel under global averaging.

    Example:
        >>> print(budget_risk([5, 10, 20], 10, 1.0).round(3))
        [0.167 0.091 0.167]
    """
    return 1 / (1 + anchored_snr(best_precision(K, L), K, s0))


@door
def best_budget(L: Numbers) -> Values:
    """Budget K at which `budget_risk` is smallest: the event support L itself (Theorem 1).

    Example:
        >>> print(best_budget(10))
        10.0
    """
    # `+ 0.0` gives a scalar for a scalar, as the other laws do
    return as_steps("L", L) + 0.0


@door
def simulated_budget_risk(K: int, L: int, s0: float, n: int, generator: np.random.Generator) -> float:
    """Risk of the ideal selector by experiment: a reader fitted to n means of K steps, on n fresh ones.

    A mean over K steps, min(K, L) of them events, is drawn from its exact law pi(K) y + s0 xi / sqrt(K).

    Example:
        >>> round(simulated_budget_risk(10, 10, 1.0, 20_000, np.random.default_rng(0)), 2)
        0.09
    """
    require("n", n, "be a whole number, 1 or more")
    precision = best_precision(K, L)
    spread = as_noise("s0", s0) / np.sqrt(K)

    def draw() -> tuple[Floats, Floats]:
        y = generator.standard_normal(n)
        return (precision * y + spread * generator.standard_normal(n))[:, None], y

    return reader_risk(fit_reader(*draw()), *draw())
