"""Proposition 2: the event signal that an ideal selector recovers, and what the anchoring weight does to it.

An ideal selector returns K of T steps, independent of the noise, a share `precision` (pi) of which are
events. Its best linear reader has event risk 1 / (1 + ratio), so a larger ratio is a smaller risk.
Arguments are numbers or arrays and broadcast.
"""

import numpy as np

from crest._base.arguments import as_numbers
from crest._base.doors import door
from crest._base.floats import Floats, Numbers, Values
from crest.theory.dilution import risk_ood_from_snr
from crest.theory.reach import as_cue, as_noise, as_sparsity, as_steps


@door
def anchored_snr(precision: Numbers, K: Numbers, s0: Numbers) -> Values:
    """Event signal-to-noise ratio of the mean over the selected steps, pi^2 K / s0^2 (Proposition 2).

    Example:
        >>> print(anchored_snr(precision=0.5, K=16, s0=2.0))
        1.0
    """
    precision = as_numbers("precision", precision, "lie in [0, 1]")
    K = as_steps("K", K)
    s0 = as_noise("s0", s0)
    return precision**2 * K / s0**2


@door
def anchored_risk_ood(
    precision: Numbers,
    K: Numbers,
    *,
    s0: Numbers,
    s1: Numbers,
    gamma: Numbers,
) -> Values:
    """Out-of-distribution risk of the two-channel reader fitted to the means over the selected steps.

    Its background ratio is (1 - pi) gamma^2 K / s1^2, from the K (1 - pi) selected steps off the events.
    Proposition 2's "the out-of-distribution risk decreases in this quantity" holds with that ratio fixed, and
    at pi = 1, where the risk is 1 / (1 + K / s0^2). A larger pi at fixed K can raise it: the cue weakens
    towards S_B = 1, the most harmful value, while the event is still too faint to help.

    Example:
        >>> print(anchored_risk_ood(1.0, 4, s0=2.0, s1=1.0, gamma=1.0))
        0.5
    """
    event = anchored_snr(precision, K, s0)
    s1 = as_noise("s1", s1)
    gamma = as_cue(gamma)
    return risk_ood_from_snr(event, (1 - np.asarray(precision)) * gamma**2 * np.asarray(K) / s1**2)


def _selection(
    precision: Numbers, K: Numbers, T: Numbers, epsilon: Numbers, rest: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """The four arguments as arrays, if T steps with epsilon T events allow such a selection."""
    pi = as_numbers("precision", precision, "lie in [0, 1]")
    K = as_steps("K", K)
    T = as_steps("T", T)
    epsilon = as_sparsity(epsilon)
    if np.any(K >= T if rest else K > T):
        raise ValueError(f"K must be {'less than' if rest else 'at most'} T, got K = {K} and T = {T}")
    slack = 1e-9 * T
    if np.any(pi * K > epsilon * T + slack) or np.any((1 - pi) * K > (1 - epsilon) * T + slack):
        raise ValueError(
            "precision must leave at most epsilon T events and (1 - epsilon) T other steps among the K, "
            f"got precision = {pi} at K = {K}, T = {T} and epsilon = {epsilon}"
        )
    return pi, K, T, epsilon


@door
def anchored_snr_blend(
    *,
    alpha: Numbers,
    precision: Numbers,
    K: Numbers,
    T: Numbers,
    epsilon: Numbers,
    s0: Numbers,
) -> Values:
    """Event signal-to-noise ratio of alpha * selected mean + (1 - alpha) * global mean.

    The signal is (alpha pi + (1 - alpha) epsilon) y. The selected steps are inside the global mean, so the
    two noises have covariance s0^2 / T and the blend has variance s0^2 (alpha^2 / K + (1 - alpha^2) / T).

    Proposition 2 says that this increases in alpha whenever pi > epsilon. The signal does; the ratio
    increases only up to `best_anchor_weight`, which is 1 just when the selection holds every event
    (pi K = epsilon T). Full anchoring beats none if pi / epsilon > sqrt(T / K), not already if pi > epsilon.

    Example:
        >>> print(anchored_snr_blend(alpha=[0, 1], precision=1.0, K=5, T=100, epsilon=0.05, s0=1.0).round(3))
        [0.25 5.  ]
        >>> print(anchored_snr_blend(alpha=[0, 1], precision=0.25, K=4, T=100, epsilon=0.2, s0=1.0).round(3))
        [4.   0.25]
    """
    pi, K, T, epsilon = _selection(precision, K, T, epsilon, rest=False)
    alpha = as_numbers("alpha", alpha, "lie in [0, 1]")
    s0 = as_noise("s0", s0)
    signal = alpha * pi + (1 - alpha) * epsilon
    return signal**2 / (s0**2 * (alpha**2 / K + (1 - alpha**2) / T))


@door
def best_anchor_weight(*, precision: Numbers, K: Numbers, T: Numbers, epsilon: Numbers) -> Values:
    """Weight alpha in [0, 1] at which `anchored_snr_blend` peaks: (pi - epsilon) K / (epsilon (T - K)).

    The ratio rises below it and falls above it. It is 0 for pi <= epsilon and 1 for a selection that holds
    every event; in between, the events that were missed still speak through the global mean. K < T: at K = T
    the two means are one.

    Example:
        >>> print(best_anchor_weight(precision=[1.0, 0.5], K=[5, 10], T=100, epsilon=0.10).round(3))
        [0.474 0.444]
    """
    pi, K, T, epsilon = _selection(precision, K, T, epsilon, rest=True)
    return np.clip((pi - epsilon) * K / (epsilon * (T - K)), 0.0, 1.0)


@door
def contrast_snr_blend(
    *,
    alpha: Numbers,
    precision: Numbers,
    K: Numbers,
    T: Numbers,
    epsilon: Numbers,
    s0: Numbers,
) -> Values:
    """Event signal-to-noise ratio of CREST's own blend, alpha (selected - rest) + (1 - alpha) global.

    The contrast has signal c = (pi - epsilon) T / (T - K), noise variance s0^2 T / (K (T - K)), and no
    covariance with the global mean. For pi > epsilon the ratio peaks at alpha = (pi - epsilon) K / ((pi -
    epsilon) K + epsilon T), below 1/2: on the event channel alone the rest mean only adds noise, and what the
    contrast earns is the cancelled background. At alpha = 1 and every event selected it is
    (1 - K / T) pi^2 K / s0^2.

    Example:
        >>> print(contrast_snr_blend(alpha=[0, 1], precision=1.0, K=5, T=100, epsilon=0.05, s0=1.0).round(3))
        [0.25 4.75]
    """
    pi, K, T, epsilon = _selection(precision, K, T, epsilon, rest=True)
    alpha = as_numbers("alpha", alpha, "lie in [0, 1]")
    s0 = as_noise("s0", s0)
    signal = alpha * (pi - epsilon) * T / (T - K) + (1 - alpha) * epsilon
    return signal**2 / (s0**2 * (alpha**2 * T / (K * (T - K)) + (1 - alpha) ** 2 / T))
