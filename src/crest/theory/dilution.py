"""Proposition 1 and Corollary 1: what global averaging does to a sparse event, in closed form.

With n_j the noise variance and a_j the signal of the pooled mean m_j = a_j y + noise, the population
least-squares weights are w_j = (a_j / n_j) / (1 + S). Everything below is this line written out. Arguments
are numbers or arrays and broadcast; all are keyword-only, because s0 and s1 are easily exchanged.
"""

from typing import NamedTuple

import numpy as np

from crest._base.doors import door
from crest._base.floats import Numbers, Values
from crest.theory.reach import as_cue, as_noise, as_ratio, as_sparsity, as_steps


class ReaderWeights(NamedTuple):
    """Weights of the pooled linear reader on the event mean m0 and on the background mean m1."""

    w0: Values
    w1: Values


@door
def event_snr(*, epsilon: Numbers, T: Numbers, s0: Numbers) -> Values:
    """Signal-to-noise ratio of the pooled event channel, S_E = epsilon^2 T / s0^2.

    Example:
        >>> print(event_snr(epsilon=0.1, T=100, s0=2.0).round(3))
        0.25
    """
    epsilon = as_sparsity(epsilon)
    T = as_steps("T", T)
    s0 = as_noise("s0", s0)
    return epsilon**2 * T / s0**2


@door
def background_snr(*, epsilon: Numbers, T: Numbers, s1: Numbers, gamma: Numbers) -> Values:
    """Signal-to-noise ratio of the pooled background channel, S_B = (1 - epsilon) gamma^2 T / s1^2.

    Example:
        >>> print(background_snr(epsilon=0.1, T=100, s1=3.0, gamma=1.0).round(3))
        10.0
    """
    epsilon = as_sparsity(epsilon)
    return (1 - epsilon) * _full_background_snr(T, s1, gamma)


def _full_background_snr(T: Numbers, s1: Numbers, gamma: Numbers) -> Values:
    T = as_steps("T", T)
    s1 = as_noise("s1", s1)
    gamma = as_cue(gamma)
    return gamma**2 * T / s1**2


@door
def risk_ood_from_snr(event: Numbers, background: Numbers) -> Values:
    """Out-of-distribution risk of a least-squares reader with these two ratios, S_E and S_B.

    The reader keeps S_E / (1 + S) of y once the cue is gone, and all of its noise S / (1 + S)^2. The risk
    falls with S_E and never exceeds 5/4, reached at S_E = 0 and S_B = 1.

    Example:
        >>> print(risk_ood_from_snr(np.float64(0.0), np.float64(1.0)))
        1.25
    """
    event = as_ratio("event", event)
    background = as_ratio("background", background)
    total = event + background
    return ((1 + background) / (1 + total)) ** 2 + total / (1 + total) ** 2


@door
def risk_id(*, epsilon: Numbers, T: Numbers, s0: Numbers, s1: Numbers, gamma: Numbers) -> Values:
    """In-distribution risk of the pooled reader, R_id = 1 / (1 + S) (Proposition 1).

    Example:
        >>> print(risk_id(epsilon=0.1, T=100, s0=1.0, s1=3.0, gamma=1.0).round(4))
        0.0833
    """
    event = event_snr(epsilon=epsilon, T=T, s0=s0)
    return 1 / (1 + event + background_snr(epsilon=epsilon, T=T, s1=s1, gamma=gamma))


@door
def risk_ood(*, epsilon: Numbers, T: Numbers, s0: Numbers, s1: Numbers, gamma: Numbers) -> Values:
    """Risk of the same reader once the cue is gone, ((1 + S_B) / (1 + S))^2 + S / (1 + S)^2 (Proposition 1).

    Example:
        >>> print(risk_ood(epsilon=0.01, T=100, s0=1.0, s1=10.0, gamma=1.0).round(4))
        1.24
    """
    event = event_snr(epsilon=epsilon, T=T, s0=s0)
    return risk_ood_from_snr(event, background_snr(epsilon=epsilon, T=T, s1=s1, gamma=gamma))


@door
def risk_id_limit(*, T: Numbers, s1: Numbers, gamma: Numbers) -> Values:
    """Limit of R_id as epsilon goes to 0 at fixed T: 1 / (1 + S_B) with S_B = gamma^2 T / s1^2.

    The limit is formal: a trajectory of T steps with an event has epsilon >= 1 / T.

    Example:
        >>> print(risk_id_limit(T=100, s1=5.0, gamma=1.0))
        0.2
    """
    return 1 / (1 + _full_background_snr(T, s1, gamma))


@door
def risk_ood_limit(*, T: Numbers, s1: Numbers, gamma: Numbers) -> Values:
    """Limit of R_ood as epsilon goes to 0 at fixed T: 1 + S_B / (1 + S_B)^2, which exceeds 1.

    The excess is largest, 1/4, for a cue of S_B = 1 and fades as 1 / S_B for a strong one.

    Example:
        >>> print(risk_ood_limit(T=100, s1=10.0, gamma=1.0))
        1.25
    """
    background = _full_background_snr(T, s1, gamma)
    return 1 + background / (1 + background) ** 2


@door
def credit_share(*, epsilon: Numbers, T: Numbers, s0: Numbers, s1: Numbers, gamma: Numbers) -> Values:
    """Event credit share of the pooled reader, rho_E = S_E / S (Proposition 1).

    Example:
        >>> print(credit_share(epsilon=0.1, T=100, s0=1.0, s1=3.0, gamma=1.0).round(4))
        0.0909
    """
    event = event_snr(epsilon=epsilon, T=T, s0=s0)
    return event / (event + background_snr(epsilon=epsilon, T=T, s1=s1, gamma=gamma))


@door
def credit_share_order(*, epsilon: Numbers, T: Numbers, s0: Numbers, s1: Numbers, gamma: Numbers) -> Values:
    """Local order of the credit share in epsilon, d log rho_E / d log epsilon, which goes to 2.

    It is (1 - rho_E) (2 + epsilon / (1 - epsilon)): Proposition 1's rho_E = Theta(epsilon^2), with T, s0, s1
    and gamma held fixed.

    Example:
        >>> print(credit_share_order(epsilon=1e-4, T=100, s0=1.0, s1=3.0, gamma=1.0).round(3))
        2.0
    """
    share = credit_share(epsilon=epsilon, T=T, s0=s0, s1=s1, gamma=gamma)
    epsilon = as_sparsity(epsilon)
    return (1 - share) * (2 + epsilon / (1 - epsilon))


@door
def reader_weights(
    *, epsilon: Numbers, T: Numbers, s0: Numbers, s1: Numbers, gamma: Numbers
) -> ReaderWeights:
    """Population least-squares weights on (m0, m1): epsilon T / s0^2 and gamma T / s1^2, over 1 + S.

    Example:
        >>> weights = reader_weights(epsilon=0.1, T=100, s0=1.0, s1=3.0, gamma=1.0)
        >>> print(weights.w0.round(4), weights.w1.round(4))
        0.8333 0.9259
    """
    risk = risk_id(epsilon=epsilon, T=T, s0=s0, s1=s1, gamma=gamma)
    epsilon, T, s0, s1, gamma = (np.asarray(value, np.float64) for value in (epsilon, T, s0, s1, gamma))
    return ReaderWeights(w0=epsilon * T / s0**2 * risk, w1=gamma * T / s1**2 * risk)


@door
def sensitivity_ratio(*, epsilon: Numbers, s0: Numbers, s1: Numbers, gamma: Numbers) -> Values:
    """Ratio of the reader's input sensitivities, w0 / w1 = epsilon s1^2 / (gamma s0^2) (Corollary 1).

    It compares channels: the gradient of a globally pooled reader is w0 / T on channel 0 and w1 / T on
    channel 1 at every step. It exceeds 1 only if s1^2 / s0^2 > gamma / epsilon; with all else fixed it
    vanishes as epsilon. At a fixed ratio r, S_E / S_B = r epsilon / ((1 - epsilon) gamma).

    Example:
        >>> print(sensitivity_ratio(epsilon=0.01, s0=1.0, s1=8.0, gamma=0.5).round(3))
        1.28
    """
    epsilon = as_sparsity(epsilon)
    s0 = as_noise("s0", s0)
    s1 = as_noise("s1", s1)
    gamma = as_cue(gamma)
    return epsilon * s1**2 / (gamma * s0**2)
