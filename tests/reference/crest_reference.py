"""CREST written out slowly from the paper (section "CREST", Algorithm 1), as an oracle for the fast code.

One function per equation, plain loops, float64. F is one trajectory's features (T, D), m its mask (T,),
True at valid steps. Values at padded steps are never read. Sums are `math.fsum`: correctly rounded, so
they depend on no order of summation.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

DELTA = 1e-12
FLAT = 1e-6
WHOLE = 1e-5
TIE = 1e-5
FLOOR = 1e-5


@dataclass(frozen=True)
class CrestReference:
    """What CREST returns; with sample splitting the last four are (B, 2), even half first."""

    pooled: Floats
    selected: Bools
    votes: Ints
    width: Floats
    tail: Floats
    epsilon: Floats
    alpha: Floats


def clip(value: float, low: float, high: float) -> float:
    """clip(value, low, high)."""
    return min(max(value, low), high)


def valid_steps(m: Bools) -> list[int]:
    """Positions of the valid steps."""
    return [t for t in range(len(m)) if m[t]]


def gaussian(lag: int, sigma: float) -> float:
    """G(lag), unnormalised and untruncated: its frequency response is exp(-2 pi^2 sigma^2 f^2)."""
    return math.exp(-(lag**2) / (2 * sigma**2))


def low_pass(F: Floats, m: Bools, sigma: float) -> Floats:
    """LP_sigma(F_.j)_t = sum_u G(t-u) m_u F_uj / sum_u G(t-u) m_u at valid t, 0 at padded t.

    Written as F_t + sum_u G (F_u - F_t) / sum_u G, the same number, so that a constant passes unrounded.
    """
    T, D = F.shape
    steps = valid_steps(m)
    G = [gaussian(lag, sigma) for lag in range(T)]
    out = np.zeros((T, D))
    for t in steps:
        weight = math.fsum(G[abs(t - u)] for u in steps)
        for j in range(D):
            here = float(F[t, j])
            out[t, j] = here + math.fsum(G[abs(t - u)] * (float(F[u, j]) - here) for u in steps) / weight
    return out


def channel_residual(F: Floats, m: Bools, sigma: float) -> Floats:
    """r_tj = |F_tj - LP(F_.j)_t| / (sum_u |F_uj - LP(F_.j)_u| + delta), 0 at padded t.

    Distances below 1e-5 of the channel's reach, max |F_tj - F_0j|, are 0; delta is in units of that reach.
    """
    T, D = F.shape
    steps = valid_steps(m)
    smooth = low_pass(F, m, sigma)
    out = np.zeros((T, D))
    for j in range(D):
        reach = max((abs(float(F[t, j] - F[steps[0], j])) for t in steps), default=0.0)
        if reach == 0:
            continue
        distance = {t: abs(float(F[t, j] - smooth[t, j])) / reach for t in steps}
        distance = {t: value if value > FLOOR else 0.0 for t, value in distance.items()}
        total = math.fsum(distance.values())
        for t in steps:
            out[t, j] = distance[t] / (total + DELTA)
    return out


def averaged_profile(r: Floats, m: Bools, channels: list[int]) -> Floats:
    """r_t = mean of r_tj over the given channels, 0 at padded t."""
    out = np.zeros(len(r))
    for t in valid_steps(m):
        out[t] = math.fsum(float(r[t, j]) for j in channels) / len(channels)
    return out


def is_flat(profile: Floats, m: Bools) -> bool:
    """Whether max - min <= 1e-6 max over valid steps."""
    values = [float(profile[t]) for t in valid_steps(m)]
    return max(values) - min(values) <= FLAT * max(values)


def normalized_profile(profile: Floats, m: Bools) -> list[float]:
    """S_t in [0, 1]: min-max of r_t over valid steps, at valid steps only (the profile is not flat)."""
    values = [float(profile[t]) for t in valid_steps(m)]
    low, high = min(values), max(values)
    return [(value - low) / (high - low) for value in values]


def participation_width(S: list[float]) -> float:
    """b = (1 / T_v) / sum_t P_t^2 with P_t = S_t / (sum_u S_u + delta)."""
    total = math.fsum(S)
    P = [s / (total + DELTA) for s in S]
    return 1 / (len(S) * math.fsum(p**2 for p in P))


def between_class_variance(S: list[float], k: int) -> float:
    """w0 w1 (mu0 - mu1)^2 when the k largest values of S are the upper class."""
    ordered = sorted(S, reverse=True)
    upper, lower = ordered[:k], ordered[k:]
    mean_upper = math.fsum(upper) / len(upper)
    mean_lower = math.fsum(lower) / len(lower)
    return len(upper) * len(lower) / len(S) ** 2 * (mean_upper - mean_lower) ** 2


def otsu_tail(S: list[float]) -> float:
    """k / T_v for the upper class size k of largest between-class variance, the smallest such k."""
    best_k, best = 1, -math.inf
    for k in range(1, len(S)):
        variance = between_class_variance(S, k)
        if variance > best:
            best_k, best = k, variance
    return best_k / len(S)


def width_and_tail(profile: Floats, m: Bools) -> tuple[float, float]:
    """(b, tail) of an averaged profile: (1, 1) if flat, NaN without valid step."""
    if not valid_steps(m):
        return math.nan, math.nan
    if is_flat(profile, m):
        return 1.0, 1.0
    S = normalized_profile(profile, m)
    return participation_width(S), otsu_tail(S)


def epsilon_core(b: float, eps_min: float, eps_max: float) -> float:
    """eps_core = clip(0.55 b - 0.17, eps_min, eps_max)."""
    return clip(0.55 * b - 0.17, eps_min, eps_max)


def gate(b: float) -> float:
    """g_b = clip((b - 0.45) / 0.10, 0, 1)."""
    return clip((b - 0.45) / 0.10, 0.0, 1.0)


def epsilon_hat(b: float, tail: float, eps_min: float, eps_max: float) -> float:
    """eps = (1 - g_b) eps_core + g_b eps_tail, eps_tail = clip(tail, eps_min, eps_max)."""
    eps_tail = clip(tail, eps_min, eps_max)
    return (1 - gate(b)) * epsilon_core(b, eps_min, eps_max) + gate(b) * eps_tail


def contrast_weight(epsilon: float) -> float:
    """alpha = clip(1.025 - 2.625 eps, 0.50, 1.00)."""
    return clip(1.025 - 2.625 * epsilon, 0.50, 1.00)


def budget_count(epsilon: float, T_v: int, d: int) -> int:
    """K' = ceil(eps T_v / (2d + 1)), between 1 and T_v; within 1e-9 of a whole number, that number."""
    exact = epsilon * T_v / (2 * d + 1)
    whole = round(exact)
    count = whole if abs(exact - whole) <= WHOLE * max(1, whole) else math.ceil(exact)
    return min(max(count, 1), T_v)


def top_steps(values: Floats, m: Bools, count: int, direction: str) -> list[int]:
    """Valid steps of the `count` largest values (smallest if "stable"), all ties with the last included.

    No more of the largest than there are above zero; a tie is a difference below 1e-5 of the largest.
    """
    steps = valid_steps(m)
    tie = TIE * max(abs(float(values[t])) for t in steps)
    if direction == "transient":
        count = max(1, min(count, sum(values[t] > 0 for t in steps)))
        threshold = sorted((float(values[t]) for t in steps), reverse=True)[count - 1]
        return [t for t in steps if values[t] >= threshold - tie]
    threshold = sorted(float(values[t]) for t in steps)[count - 1]
    return [t for t in steps if values[t] <= threshold + tie]


def dilate(chosen: list[int], m: Bools, d: int) -> Bools:
    """Steps within d positions of a chosen one, padded steps dropped."""
    out = np.zeros(len(m), dtype=bool)
    for t in range(len(m)):
        out[t] = bool(m[t]) and any(abs(t - u) <= d for u in chosen)
    return out


def step_mask(values: Floats, m: Bools, epsilon: float, d: int, direction: str) -> Bools:
    """M_t: the top K' entries of `values`, dilated by radius d."""
    if not valid_steps(m):
        return np.zeros(len(m), dtype=bool)
    count = budget_count(epsilon, len(valid_steps(m)), d)
    return dilate(top_steps(values, m, count, direction), m, d)


def masked_mean(F_j: Floats, steps: list[int]) -> float:
    """Mean of one channel over the given steps."""
    return math.fsum(float(F_j[t]) for t in steps) / len(steps)


def anchored_mean(F_j: Floats, M_j: Bools, m: Bools, alpha: float) -> float:
    """p_j = alpha (F_sel - F_rest) + (1 - alpha) F_global; F_rest = F_global if every step is selected."""
    steps = valid_steps(m)
    if not steps:
        return 0.0
    rest = [t for t in steps if not M_j[t]]
    F_global = masked_mean(F_j, steps)
    F_sel = masked_mean(F_j, [t for t in steps if M_j[t]])
    F_rest = masked_mean(F_j, rest) if rest else F_global
    return alpha * (F_sel - F_rest) + (1 - alpha) * F_global


def vote_count(M: Bools) -> Ints:
    """votes_t = number of channels j with M_tj."""
    T, D = M.shape
    return np.array([sum(bool(M[t, j]) for j in range(D)) for t in range(T)], dtype=np.int64)


def budget_of(
    budget: str | float, width: Floats, tail: Floats, eps_min: float, eps_max: float
) -> tuple[Floats, Floats]:
    """(eps, alpha) for each profile of the batch; NaN where its trajectory has no valid step."""
    epsilon, alpha = np.full(width.shape, math.nan), np.full(width.shape, math.nan)
    known = [index for index in np.ndindex(*width.shape) if not math.isnan(width[index])]
    for index in known:
        if budget == "trajectory":
            eps = epsilon_hat(float(width[index]), float(tail[index]), eps_min, eps_max)
        elif budget == "pooled":
            mean_width = math.fsum(float(width[i]) for i in known) / len(known)
            mean_tail = math.fsum(float(tail[i]) for i in known) / len(known)
            eps = epsilon_hat(mean_width, mean_tail, eps_min, eps_max)
        else:
            eps = float(budget)
        epsilon[index], alpha[index] = eps, contrast_weight(eps)
    return epsilon, alpha


def crest(
    features: NDArray[np.floating],
    mask: Bools | None = None,
    budget: str | float = "trajectory",
    direction: str = "transient",
    split: bool = False,
    *,
    sigma: float = 6.0,
    dilation: int = 2,
    eps_min: float = 0.02,
    eps_max: float = 0.30,
) -> CrestReference:
    """Algorithm 1 on a batch (B, T, D)."""
    if direction not in ("transient", "stable"):
        raise ValueError(f"direction: {direction!r}")
    if isinstance(budget, str) and budget not in ("trajectory", "pooled"):
        raise ValueError(f"budget: {budget!r}")
    F = np.asarray(features, dtype=np.float64)
    B, T, D = F.shape
    if split and D < 2:
        raise ValueError("sample splitting needs two channels")
    m = np.ones((B, T), dtype=bool) if mask is None else np.asarray(mask, dtype=bool)

    # step 1: residuals and averaged profiles, one profile per trajectory or one per half of the channels
    groups = [list(range(0, D, 2)), list(range(1, D, 2))] if split else [list(range(D))]
    residuals = [channel_residual(F[i], m[i], sigma) for i in range(B)]
    profiles = [[averaged_profile(residuals[i], m[i], group) for group in groups] for i in range(B)]

    # step 2: budget and contrast weight
    width, tail = np.zeros((B, len(groups))), np.zeros((B, len(groups)))
    for i in range(B):
        for h in range(len(groups)):
            width[i, h], tail[i, h] = width_and_tail(profiles[i][h], m[i])
    epsilon, alpha = budget_of(budget, width, tail, eps_min, eps_max)

    # steps 3 to 6: masks and pooled vector
    selected = np.zeros((B, T, D), dtype=bool)
    pooled = np.zeros((B, D))
    for i in range(B):
        for j in range(D):
            source = 1 - j % 2 if split else 0  # the half that selects for channel j: the one it is not in
            values = profiles[i][source] if split else residuals[i][:, j]
            selected[i, :, j] = step_mask(values, m[i], float(epsilon[i, source]), dilation, direction)
            pooled[i, j] = anchored_mean(F[i, :, j], selected[i, :, j], m[i], float(alpha[i, source]))
    votes = np.array([vote_count(selected[i]) for i in range(B)], dtype=np.int64).reshape(B, T)

    if not split:
        width, tail, epsilon, alpha = width[:, 0], tail[:, 0], epsilon[:, 0], alpha[:, 0]
    return CrestReference(pooled, selected, votes, width, tail, epsilon, alpha)
