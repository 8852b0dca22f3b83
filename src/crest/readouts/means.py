"""Means of the features over what is selected, the rest, and all; and their contrast."""

from typing import NamedTuple

import torch
from torch import Tensor

from crest._base.arrays import Features, Pooled, Selection, StepMask, at_least_float32, valid_steps
from crest.background.transience import from_first_step


class MaskedMeans(NamedTuple):
    """Means of the features over the selected, the remaining and all valid steps."""

    selected: Pooled
    rest: Pooled
    everything: Pooled


def masked_means(features: Features, selected: Selection, mask: StepMask | None = None) -> MaskedMeans:
    """F_sel, F_rest and F_global, channel by channel.

    Where a channel selects every valid step there is no rest: it is then the global mean, so that the
    contrast is zero. A trajectory without valid steps gives zeros.

    Example:
        >>> features = torch.tensor([[[1.0], [5.0], [3.0]]])
        >>> masked_means(features, features > 4).rest
        tensor([[2.]])
    """
    # From the first step, so that a large common offset costs no digits.
    shifted, first = from_first_step(features.to(at_least_float32(features)), mask)
    return shifted_means(shifted, first, selected, mask)


def shifted_means(
    shifted: Features, first: Pooled, selected: Selection, mask: StepMask | None = None
) -> MaskedMeans:
    """`masked_means` of features that `from_first_step` gave, with the first step added again.

    Example:
        >>> shifted, first = from_first_step(torch.tensor([[[1.0], [5.0], [3.0]]]))
        >>> shifted_means(shifted, first, shifted > 3).rest
        tensor([[2.]])
    """
    dtype = shifted.dtype
    valid = valid_steps(mask, selected[..., 0]).unsqueeze(-1)
    steps = valid.sum(1)
    # Products with weights: several times faster than `where`, forward and backward.
    keep = (selected & valid).to(dtype)
    size = keep.sum(1)
    left = steps - size
    inside = (shifted * (keep / size.clamp(min=1).unsqueeze(1))).sum(1)
    outside = (shifted * ((valid.to(dtype) - keep) / left.clamp(min=1).unsqueeze(1))).sum(1)
    share = size / steps.clamp(min=1)
    everything = share * inside + (1 - share) * outside
    rest = torch.where(left > 0, outside, everything)
    return MaskedMeans(inside + first, rest + first, everything + first)


def contrast(means: MaskedMeans, alpha: Tensor) -> Pooled:
    """P = alpha (F_sel - F_rest) + (1 - alpha) F_global.

    Example:
        >>> one, two, three = torch.ones(1, 1), torch.full((1, 1), 2.0), torch.full((1, 1), 3.0)
        >>> contrast(MaskedMeans(selected=three, rest=one, everything=two), torch.tensor([[0.75]]))
        tensor([[2.]])
    """
    return alpha * (means.selected - means.rest) + (1 - alpha) * means.everything


def share_over_steps(weights: Tensor) -> Tensor:
    """Weights (B, T, ...) divided by their sum over steps; zero where that is zero.

    Example:
        >>> share_over_steps(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
        tensor([[0.2500, 0.7500],
                [0.0000, 0.0000]])
    """
    total = weights.sum(1, keepdim=True)
    return weights / torch.where(total == 0, 1.0, total)
