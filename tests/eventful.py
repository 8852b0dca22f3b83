"""Features with an event each, and masks of given lengths."""

import torch
from torch import Tensor


def trajectories(batch: int = 3, steps: int = 70, width: int = 5, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(batch, steps, width, dtype=torch.float64, generator=generator)
    for row in range(batch):
        start = int(torch.randint(steps, (1,), generator=generator))
        features[row, start : start + 3] += 4 * torch.randn(width, dtype=torch.float64, generator=generator)
    return features


def lengths_mask(steps: int, lengths: list[int]) -> Tensor:
    return torch.arange(steps) < torch.tensor(lengths)[:, None]
