"""The impact oscillator: a driven mass against a one-sided wall. Target: the log stiffness of the wall."""

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from crest._base.arguments import require_fields
from crest._base.doors import door
from crest.lab.systems.base import Sizes, simulated_splits
from crest.lab.systems.bias import biased_labels, by_class
from crest.lab.systems.kernels.impact import simulate_impact
from crest.recordings.trajectories import Splits, Trajectories


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class ImpactSystem:
    """A damped oscillator of unit mass and stiffness, driven by a sine, that meets a wall behind a gap.

        x'' + damping x' + x + force = amplitude sin(drive_frequency t + phase)
        force = max(0, k (x - gap) + wall_damping sqrt(k) x')   where x > gap, else 0

    with k the wall's stiffness, 10^(center +- half_range) in units of the oscillator's own. Stiff walls were
    driven hard: in training and in distribution the drive amplitude rises with the label (`cue_correlation`);
    out of distribution the two are independent, with the same marginals. The sensors are such that no single
    step tells a contact: the zero of the position sensor is unknown, the accelerometer saturates at impacts
    and drifts slowly. How long it saturates tells the stiffness. The motion is exact, see
    `crest.lab.systems.kernels.impact`. Time is in units where the oscillator's angular frequency is 1. Reasons:
    docs/evidence/choices.md#impact-oscillator.
    """

    steps: int = 512
    """Samples per trajectory."""
    samples_per_period: int = 110
    """Samples per period of the drive."""
    burn_in: int = 550
    """Samples simulated before the first observed one, five periods of the drive."""
    damping: float = 0.16
    """Damping coefficient of the oscillator."""
    drive_frequency: float = 0.8
    """Angular frequency of the drive."""
    drive_amplitude: float = 0.8
    """Drive amplitude at cue 0."""
    amplitude_spread: float = 0.05
    """Change of the log amplitude per unit of the cue."""
    gap: float = 0.5
    """Distance from rest to the wall: the smaller, the longer the contacts."""
    center: float = 2.0
    """Log10 of the wall stiffness in the middle of its range: the higher, the sharper the contact."""
    half_range: float = 0.6
    """Half of the range of that logarithm."""
    wall_damping: float = 0.2
    """Damping of the wall over the root of its stiffness."""
    halo: int = 2
    """Samples around a contact that the annotation counts as event; `extra["core"]` is without them: samples at
    which, or since the one before which, the wall was touched."""
    cue_correlation: float = 0.985
    """Correlation of cue and label in training and in distribution."""
    cue_noise: float = 0.03
    """Noise of the drive channel."""
    position_offset: float = 1.0
    """Largest zero error of the position sensor; each trajectory has its own, uniform up to it on both sides."""
    sensor_range: float = 0.3
    """Largest magnitude that the accelerometer gives, in the units of its channel: impacts saturate it."""
    drift: float = 1.0
    """Largest amplitude of the accelerometer's slow drift, in the units of its channel; each trajectory has its
    own, uniform up to it."""
    drift_periods: tuple[float, float] = (150.0, 430.0)
    """Shortest and longest period of the drift, in samples."""
    response_noise: float = 0.01
    """Noise of position, velocity and a tenth of the acceleration."""
    threshold: float | None = None
    """Place in the range of the log stiffness, in (0, 1), from which on a wall counts as stiff; 0.5 is the median. The label is
    then the class. None: the label is the log stiffness itself."""

    def __post_init__(self) -> None:
        require_fields(self, "be a whole number, 2 or more", "steps", "samples_per_period")
        require_fields(self, "be a whole number, 0 or more", "burn_in", "halo")
        positive = ["drive_frequency", "drive_amplitude", "amplitude_spread", "damping", "sensor_range"]
        require_fields(self, "be positive", *positive)
        amounts = ["gap", "half_range", "wall_damping", "cue_noise", "drift", "response_noise"]
        require_fields(self, "be 0 or more", *amounts, "position_offset")
        require_fields(self, "be finite", "center")
        if self.threshold is not None:
            require_fields(self, "lie in (0, 1)", "threshold")
        shortest, longest = self.drift_periods
        if not 2 <= shortest <= longest < math.inf:
            raise ValueError(f"drift_periods must be 2 <= shortest <= longest, got {self.drift_periods}")
        if not self.damping < 2:
            raise ValueError(f"damping must leave the oscillator underdamped, below 2, got {self.damping}")
        for log_stiffness in (self.center - self.half_range, self.center + self.half_range):
            self._check_contact(10.0**log_stiffness)

    def _check_contact(self, stiffness: float) -> None:
        damping = self.damping + self.wall_damping * math.sqrt(stiffness)
        if damping**2 >= 4 * (1 + stiffness):
            raise ValueError(
                f"wall_damping must leave the contact underdamped, got {self.wall_damping} "
                f"at stiffness {stiffness:.3g}"
            )
        if math.pi / math.sqrt(1 + stiffness) < 1 / self.sample_rate:
            raise ValueError(
                "center + half_range must leave contacts longer than a sample, "
                f"got stiffness {stiffness:.3g} at {self.samples_per_period} samples_per_period"
            )

    @property
    def sample_rate(self) -> float:
        """Samples per unit of time."""
        return self.samples_per_period * self.drive_frequency / (2 * np.pi)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes that the labels number; none if the label is the log stiffness."""
        return () if self.threshold is None else ("soft", "stiff")

    def splits(self, seed: int, sizes: Sizes | None = None) -> Splits:
        """Training, in-distribution and out-of-distribution trajectories of one seed."""
        return simulated_splits("impact", self.trajectories, seed, sizes)

    def trajectories(self, n: int, generator: np.random.Generator, broken: bool = False) -> Trajectories:
        """Trajectories of n walls; `broken` unties the drive amplitude from the wall's stiffness."""
        labels = biased_labels(n, generator, self.cue_correlation, broken)
        amplitude = self.drive_amplitude * np.exp(self.amplitude_spread * labels.cue)
        log_stiffness = self.center + self.half_range * (2 * labels.share - 1)
        phase = 2 * np.pi * generator.random(n)
        states = self.simulate(amplitude, 10**log_stiffness, phase)
        measured = states[..., :4] * np.array([1.0, 1.0, 0.1, 1.0])
        # The sensor saturates; what drifts is the amplifier behind it.
        measured[..., 2] = np.clip(measured[..., 2], -self.sensor_range, self.sensor_range)
        measured[..., 2] += self._drifts(n, generator)
        measured[..., 0] += self.position_offset * generator.uniform(-1, 1, (n, 1))
        noise = generator.standard_normal((n, self.steps, 4))
        spread = np.array([self.response_noise] * 3 + [self.cue_noise])
        core = states[..., 5] > 0
        missing = int((~core.any(axis=1)).sum())
        if missing:
            raise ValueError(
                f"gap must be within reach of the drive, got {missing} of {n} trajectories without a contact at "
                f"gap = {self.gap}, drive_amplitude = {self.drive_amplitude}"
            )
        data = Trajectories(
            x=(measured + spread * noise).astype(np.float32),
            y=labels.y,
            events=self.events(core),
            proxy=labels.cue,
            sample_rate=self.sample_rate,
            channels=("position", "velocity", "acceleration / 10", "drive"),
            source="impact oscillator, simulated: log stiffness of the wall",
            extra={"core": core, "log_stiffness": log_stiffness, "amplitude": amplitude},
        )
        return by_class(data, labels.share, self.threshold, self.classes)

    def _drifts(self, n: int, generator: np.random.Generator) -> npt.NDArray[np.float64]:
        """A slow wave (n, T) for each trajectory."""
        amplitude = self.drift * generator.random((n, 1))
        period = generator.uniform(*self.drift_periods, (n, 1))
        start = generator.random((n, 1))
        return np.asarray(amplitude * np.sin(2 * np.pi * (np.arange(self.steps) / period + start)))

    def simulate(
        self,
        amplitude: npt.NDArray[np.float64],
        wall_stiffness: npt.NDArray[np.float64],
        phase: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.float64]:
        """Noise-free states (N, T, 6) from rest: position, velocity, acceleration, drive, wall force, touched."""
        rest = np.zeros(len(amplitude))
        states: npt.NDArray[np.float64] = simulate_impact(
            self.steps,
            self.burn_in,
            1 / self.sample_rate,
            rest,
            rest,
            phase,
            amplitude,
            self.drive_frequency,
            1.0,
            self.damping,
            self.gap,
            wall_stiffness,
            self.wall_damping * np.sqrt(wall_stiffness),
        )
        return states

    def events(self, core: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """The annotation (N, T): contact steps widened by `halo` to both sides."""
        padded = np.pad(core, ((0, 0), (self.halo, self.halo)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * self.halo + 1, axis=1)
        return np.asarray(windows.any(axis=-1))
