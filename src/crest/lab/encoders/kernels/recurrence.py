"""A layer of gated recurrent units in float32, compiled by numba: a step is a product of matrices and some loops."""

import numpy as np

from crest.readouts.fast.kernels.tiles import compiled, inlined

# Numbers of Python would make every product one of float64.
_HALF, _ONE = np.float32(0.5), np.float32(1)
# tanh in float32 as a quotient of polynomials in the square, which vector units take (Eigen's): within 4e-7.
_REACH = np.float32(7.90531110763549805)
_A0, _A1 = np.float32(4.89352455891786e-03), np.float32(6.37261928875436e-04)
_A2, _A3 = np.float32(1.48572235717979e-05), np.float32(5.12229709037114e-08)
_A4, _A5, _A6 = (np.float32(a) for a in (-8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16))
_B0, _B1 = np.float32(4.89352518554385e-03), np.float32(2.26843463243900e-03)
_B2, _B3 = np.float32(1.18534705686654e-04), np.float32(1.19825839466702e-06)


@inlined
def _tanh(value):
    # In this order of the arguments NaN stays NaN.
    x = min(max(value, -_REACH), _REACH)
    s = x * x
    above = (((((_A6 * s + _A5) * s + _A4) * s + _A3) * s + _A2) * s + _A1) * s + _A0
    below = ((_B3 * s + _B2) * s + _B1) * s + _B0
    return x * above / below


# Products of numbers that a BLAS library does on one thread (OpenBLAS: up to 4 x 65536): threads of its own would compete with torch's.
_SMALL = 200_000


@compiled
def _multiplied(left, right, out):
    """Write the product of two matrices, on one thread."""
    rows = max(1, _SMALL // right.size)
    for first in range(0, len(left), rows):
        np.dot(left[first : first + rows], right, out[first : first + rows])


# Short loops with few arrays each, and no sums in an index: else LLVM takes one number at a time.
@compiled
def states_forward(inputs, weight, bias, states, gates):
    """The states (T, B, W) from zero on, and for each step the gates (4 W): reset, update, new, and what the new one recalls.

    `inputs` (T, B, 3 W) is what the signals give to the first three, `weight` (W, 3 W) what a state does. `gates` has T steps, or one
    that is written over.
    """
    T, B, W = states.shape
    products, start = np.zeros((B, 3 * W), inputs.dtype), np.zeros((B, W), inputs.dtype)
    for t in range(T):
        earlier = states[t - 1] if t else start
        step = gates[t if len(gates) == T else 0]
        # Before the first step the state is zero, and so is what it gives.
        if t:
            _multiplied(earlier, weight, products)
        for b in range(B):
            given, own, before, after = inputs[t, b], products[b], earlier[b], states[t, b]
            switches, update = step[b, : 2 * W], step[b, W : 2 * W]
            new, recalled = step[b, 2 * W : 3 * W], step[b, 3 * W :]
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
    onward, change = np.zeros((B, W), gradient.dtype), np.zeros((B, W), gradient.dtype)
    start = np.zeros((B, W), gradient.dtype)
    # `onward` is what later steps send back through the product, `change` what the update gate lets through beside it.
    for t in range(T - 1, -1, -1):
        earlier = states[t - 1] if t else start
        for b in range(B):
            reset, update = gates[t, b, :W], gates[t, b, W : 2 * W]
            new, recalled = gates[t, b, 2 * W : 3 * W], gates[t, b, 3 * W :]
            before, whole, arriving, returned = earlier[b], change[b], gradient[t, b], onward[b]
            into = to_inputs[t, b]
            of_reset, of_update, of_new = into[:W], into[W : 2 * W], into[2 * W :]
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
            to_products[t, b, : 2 * W] = into[: 2 * W]
        _multiplied(to_products[t], weight, onward)
        onward += change
