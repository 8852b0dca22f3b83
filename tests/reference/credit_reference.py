"""The credit probe written out slowly from the paper ("Problem Setup and Credit Probe"), as an oracle.

F is one trajectory's features (T, D), p its pooled vector (D,), steps its valid positions, E those of its
event positions that are valid. Values at padded steps are never read.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DELTA = 1e-12


@dataclass(frozen=True)
class CreditReference:
    """Credit per trajectory (NaN without event step) and its mean over the trajectories with events."""

    scores: Floats
    positive: Floats
    ecm: Floats
    precision: Floats
    cie: Floats
    chance: Floats
    mean_ecm: float
    mean_precision: float
    mean_cie: float
    mean_chance: float
    counted: int
    total: int


def step_score(F_t: Floats, p: Floats) -> float:
    """s_t = <F_t, p> / (|F_t| |p|), 0 if either vector is zero."""
    a, b = [float(x) for x in F_t], [float(x) for x in p]
    norm_a, norm_b = math.hypot(*a), math.hypot(*b)
    if norm_a == 0 or norm_b == 0:
        return 0.0
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / (norm_a * norm_b)


def positive_part(s_t: float) -> float:
    """c_t = max(s_t, 0)."""
    return max(s_t, 0.0)


def event_credit_mass(c: Floats, steps: list[int], E: list[int]) -> float:
    """ECM = sum over E of c_t / (sum over all steps of c_t + delta)."""
    return math.fsum(float(c[t]) for t in E) / (math.fsum(float(c[t]) for t in steps) + DELTA)


def expected_hits(s: Floats, steps: list[int], E: list[int], k: int) -> Fraction:
    """Expected |Top_k(s) in E| when ties at the k-th largest score are broken uniformly at random."""
    threshold = sorted((float(s[t]) for t in steps), reverse=True)[k - 1]
    above = [t for t in steps if s[t] > threshold]
    tied = [t for t in steps if s[t] == threshold]
    sure = sum(t in E for t in above)
    return sure + Fraction((k - len(above)) * sum(t in E for t in tied), len(tied))


def precision_at_events(s: Floats, steps: list[int], E: list[int]) -> float:
    """Prec@|E| = |Top_|E|(s) in E| / |E|."""
    return float(expected_hits(s, steps, E, len(E)) / len(E))


def credit_in_event_at_1(s: Floats, steps: list[int], E: list[int]) -> float:
    """CiE@1 of one trajectory: the probability that argmax_t s_t is in E."""
    return float(expected_hits(s, steps, E, 1))


def chance_level(steps: list[int], E: list[int]) -> float:
    """The event fraction |E| / T_v."""
    return len(E) / len(steps)


def mean_over(values: Floats, which: list[int]) -> float:
    """Mean over the given trajectories, NaN if there are none."""
    return math.fsum(float(values[i]) for i in which) / len(which) if which else math.nan


def credit(
    features: NDArray[np.floating], pooled: NDArray[np.floating], events: Bools, mask: Bools | None = None
) -> CreditReference:
    """The credit probe on features (B, T, D), pooled (B, D), events (B, T); scores are 0 at padded steps."""
    F, p = np.asarray(features, dtype=np.float64), np.asarray(pooled, dtype=np.float64)
    B, T, _ = F.shape
    m = np.ones((B, T), dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    scores, positive = np.zeros((B, T)), np.zeros((B, T))
    ecm, precision, cie, chance = (np.full(B, math.nan) for _ in range(4))
    counted = []
    for i in range(B):
        steps = [t for t in range(T) if m[i, t]]
        E = [t for t in steps if events[i, t]]
        for t in steps:
            scores[i, t] = step_score(F[i, t], p[i])
            positive[i, t] = positive_part(float(scores[i, t]))
        if not E:
            continue
        counted.append(i)
        ecm[i] = event_credit_mass(positive[i], steps, E)
        precision[i] = precision_at_events(scores[i], steps, E)
        cie[i] = credit_in_event_at_1(scores[i], steps, E)
        chance[i] = chance_level(steps, E)
    return CreditReference(
        scores=scores,
        positive=positive,
        ecm=ecm,
        precision=precision,
        cie=cie,
        chance=chance,
        mean_ecm=mean_over(ecm, counted),
        mean_precision=mean_over(precision, counted),
        mean_cie=mean_over(cie, counted),
        mean_chance=mean_over(chance, counted),
        counted=len(counted),
        total=B,
    )
