"""A GRU whose steps are compiled: one pass forward in time, and one backward.

PyTorch takes some thirty small operators for a step on a CPU, each with an entry in its graph. `torch.nn.GRU` is what this must
agree with, and what runs wherever the compiled steps do not serve.
"""

from typing import Any

import torch
from torch import Tensor, nn

from crest._base.arrays import Signals
from crest.lab.encoders.few_channels import few_channel_map
from crest.lab.encoders.kernels.recurrence import states_backward, states_forward
from crest.readouts.fast import serves

_WEIGHTS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


class CompiledGru(nn.GRU):
    """One layer of `torch.nn.GRU`, forward in time and batch first, from a state of zero: same weights, same states up to rounding.

    In float32 on a CPU its steps are compiled; they have no second derivative. Elsewhere, under autocast, in exported graphs, under
    `torch.func` and with `crest.readouts.fast.backend("torch")` PyTorch's own run.

    Example:
        >>> layer, x = CompiledGru(3, 4), torch.randn(2, 10, 3)
        >>> torch.allclose(layer(x)[0], torch.nn.GRU.forward(layer, x)[0], atol=1e-6)
        True
    """

    def __init__(self, channels: int, width: int) -> None:
        super().__init__(channels, width, batch_first=True)

    def forward(self, x: Signals) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """States (B, T, D), and the last of them (1, B, D), as PyTorch returns it."""
        plain = not serves(x) or torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu")
        if plain or x.dtype != torch.float32 or x.numel() == 0:
            states, last = super().forward(x)
            return states, last
        of_inputs, of_states, input_bias, state_bias = (getattr(self, name) for name in _WEIGHTS)
        inputs = few_channel_map(x.transpose(0, 1), of_inputs, input_bias)
        by_time: Tensor = _States.apply(inputs, of_states, state_bias)  # type: ignore[no-untyped-call]
        return by_time.transpose(0, 1), by_time[-1:]


class _States(torch.autograd.Function):
    """The states (T, B, D) from what the inputs give to the gates (T, B, 3 D): reset, update and new, as PyTorch orders them."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Step by step; the gates are kept for the way back, if there is one."""
        steps, batch, _ = inputs.shape
        width = weight.shape[1]
        states = inputs.new_empty(steps, batch, width)
        gates = inputs.new_empty(steps if any(ctx.needs_input_grad) else 1, batch, 4 * width)
        states_forward(
            inputs.detach().contiguous().numpy(),
            weight.detach().t().contiguous().numpy(),
            bias.detach().numpy(),
            states.numpy(),
            gates.numpy(),
        )
        ctx.save_for_backward(weight, states, gates)
        return states

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients of what the inputs give, of the weight and of the bias."""
        # PyTorch's own guard is silent if the gradient that comes in is a constant.
        if torch.is_grad_enabled():
            raise RuntimeError(
                "the compiled GRU has no second derivative: a graph of its gradients was requested"
            )
        weight, states, gates = ctx.saved_tensors
        to_inputs = gates.new_empty(*gates.shape[:2], len(weight))
        to_products = torch.empty_like(to_inputs)
        states_backward(
            gradient.contiguous().numpy(),
            weight.detach().contiguous().numpy(),
            states.detach().numpy(),
            gates.numpy(),
            to_inputs.numpy(),
            to_products.numpy(),
        )
        # The first step has no state before it.
        of_weight = to_products[1:].flatten(0, 1).t() @ states[:-1].flatten(0, 1)
        return to_inputs, of_weight, to_products.sum((0, 1))
