import pytest
import torch

from crest.lab.model import make_model
from crest.lab.objectives import (
    EquationOfMotion,
    MeanSquaredError,
    TrainingBatch,
)
from crest.lab.training import Schedule, fit
from toy import toy


def oscillation(turn: float, damping: float, held: float, steps: int = 50) -> torch.Tensor:
    """Displacement, rate and held displacement (1, T, 3) of a damped oscillator, by many small steps."""
    d, v, small = 1.0, 0.3, 200
    part = turn / small
    rows = []
    for _ in range(steps):
        rows.append([d, v, held])
        for _ in range(small):
            middle = v + 0.5 * part * (held - d - 2 * damping * v)
            d, v = d + part * middle, v + part * (held - (d + 0.5 * part * v) - 2 * damping * middle)
    return torch.tensor([rows], dtype=torch.float64)


@pytest.mark.parametrize(("turn", "damping", "held"), [(0.0714, 0.08, 0.0), (1.84, 0.1, 0.7)])
def test_what_obeys_the_equation_has_no_residual(turn: float, damping: float, held: float) -> None:
    objective = EquationOfMotion(turn=turn, damping=damping)
    objective.advance = objective.advance.double()
    state = oscillation(turn, damping, held)
    scale = torch.ones(2, dtype=torch.float64)
    assert objective.residual(state, state[..., :2], scale).item() < 1e-6
    pushed = state.clone()
    pushed[:, 25:, 1] += 0.5
    assert objective.residual(pushed, pushed[..., :2], scale).item() > 1e-3


def test_a_force_that_jumps_and_a_state_that_the_sensors_deny_cost() -> None:
    objective = EquationOfMotion(turn=0.1, damping=0.1)
    rest = torch.zeros(1, 20, 3)
    measured, scale = torch.zeros(1, 20, 2), torch.tensor([1.0, 2.0])
    assert objective.residual(rest, measured, scale).item() == 0
    assert objective.residual(rest, measured + 1, scale).item() == pytest.approx((1 + 0.25) / 2)
    jumping = rest.clone()
    jumping[:, 10:, 2] = 1.0
    assert objective.residual(jumping, measured, scale).item() > 1 / 19


def test_the_residual_teaches_the_encoder_and_its_own_map() -> None:
    objective = EquationOfMotion(turn=0.3, damping=0.1, weight=1.0)
    model = make_model("pointwise", "mean", channels=2, seed=1000)
    data = TrainingBatch(*toy(16).tensors())
    objective.prepare(model, data)
    plain = MeanSquaredError().loss(model, data).item()
    assert objective.loss(model, data).item() > plain
    first = objective.loss(model, data).item()
    fit(model, toy(16), schedule=Schedule(epochs=20, batch=8), seed=0, objective=objective)
    assert objective.loss(model, data).item() < first / 2
    assert objective.reader is not None
    assert objective.reader.weight.abs().max().item() > 0


def test_weight_zero_is_plain_squared_error() -> None:
    objective = EquationOfMotion(weight=0.0)
    model = make_model("pointwise", "mean", channels=2, seed=1000)
    data = TrainingBatch(*toy(8).tensors())
    objective.prepare(model, data)
    assert objective.loss(model, data).item() == pytest.approx(MeanSquaredError().loss(model, data).item())


def test_channels_that_are_not_there_and_strides_are_refused() -> None:
    data = TrainingBatch(*toy(8).tensors())
    with pytest.raises(ValueError, match="displacement and rate must be channels of the signals, 0 to 1"):
        EquationOfMotion(rate=2).prepare(make_model("pointwise", "mean", channels=2, seed=1000), data)
    with pytest.raises(ValueError, match="encoder must give features at every step"):
        EquationOfMotion().prepare(make_model("cnn", "mean", channels=2, seed=1000), data)
