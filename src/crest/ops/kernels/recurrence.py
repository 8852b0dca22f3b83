"""A layer of gated recurrent units in float32, compiled by numba: a step is one product of matrices and some loops."""

import numpy as np

from crest.ops.kernels.tiles import compiled, inlined

# Numbers of Python would make every product one of float64.
_HALF, _ONE = np.float32(0.5), np.float32(1)
# tanh in float32 as a quotient of polynomials in the square, which vector units take: Eigen's, within some units in the last place.
_REACH = np.float32(7.90531110763549805)
_A0, _A1, _A2 = (
    np.float32(4.89352455891786e-03),
    np.float32(6.37261928875436e-04),
    np.float32(1.48572235717979e-05),
)
_A3, _A4 = np.float32(5.12229709037114e-08), np.float32(-8.60467152213735e-11)
_A5, _A6 = np.float32(2.00018790482477e-13), np.float32(-2.76076847742355e-16)
_B0, _B1 = np.float32(4.89352518554385e-03), np.float32(2.26843463243900e-03)
_B2, _B3 = np.float32(1.18534705686654e-04), np.float32(1.19825839466702e-06)


@inlined
def _tanh(value):
    x = min(max(value, -_REACH), _REACH)
    s = x * x
    above = (((((_A6 * s + _A5) * s + _A4) * s + _A3) * s + _A2) * s + _A1) * s + _A0
    below = ((_B3 * s + _B2) * s + _B1) * s + _B0
    return x * above / below


# Short loops with few arrays each, and no sums in an index: else LLVM takes one number at a time.
@compiled
def states_forward(inputs, weight, bias, states, gates):
    """The states (T + 1, B, W) from zero on, and for each step the gates (4 W): reset, update, new, and what the new one recalls.

    `inputs` (T, B, 3 W) is what the signals give to the first three, `weight` (W, 3 W) what a state does.
    """
    T, B, W = inputs.shape[0], inputs.shape[1], weight.shape[0]
    products = np.empty((B, 3 * W), inputs.dtype)
    states[0] = 0
    for t in range(T):
        np.dot(states[t], weight, products)
        for b in range(B):
            given, own, before, after = inputs[t, b], products[b], states[t, b], states[t + 1, b]
            switches, update = gates[t, b, : 2 * W], gates[t, b, W : 2 * W]
            new, recalled = gates[t, b, 2 * W : 3 * W], gates[t, b, 3 * W :]
            for j in range(2 * W):
                switches[j] = _HALF + _HALF * _tanh(_HALF * (given[j] + own[j] + bias[j]))
            given, own, shift = given[2 * W :], own[2 * W :], bias[2 * W :]
            for j in range(W):
                recalled[j] = own[j] + shift[j]
            for j in range(W):
                new[j] = _tanh(given[j] + switches[j] * recalled[j])
            for j in range(W):
                after[j] = new[j] + update[j] * (before[j] - new[j])


@compiled
def states_backward(gradient, weight, states, gates, to_inputs, to_products):
    """From the gradient of the states (T, B, W) those of `inputs` and of what the states gave, with `weight` (3 W, W), as PyTorch has it."""
    T, B, W = gradient.shape
    onward = np.zeros((B, W), gradient.dtype)
    change = np.zeros((B, W), gradient.dtype)
    for t in range(T - 1, -1, -1):
        for b in range(B):
            reset, update = gates[t, b, :W], gates[t, b, W : 2 * W]
            new, recalled = gates[t, b, 2 * W : 3 * W], gates[t, b, 3 * W :]
            before, whole, arriving, returned = states[t, b], change[b], gradient[t, b], onward[b]
            of_reset, of_update, of_new = (
                to_inputs[t, b, :W],
                to_inputs[t, b, W : 2 * W],
                to_inputs[t, b, 2 * W :],
            )
            of_recalled = to_products[t, b, 2 * W :]
            for j in range(W):
                whole[j] = arriving[j] + returned[j]
            for j in range(W):
                of_new[j] = whole[j] * (_ONE - update[j]) * (_ONE - new[j] * new[j])
            for j in range(W):
                of_update[j] = whole[j] * (before[j] - new[j]) * update[j] * (_ONE - update[j])
            for j in range(W):
                of_recalled[j] = of_new[j] * reset[j]
            for j in range(W):
                of_reset[j] = of_recalled[j] * recalled[j] * (_ONE - reset[j])
            for j in range(W):
                whole[j] *= update[j]
            to_products[t, b, : 2 * W] = to_inputs[t, b, : 2 * W]
        np.dot(to_products[t], weight, onward)
        onward += change
