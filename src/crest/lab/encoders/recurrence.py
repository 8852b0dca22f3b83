"""The states of a layer of gated recurrent units, compiled: one pass forward in time, and one backward.

PyTorch takes some thirty small operators for a step on a CPU, each with an entry in its graph; here a step is one product of matrices and
one loop. `torch.nn.GRU` is what this must agree with.
"""

from typing import Any

import torch
from torch import Tensor, nn

from crest.arrays import Features, Signals
from crest.ops.kernels.recurrence import states_backward, states_forward

_WEIGHTS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def gru_states(layer: nn.GRU, x: Signals) -> Features:
    """What `layer(x)[0]` gives for a layer of one direction that is batch first, from a state of zero.

    Differentiable once, in the signals and the layer's weights.

    Example:
        >>> layer, x = nn.GRU(3, 4, batch_first=True), torch.randn(2, 10, 3)
        >>> torch.allclose(gru_states(layer, x), layer(x)[0], atol=1e-6)
        True
    """
    series = x.transpose(0, 1)
    # A weight that is contiguous this way round has a gradient that is six times as fast where channels are few.
    of_inputs, of_states, input_bias, state_bias = (layer.get_parameter(name) for name in _WEIGHTS)
    inputs = torch.addmm(input_bias, series.reshape(-1, x.shape[2]), of_inputs.t().contiguous())
    states: Tensor = _States.apply(  # type: ignore[no-untyped-call]
        inputs.view(*series.shape[:2], len(of_inputs)), of_states, state_bias
    )
    return states.transpose(0, 1)


class _States(torch.autograd.Function):
    """The states (T, B, D) from what the inputs give to the gates (T, B, 3 D): reset, update and new, as PyTorch orders them."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Step by step; the gates are kept for the way back."""
        steps, batch, _ = inputs.shape
        width = weight.shape[1]
        states = inputs.new_empty(steps + 1, batch, width)
        gates = inputs.new_empty(steps, batch, 4 * width)
        states_forward(
            inputs.detach().contiguous().numpy(),
            weight.detach().t().contiguous().numpy(),
            bias.detach().numpy(),
            states.numpy(),
            gates.numpy(),
        )
        ctx.save_for_backward(weight, states, gates)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients of what the inputs give, of the weight and of the bias."""
        if (
            torch.is_grad_enabled()
        ):  # PyTorch's own guard is silent where the gradient that comes in is a constant
            raise RuntimeError(
                "the compiled GRU has no second derivative: a graph of its gradients was asked for"
            )
        weight, states, gates = ctx.saved_tensors
        to_inputs = gates.new_empty(*gates.shape[:2], len(weight))
        to_products = torch.empty_like(to_inputs)
        states_backward(
            gradient.contiguous().numpy(),
            weight.detach().contiguous().numpy(),
            states.numpy(),
            gates.numpy(),
            to_inputs.numpy(),
            to_products.numpy(),
        )
        products = to_products.flatten(0, 1)
        return to_inputs, products.t() @ states[:-1].flatten(0, 1), products.sum(0)
