"""A physics-informed residual: the state that the step features tell must move as the equation of motion says."""

import math

import torch
from torch import Tensor, nn

from crest._base.arguments import require
from crest.lab.model import Model
from crest.lab.objectives.base import Objective, TrainingBatch


class EquationOfMotion(Objective):
    """Squared error plus the residual of a damped oscillator, the equation of motion of both simulators between events.

    A linear map of its own reads a state from the features of each step: displacement d, rate v (in units of the
    natural frequency), and the displacement u at which the force of that moment would hold the oscillator. From step to
    step (d, v) must follow the exact solution of

        d'' + 2 damping d' + d = u,   with u held over the step,

    u may change only slowly, and d and v must be what the sensors gave. Each of the three is a mean square, over the
    variance of the sensor in the batch. Nothing in it asks which steps the prediction comes from.

    Args:
        turn: radians of the natural frequency per step.
        damping: damping ratio.
        weight: of the residual.
        displacement: channel of the displacement.
        rate: channel of the rate.
    """

    def __init__(
        self,
        turn: float = 0.5,
        damping: float = 0.1,
        weight: float = 1.0,
        displacement: int = 0,
        rate: int = 1,
    ) -> None:  # our choice: docs/evidence/choices.md#objectives
        require("turn", turn, "be positive")
        require("damping", damping, "lie in [0, 1)")
        require("weight", weight, "be 0 or more")
        require("displacement", displacement, "be a whole number, 0 or more")
        require("rate", rate, "be a whole number, 0 or more")
        if displacement == rate:
            raise ValueError(f"rate must be another channel than displacement, got {rate} for both")
        self.weight = weight
        self.channels = [displacement, rate]
        self.advance = propagator(turn, damping)
        self.reader: nn.Linear | None = None

    def prepare(self, model: Model, train: TrainingBatch) -> None:
        """Refuse encoders with strides and channels that are not there; make the map that reads the state."""
        super().prepare(model, train)
        most = train.x.shape[2] - 1
        if max(self.channels) > most:
            raise ValueError(
                f"displacement and rate must be channels of the signals, 0 to {most}, got {self.channels}"
            )
        if model.encoder.stride > 1:
            raise ValueError(
                "encoder must give features at every step for an equation of motion, got one with a stride"
            )
        self.reader = nn.Linear(model.encoder.width, 3)
        # A map that starts from 0 needs no random numbers: those of the model stay as they are without it.
        nn.init.zeros_(self.reader.weight)
        nn.init.zeros_(self.reader.bias)

    def parameters(self) -> list[nn.Parameter]:
        """The map's."""
        return [] if self.reader is None else list(self.reader.parameters())

    def loss(self, model: Model, batch: TrainingBatch) -> Tensor:
        """Mean squared error plus the weighted residual."""
        if self.reader is None:
            raise ValueError("model must be prepared before a loss is computed")
        features = model.features(batch.x)
        errors = (model.read(model.pool(features, batch.events)) - batch.y).square()
        state = self.reader(features)
        measured = batch.x[..., self.channels]
        scale = measured.detach().std((0, 1)).clamp(min=1e-6)
        return errors.mean() + self.weight * self.residual(state * scale[[0, 1, 0]], measured, scale)

    def residual(self, state: Tensor, measured: Tensor, scale: Tensor) -> Tensor:
        """Mean square of what contradicts sensors, equation and slowness, over `scale`.

        Args:
            state: (B, T, 3), displacement, rate, held displacement.
            measured: (B, T, 2), displacement and rate.
            scale: (2,), what a displacement and a rate are divided by.
        """
        motion, held = state[..., :2], state[..., 2:]
        rest = torch.cat([held, torch.zeros_like(held)], -1)
        expected = (motion - rest)[:, :-1] @ self.advance.T + rest[:, :-1]
        misfit = ((motion - measured) / scale).square().mean()
        law = ((motion[:, 1:] - expected) / scale).square().mean()
        slow = (held.diff(dim=1) / scale[0]).square().mean()
        return misfit + law + slow


def propagator(turn: float, damping: float) -> Tensor:
    """What takes displacement and rate (in units of the natural frequency) of a damped oscillator over one step, (2, 2).

    Example:
        >>> propagator(math.pi, 0.0).round(decimals=3)
        tensor([[-1.,  0.],
                [-0., -1.]])
    """
    damped = math.sqrt(1 - damping**2)
    cosine, sine = math.cos(damped * turn), math.sin(damped * turn) / damped
    fade = math.exp(-damping * turn)
    return fade * torch.tensor([[cosine + damping * sine, sine], [-sine, cosine - damping * sine]])
