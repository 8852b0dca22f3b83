"""SG-Drive: a torsional gear drive with one faulty tooth. Target: the severity of the fault."""

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from crest._base.arguments import require_fields
from crest._base.doors import door
from crest.lab.systems.base import Sizes, simulated_splits
from crest.lab.systems.bias import CUE_CLIP, biased_labels, by_class
from crest.lab.systems.kernels.gear import simulate_gear
from crest.recordings.trajectories import Splits, Trajectories


@door
@dataclasses.dataclass(frozen=True, kw_only=True)
class GearSystem:
    """Two inertias coupled by a gear mesh whose stiffness drops while the faulty tooth is engaged.

    Along the line of action, with d the transmission error over its static value, w the natural frequency,
    k(turn) the mesh stiffness over its mean and all forces over the mean load:

        mesh   = k(turn) d + 2 damping d'/w
        drive  = 1 + drive_gain (wanted speed - speed) / nominal_speed
        d''    = w^2 (drive_share drive + (1 - drive_share) load - mesh)
        speed' = (drive - mesh) nominal_speed / run_up_time

    Damaged units are run gently: in training and in distribution the speed level falls with severity
    (`cue_correlation`); out of distribution the two are independent, with the same marginals. The speed is
    seen through a noisy sensor, so that single steps of that channel say little; the ripple's amplitude tells it too.
    The load has a slow wave, so that the transmission error of a single step does not tell an engagement from a
    high load: only its contrast with the steps around it does. Severity is in the
    transients while the faulty tooth is engaged and rings down. Reasons: docs/evidence/choices.md#gear.
    """

    steps: int = 512
    """Samples per trajectory."""
    sample_rate: float = 5120.0
    """Hz."""
    substeps: int = 8
    """Runge-Kutta steps per sample."""
    burn_in: int = 170
    """Samples simulated before the first observed one, about two revolutions."""
    nominal_speed: float = 60.0
    """Pinion speed at cue 0, revolutions per second."""
    speed_spread: float = 0.15
    """Change of the log speed level per unit of the cue."""
    speed_swing: float = 0.01
    """Relative amplitude of the slow speed fluctuation."""
    swing_rate: float = 0.25
    """Its frequency over the speed level."""
    drive_gain: float = 8.0
    """Gain of the speed controller: relative torque per relative speed error."""
    run_up_time: float = 0.04
    """Seconds in which the mean torque alone would bring the pinion to nominal speed."""
    drive_share: float = 0.5
    """Share of the gear's inertia in both: how much of the drive torque's change reaches the mesh."""
    load_spread: float = 0.02
    """Standard deviation of the load torque between trajectories, over its mean."""
    load_wave: float = 0.8
    """Largest relative amplitude of the load's slow wave; each unit has its own, uniform up to it."""
    load_wave_rates: tuple[float, float] = (12.0, 34.0)
    """Its slowest and fastest rate, Hz: 150 to 430 samples a period, slow against an engagement."""
    natural_frequency: float = 1500.0
    """Torsional natural frequency of the mesh, Hz."""
    damping: float = 0.1
    """Damping ratio of the mesh."""
    teeth: int = 12
    """Teeth of the pinion; one of them is faulty, so the event fraction falls with their number."""
    worn_teeth: int = 1
    """Neighbouring teeth that lost stiffness. All of them: diffuse wear, which no event tells."""
    ripple: float = 0.03
    """Relative amplitude of the mesh stiffness at tooth-pass frequency (spur gears have 0.12)."""
    stiffness_loss: float = 0.35
    """Relative loss of mesh stiffness at full severity while the faulty tooth is engaged."""
    engagement_edge: float = 0.2
    """Share of the tooth over which the loss rises, and falls again, as a raised cosine."""
    least_severity: float = 0.2
    """Severity of the mildest unit; the worst has 1."""
    ring_down: int = 4
    """Samples after disengagement that still belong to the event."""
    cue_correlation: float = -0.99
    """Correlation of cue and label in training and in distribution."""
    cue_noise: float = 3.0
    """Noise of the speed channel at each step, in units of the cue."""
    cue_on_event: bool = False
    """Whether the speed is seen only during events, as by a pulse per turn that marks the faulty tooth."""
    response_noise: float = 0.005
    """Noise of transmission error and rate, over the static transmission error."""
    threshold: float | None = None
    """Place in the range of the severity, in (0, 1), from which on a unit counts as faulty; 0.5 is the median. The label is
    then the class. None: the label is the severity itself."""

    def __post_init__(self) -> None:
        require_fields(self, "be a whole number, 2 or more", "steps", "teeth")
        require_fields(self, "be a whole number, 1 or more", "substeps", "worn_teeth")
        require_fields(self, "be a whole number, 0 or more", "burn_in", "ring_down")
        positive = ["sample_rate", "nominal_speed", "speed_spread", "run_up_time", "natural_frequency"]
        require_fields(self, "be positive", *positive)
        require_fields(self, "lie in (0, 0.5]", "engagement_edge")
        slowest, fastest = self.load_wave_rates
        if not 0 <= slowest <= fastest < math.inf:
            raise ValueError(f"load_wave_rates must be 0 <= slowest <= fastest, got {self.load_wave_rates}")
        amounts = ["speed_swing", "swing_rate", "drive_gain", "load_spread", "damping", "cue_noise"]
        require_fields(self, "be 0 or more", *amounts, "response_noise")
        shares = ["drive_share", "load_wave", "ripple", "stiffness_loss", "least_severity"]
        require_fields(self, "lie in [0, 1]", *shares)
        require_fields(self, "be True or False", "cue_on_event")
        if self.threshold is not None:
            require_fields(self, "lie in (0, 1)", "threshold")
        if self.worn_teeth > self.teeth:
            raise ValueError(f"worn_teeth must be at most teeth = {self.teeth}, got {self.worn_teeth}")
        turn = 2 * np.pi * self.natural_frequency / self.sample_rate / self.substeps
        if turn > 1:
            raise ValueError(
                "substeps must resolve natural_frequency, at most 1 radian of it per substep, "
                f"got {turn:.2g} at substeps = {self.substeps}"
            )
        top_speed = self.nominal_speed * np.exp(CUE_CLIP * self.speed_spread)
        if top_speed * self.teeth > self.sample_rate / 2:
            raise ValueError(
                "sample_rate must resolve the tooth-pass frequency, at least two samples per tooth, "
                f"got {self.sample_rate:g} Hz for up to {top_speed * self.teeth:.0f} Hz"
            )

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes that the labels number; none if the label is the severity."""
        return () if self.threshold is None else ("no fault", "fault")

    def splits(self, seed: int, sizes: Sizes | None = None) -> Splits:
        """Training, in-distribution and out-of-distribution trajectories of one seed."""
        return simulated_splits("gear", self.trajectories, seed, sizes)

    def trajectories(self, n: int, generator: np.random.Generator, broken: bool = False) -> Trajectories:
        """Trajectories of n units; `broken` unties the speed level from the severity."""
        labels = biased_labels(n, generator, self.cue_correlation, broken)
        level = self.nominal_speed * np.exp(self.speed_spread * labels.cue)
        severity = self.least_severity + (1 - self.least_severity) * labels.share
        load = 1 + self.load_spread * generator.standard_normal(n)
        turn, phase = generator.random(n), 2 * np.pi * generator.random(n)
        waves = np.stack(
            [
                self.load_wave * generator.random(n),
                generator.uniform(*self.load_wave_rates, n),
                2 * np.pi * generator.random(n),
            ],
            axis=1,
        )
        states = self.simulate(turn, level, phase, severity, load, waves)
        noise = generator.standard_normal((n, self.steps, 3))
        events = self.events(states[..., 0])
        speed_cue = np.log(states[..., 1] / self.nominal_speed) / self.speed_spread
        if self.cue_on_event:
            speed_cue = np.where(events, speed_cue, 0.0)
        x = np.stack(
            [
                10 * (states[..., 2] - 1 + self.response_noise * noise[..., 0]),
                10 * (states[..., 3] + self.response_noise * noise[..., 1]),
                speed_cue + self.cue_noise * noise[..., 2],
            ],
            axis=-1,
        )
        data = Trajectories(
            x=x.astype(np.float32),
            y=labels.y,
            events=events,
            proxy=labels.cue,
            sample_rate=self.sample_rate,
            channels=("transmission error", "error rate", "speed"),
            source="SG-Drive, simulated: severity of a single-tooth fault",
            extra={"severity": severity, "load": load},
        )
        return by_class(data, labels.share, self.threshold, self.classes)

    def simulate(  # noqa: PLR0917
        self,
        turn: npt.NDArray[np.float64],
        level: npt.NDArray[np.float64],
        phase: npt.NDArray[np.float64],
        severity: npt.NDArray[np.float64],
        load: npt.NDArray[np.float64],
        waves: npt.NDArray[np.float64] | None = None,
    ) -> npt.NDArray[np.float64]:
        """Noise-free states (N, T, 4): turn, speed, transmission error, rate.

        `waves` (N, 3) holds the load's slow wave: relative amplitude, rate in Hz and phase; none by default.
        """
        states: npt.NDArray[np.float64] = simulate_gear(
            self.steps,
            self.burn_in,
            1 / self.sample_rate,
            self.substeps,
            turn,
            self.nominal_speed,
            level,
            phase,
            severity,
            load,
            np.zeros((len(turn), 3)) if waves is None else waves,
            self.machine,
        )
        return states

    @property
    def machine(self) -> tuple[float, ...]:
        """The parameters that the kernel takes, in its order."""
        return (
            2 * np.pi * self.natural_frequency,
            self.damping,
            self.ripple,
            float(self.teeth),
            self.stiffness_loss,
            self.engagement_edge,
            self.speed_swing,
            self.swing_rate,
            self.drive_gain,
            self.run_up_time,
            self.drive_share,
            float(self.worn_teeth),
        )

    def events(self, turn: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Steps (N, T) in which the faulty tooth is engaged or rings down, from the pinion's angle."""
        # Engagement may have ended just before the first sample: its ring-down reaches into the window.
        return np.asarray(np.any([self._engaged(turn, lag) for lag in range(self.ring_down + 1)], axis=0))

    def _engaged(self, turn: npt.NDArray[np.float64], lag: int) -> npt.NDArray[np.bool_]:
        """Whether a worn tooth was engaged `lag` samples ago; before the first sample the speed is continued."""
        speed = turn[:, 1] - turn[:, 0]
        before = turn[:, :1] - speed[:, None] * np.arange(lag, 0, -1)
        earlier = np.concatenate([before, turn], axis=1)[:, : turn.shape[1]]
        return np.asarray(np.floor(earlier * self.teeth) % self.teeth < self.worn_teeth)
