"""The solvable two-channel model of the section "Temporal Credit Dilution", and its pooled reader."""

import dataclasses
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crest._base.arguments import require, require_fields, require_shape
from crest._base.doors import door
from crest._base.floats import Floats


class TwoChannelSample(NamedTuple):
    """Trajectories drawn from the model: x (n, T, 2), y (n,), events (n, T)."""

    x: Floats
    y: Floats
    events: npt.NDArray[np.bool_]


class PooledMeans(NamedTuple):
    """What a pooled reader sees: means (n, 2) holding (m0, m1), and y (n,)."""

    means: Floats
    y: Floats


class Risks(NamedTuple):
    """One reader's normalized mean squared error with the cue (id) and without it (ood)."""

    id: float
    ood: float


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class TwoChannel:
    """The two-channel generative model: an event channel, and a background channel that carries a cue.

    `epsilon * T` must be a whole number of event steps, from 1 to T - 1: an epsilon rounded in silence would
    put the samples beside the closed forms at the epsilon that was asked for.

    Args:
        T: Steps in a trajectory.
        epsilon: Event share; each trajectory has `event_steps` = epsilon T of them, placed at random.
        s0: Noise scale of the event channel, on all steps.
        s1: Noise scale of the background channel, off the events only.
        gamma: Cue strength g in distribution; out of distribution g = 0.

    Example:
        >>> model = TwoChannel(T=100, epsilon=0.05, s0=1.0, s1=2.0, gamma=0.5)
        >>> model.event_steps
        5
        >>> model.sample(3, np.random.default_rng(0)).x.shape
        (3, 100, 2)
    """

    T: int
    epsilon: float
    s0: float
    s1: float
    gamma: float

    def __post_init__(self) -> None:
        require_fields(self, "be a whole number, 1 or more", "T")
        require_fields(self, "lie in (0, 1)", "epsilon")
        require_fields(self, "be positive", "s0", "s1")
        require_fields(self, "lie in (0, 1]", "gamma")
        steps = self.epsilon * self.T
        if abs(steps - round(steps)) > 1e-6 or not 1 <= round(steps) < self.T:
            raise ValueError(
                f"epsilon * T must be a whole number in [1, T - 1], got {steps:g} at T = {self.T}"
            )

    @property
    def event_steps(self) -> int:
        """Number of event steps, L = epsilon T."""
        return round(self.epsilon * self.T)

    def observe(
        self, y: Floats, events: npt.NDArray[np.bool_], noise: Floats, g: float | None = None
    ) -> Floats:
        """Trajectories x (n, T, 2) for given labels, events and unit noise: the model's two equations.

        Args:
            y: Labels (n,).
            events: Event mask (n, T).
            noise: Unit noise xi (n, T, 2).
            g: Cue strength; by default the in-distribution gamma.
        """
        cue = self.gamma if g is None else g
        label = y[:, None]
        event_channel = events * label + self.s0 * noise[..., 0]
        background = ~events * (cue * label + self.s1 * noise[..., 1])
        return np.stack([event_channel, background], axis=-1)

    def sample(
        self, n: int, generator: np.random.Generator, g: float | None = None, *, contiguous: bool = False
    ) -> TwoChannelSample:
        """Trajectories drawn step by step; the same generator state gives the same draws for every g.

        Args:
            n: Number of trajectories.
            generator: Source of all draws.
            g: Cue strength; by default the in-distribution gamma.
            contiguous: One event of L consecutive steps at a random place, instead of L steps anywhere. The
                law of the pooled means is the same.
        """
        require("n", n, "be a whole number, 1 or more")
        y = generator.standard_normal(n)
        if contiguous:
            lag = np.arange(self.T) - generator.integers(0, self.T - self.event_steps + 1, (n, 1))
            events = (lag >= 0) & (lag < self.event_steps)
        else:
            # a uniform permutation per row, so that its entries below L mark a uniform set of L steps
            events = generator.random((n, self.T)).argsort(axis=1) < self.event_steps
        noise = generator.standard_normal((n, self.T, 2))
        return TwoChannelSample(self.observe(y, events, noise, g), y, events)

    def sample_means(self, n: int, generator: np.random.Generator, g: float | None = None) -> PooledMeans:
        """Global means (m0, m1) drawn from their exact law, without the trajectories.

        Given y they are independent Gaussians: m0 = epsilon y + s0 xi / sqrt(T) averages T noises, and
        m1 = (1 - epsilon) g y + s1 sqrt((1 - epsilon) / T) xi only the (1 - epsilon) T noises off the events.
        """
        require("n", n, "be a whole number, 1 or more")
        cue = self.gamma if g is None else g
        background = 1 - self.epsilon
        y = generator.standard_normal(n)
        m0 = self.epsilon * y + self.s0 / np.sqrt(self.T) * generator.standard_normal(n)
        m1 = background * cue * y + self.s1 * np.sqrt(background / self.T) * generator.standard_normal(n)
        return PooledMeans(np.stack([m0, m1], axis=-1), y)


@door
def fit_reader(means: Floats, y: Floats) -> Floats:
    """Least-squares weights (d,) of the linear reader y ~ means @ weights; means is (n, d).

    There is no intercept, as every variable of the model has mean zero.

    Example:
        >>> fit_reader(np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([3.0, 4.0]))
        array([3., 2.])
    """
    _require_samples(means, y)
    # the normal equations read the samples once; lstsq would factor millions of rows for two columns
    return np.asarray(np.linalg.solve(means.T @ means, means.T @ y))


@door
def reader_risk(weights: Floats, means: Floats, y: Floats) -> float:
    """Mean squared error of the reader over the mean square of y (the paper's normalized risk).

    Example:
        >>> reader_risk(np.array([0.0]), np.array([[1.0], [2.0]]), np.array([1.0, -1.0]))
        1.0
    """
    _require_samples(means, y)
    require_shape("weights", weights, "(d,)", means.shape[1:])
    require("weights", weights, "be finite")
    return float(np.mean((y - means @ weights) ** 2) / np.mean(y**2))


def _require_samples(means: Floats, y: Floats) -> None:
    require_shape("means", means, "(n, d)", (None, None))
    require_shape("y", y, "(n,)", means.shape[:1])
    require("means", means, "be finite")
    require("y", y, "be finite")


@door
def simulated_risks(model: TwoChannel, n: int, generator: np.random.Generator) -> Risks:
    """Risks of a reader fitted to n in-distribution samples, on n fresh samples of either kind.

    This is Proposition 1 by experiment: `risk_id` and `risk_ood` are its limits for large n.

    Example:
        >>> model = TwoChannel(T=100, epsilon=0.05, s0=1.0, s1=1.0, gamma=0.5)
        >>> risks = simulated_risks(model, 50_000, np.random.default_rng(0))
        >>> round(risks.id, 2), round(risks.ood, 2)
        (0.04, 1.02)
    """
    weights = fit_reader(*model.sample_means(n, generator))
    seen = reader_risk(weights, *model.sample_means(n, generator))
    unseen = reader_risk(weights, *model.sample_means(n, generator, g=0.0))
    return Risks(id=seen, ood=unseen)
