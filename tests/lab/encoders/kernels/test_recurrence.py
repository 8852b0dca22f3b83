import numpy as np
import pytest

from crest.lab.encoders.kernels.recurrence import states_backward, states_forward


def made(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def reference(inputs: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The equations of a gated recurrent unit, as PyTorch's manual has them, in float64."""
    inputs, weight, bias = (array.astype(np.float64) for array in (inputs, weight, bias))
    width = weight.shape[0]
    state, states = np.zeros((inputs.shape[1], width)), []
    for given in inputs:
        own = state @ weight + bias
        reset, update = (
            1 / (1 + np.exp(-(given[:, part] + own[:, part])))
            for part in (slice(0, width), slice(width, 2 * width))
        )
        new = np.tanh(given[:, 2 * width :] + reset * own[:, 2 * width :])
        state = (1 - update) * new + update * state
        states.append(state)
    return np.stack(states)


# The last has more trajectories than one product of matrices takes at a time.
@pytest.mark.parametrize(("batch", "width"), [(1, 1), (3, 5), (150, 32)])
def test_states_obey_the_equations(batch: int, width: int) -> None:
    inputs, bias = made(9, batch, 3 * width), made(3 * width)
    weight = made(width, 3 * width) / np.float32(width) ** 0.5  # of the size that layers have
    expected = reference(inputs, weight, bias)
    for kept in (9, 1):
        states, gates = (
            np.empty((9, batch, width), np.float32),
            np.empty((kept, batch, 4 * width), np.float32),
        )
        states_forward(inputs, weight, bias, states, gates)
        np.testing.assert_allclose(states, expected, atol=2e-6)


def test_gradients_are_differences_of_the_equations() -> None:
    inputs, weight, bias, wanted = made(6, 2, 9), made(3, 9), made(9), made(6, 2, 3)
    states, gates = np.empty((6, 2, 3), np.float32), np.empty((6, 2, 12), np.float32)
    states_forward(inputs, weight, bias, states, gates)
    to_inputs, to_products = np.empty((6, 2, 9), np.float32), np.empty((6, 2, 9), np.float32)
    states_backward(wanted, np.ascontiguousarray(weight.T), states, gates, to_inputs, to_products)
    for place in [(0, 0, 0), (2, 1, 4), (5, 0, 8), (1, 1, 7)]:
        ends = []
        for change in (1e-3, -1e-3):
            moved = inputs.astype(np.float64)
            moved[place] += change
            ends.append((reference(moved, weight, bias) * wanted).sum())
        assert to_inputs[place] == pytest.approx((ends[0] - ends[1]) / 2e-3, abs=1e-4)
    # What the states gave arrives as what the inputs gave, but for what the new gate recalls.
    np.testing.assert_array_equal(to_products[..., :6], to_inputs[..., :6])
    np.testing.assert_allclose(to_products[..., 6:], to_inputs[..., 6:] * gates[..., :3], rtol=1e-6)
