"""How transient each step is: the low-pass residual r_tj of each channel and its average r_t."""

import torch

from crest._base.arrays import Features, Pooled, Profile, StepMask, at_least_float32
from crest.background.slow import SIGMA, Background, slow_background

RESIDUAL_GUARD = 1e-12
"""Guard of the division by a sum of residuals.

Our choice: docs/choices.md#delta
"""

RESIDUAL_FLOOR = 1e-5
"""Residuals below this share of the channel's reach are none.

Our choice: docs/choices.md#ties-masks-and-the-empty-rest
"""


def from_first_step(features: Features, mask: StepMask | None = None) -> tuple[Features, Pooled]:
    """Features less each channel's first valid step, and that step (B, D); padding becomes 0.

    Residuals and contrasts do not change, but a constant becomes exactly zero instead of rounding noise. The
    first step is detached: where it is taken off and added again, its gradients cancel.

    Example:
        >>> from_first_step(torch.tensor([[[0.1], [0.1], [0.3]]]))[0].flatten()
        tensor([0.0000, 0.0000, 0.2000])
    """
    if mask is None:
        first = features[:, 0].detach()
        return features - first.unsqueeze(1), first
    start = mask.to(torch.int64).argmax(1)
    first = features.detach().gather(1, start[:, None, None].expand(-1, 1, features.shape[2])).squeeze(1)
    first = first.masked_fill(~mask.any(1, keepdim=True), 0.0)
    return (features - first.unsqueeze(1)).masked_fill(~mask.unsqueeze(-1), 0.0), first


def channel_transience(
    features: Features,
    mask: StepMask | None = None,
    sigma: float = SIGMA,
    delta: float = RESIDUAL_GUARD,
    background: Background = slow_background,
) -> Features:
    """r_tj: each channel's distance from its background, the paper's low-pass, normalised to sum to one over time.

    In float32 at least. Padded steps are 0, and so is a constant channel. Residuals below 1e-5 of the
    channel's range are 0: that is where rounding begins, and what it leaves must not be ranked.

    Example:
        >>> features = torch.zeros(1, 64, 1)
        >>> features[0, 20] = 1.0
        >>> int(channel_transience(features).argmax())
        20
    """
    shifted, _ = from_first_step(features.to(at_least_float32(features)), mask)
    return shifted_transience(shifted, mask, sigma, delta, background)


def shifted_transience(
    shifted: Features, mask: StepMask | None, sigma: float, delta: float, background: Background
) -> Features:
    """`channel_transience` of features that `from_first_step` gave.

    Example:
        >>> features = torch.tensor([[[4.0], [4.0], [7.0]]])
        >>> shifted, _ = from_first_step(features)
        >>> shifted_transience(shifted, None, 6.0, 1e-12, slow_background).equal(channel_transience(features))
        True
    """
    # In units of the channel's range, so that neither delta nor the float's limits see the features' scale.
    reach = shifted.abs().amax(1, keepdim=True)
    shifted = shifted / torch.where(reach > 0, reach, 1.0)
    residual = (shifted - background(shifted, mask, sigma=sigma)).abs()
    residual = torch.nn.functional.threshold(residual, RESIDUAL_FLOOR, 0.0)
    # A clamp where the paper adds delta: ONNX's optimiser drops an addition this small, and 0/0 follows.
    return residual / residual.sum(1, keepdim=True).clamp(min=delta)


def transience_profile(transience: Features) -> Profile:
    """r_t: the average of r_tj over channels."""
    return transience.mean(-1)
