"""Signals of several lengths in one padded batch: a function that knows no masks, applied to their valid steps."""

from collections.abc import Callable

import torch
from torch import Tensor

from crest._base.arrays import Signals, StepMask


def on_valid_steps(function: Callable[[Tensor], Tensor], signals: Signals, mask: StepMask | None) -> Signals:
    """What the function gives for the valid steps of each row, at their places; 0 on padding.

    Rows with as many valid steps are given together.

    Args:
        function: from (B, T, C) to the same shape.
        signals: (B, T, C).
        mask: valid steps (B, T).

    Example:
        >>> x, mask = torch.tensor([[[1.0], [3.0], [9.0]]]), torch.tensor([[True, True, False]])
        >>> on_valid_steps(lambda x: x - x.mean(1, keepdim=True), x, mask).flatten()
        tensor([-1.,  1.,  0.])
    """
    if mask is None:
        return function(signals)
    made = torch.zeros_like(signals)
    lengths = mask.sum(1)
    for length in sorted(set(lengths.tolist())):
        if length:
            chosen = mask & (lengths == length).unsqueeze(1)
            given = signals[chosen].reshape(-1, length, signals.shape[2])
            made = made.masked_scatter(chosen.unsqueeze(-1), function(given))
    return made
