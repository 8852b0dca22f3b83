"""One number for how far predictions are from targets."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from crest.arrays import at_least_float32
from crest.checks.doors import door
from crest.checks.tensors import as_per_trajectory

ErrorOf: TypeAlias = Callable[[Tensor, Tensor], Tensor | float]
"""From predictions (B,) or (B, K) and targets (B,) to one number."""


@door
def rmse(prediction: Tensor, target: Tensor) -> Tensor:
    """Root mean square error.

    Example:
        >>> rmse(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0]))
        tensor(1.4142)
    """
    if prediction.shape != target.shape or torch.bool in (prediction.dtype, target.dtype):
        raise ValueError(
            "prediction and target must be numbers of one shape, got "
            f"{tuple(prediction.shape)} of {prediction.dtype} and {tuple(target.shape)} of {target.dtype}"
        )
    return (prediction - target).square().mean().sqrt()


@door
def rmse_or_error_rate(predictions: Tensor, targets: Tensor) -> Tensor:
    """Root mean square error of predictions (B,) or (B, 1); for logits (B, K), the share of wrong classes.

    Example:
        >>> logits = torch.tensor([[2.0, 1.0], [0.0, 3.0]])
        >>> rmse_or_error_rate(logits, torch.tensor([0, 0])), rmse_or_error_rate(torch.ones(2), torch.zeros(2))
        (tensor(0.5000), tensor(1.))
    """
    if targets.ndim not in (1, 2) or torch.bool in (predictions.dtype, targets.dtype):
        raise ValueError(
            f"predictions and targets must be numbers for each trajectory, got {predictions.dtype} and "
            f"{targets.dtype} of {targets.ndim} axes"
        )
    if predictions.ndim == 2 and predictions.shape[1] > 1:
        return (predictions.argmax(1) != targets).to(torch.float32).mean()
    predictions = as_per_trajectory("predictions must be", predictions, len(targets))
    dtype = at_least_float32(predictions, targets)
    return rmse(predictions.to(dtype), targets.to(dtype))
