"""A linear layer for few inputs: the same numbers as PyTorch's, with a gradient that is several times as fast."""

import torch
from torch import Tensor, nn


def few_channel_map(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """What `torch.nn.functional.linear` gives for x (A, B, C).

    PyTorch takes the gradient of a weight as (outputs, A B) times (A B, C), which is slow where C is 3; of a weight that is contiguous the
    other way round as (C, A B) times (A B, outputs).

    Example:
        >>> few_channel_map(torch.ones(1, 1, 2), torch.tensor([[2.0, 3.0]]), torch.tensor([1.0]))
        tensor([[[6.]]])
    """
    flat = torch.addmm(bias, x.reshape(-1, x.shape[2]), weight.t().contiguous())
    return flat.view(*x.shape[:2], len(weight))


class FewChannelLinear(nn.Linear):
    """`torch.nn.Linear` with a bias, by `few_channel_map`."""

    def forward(self, x: Tensor) -> Tensor:
        """(A, B, C) to (A, B, outputs)."""
        return few_channel_map(x, self.weight, self.bias)
