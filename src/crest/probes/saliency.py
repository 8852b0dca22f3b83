"""Input saliency: the gradient of the prediction with respect to each step's input."""

from collections.abc import Callable

import torch
from torch import Tensor

from crest._base.arguments import require_choice
from crest._base.arrays import StepScores, at_least_float32
from crest._base.doors import door
from crest._base.tensors import as_signals, predictions

_ORDERS = {"l2": 2.0, "l1": 1.0, "max": float("inf")}


@door
def saliency(
    function: Callable[[Tensor], Tensor],
    inputs: Tensor,
    reduce: str = "l2",
    *,
    target: int | Tensor | None = None,
) -> StepScores:
    """Size of the input gradient at each step, (B, T), non-negative, without a graph.

    The outputs are summed over the batch before the gradient is taken, so the trajectories must not
    influence each other: put the model in evaluation mode. The caller's tensors and the `.grad`
    of the parameters stay as they are, and an outer `no_grad` or `inference_mode` does not matter. On a
    GPU, cuDNN's recurrent layers in evaluation mode refuse a backward pass: call this under
    `torch.backends.cudnn.flags(enabled=False)`.

    Args:
        function: Any callable from (B, T, C) to (B,) or (B, 1); to (B, K) with a target.
        inputs: (B, T, C).
        reduce: Norm over the channels of a step: "l2", "l1" or "max".
        target: Which of K outputs the gradient is of, such as a class: a whole number, or one for each trajectory, (B,).

    Example:
        >>> saliency(lambda x: 3 * x[:, 1, 0] + 4 * x[:, 1, 1], torch.zeros(1, 2, 2))
        tensor([[0., 5.]])
        >>> saliency(lambda x: x[:, 0], torch.zeros(1, 2, 2), target=1)
        tensor([[1., 0.]])
    """
    require_choice("reduce", reduce, _ORDERS)
    as_signals("inputs", inputs, None)
    with torch.inference_mode(False), torch.enable_grad():
        leaf = inputs.detach().clone().requires_grad_()
        total = predictions(function, leaf, target).sum()
        gradient = torch.autograd.grad(total, leaf, allow_unused=True)[0] if total.requires_grad else None
    if gradient is None:
        raise ValueError(
            "function must depend on inputs through differentiable operations, got an output without a "
            "gradient with respect to them (is it detached, or computed under no_grad?)"
        )
    size: Tensor = torch.linalg.vector_norm(gradient.to(at_least_float32(gradient)), _ORDERS[reduce], dim=-1)
    return size
