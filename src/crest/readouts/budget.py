"""How many steps to select, and how strongly to contrast them: the label-free budget and its weight.

Profiles have time last and any leading axes, so that trajectories, or halves of their channels, go at once.
"""

import torch

from crest._base.arrays import PerProfile, Profile, ProfileMask
from crest.background.selection import in_order
from crest.readouts.config import CrestConfig

# our choice: docs/choices.md#flat-profiles
_FLAT = 1e-6

_DEFAULT = CrestConfig()


def unit_profile(profile: Profile, mask: ProfileMask | None = None) -> Profile:
    """S_t: the profile scaled to [0, 1] over its valid steps; 0 everywhere where it is flat.

    Example:
        >>> unit_profile(torch.tensor([1.0, 3.0, 2.0]))
        tensor([0.0000, 1.0000, 0.5000])
    """
    if mask is None:
        # Without padding nothing is filled: at a million steps each pass costs as much as pooling them.
        low, high = profile.amin(-1, keepdim=True), profile.amax(-1, keepdim=True)
        peaked = high - low > _FLAT * high.abs()
    else:
        low = profile.masked_fill(~mask, torch.inf).amin(-1, keepdim=True)
        high = profile.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)
        peaked = mask & (high - low > _FLAT * high.abs())
    scaled = (profile - low) / torch.where(peaked, high - low, 1.0)
    return scaled.where(peaked, 0.0)


def participation_width(
    profile: Profile, mask: ProfileMask | None = None, delta: float = _DEFAULT.delta
) -> PerProfile:
    """The width b = 1 / (T sum P^2): near 0 for one sharp peak, 1 for a flat profile.

    Example:
        >>> participation_width(torch.tensor([[0.0, 1.0, 0.0, 0.0], [0.3, 0.3, 0.3, 0.3]]))
        tensor([0.2500, 1.0000])
    """
    return _unit_width(unit_profile(profile, mask), mask, delta)


def otsu_tail(profile: Profile, mask: ProfileMask | None = None) -> PerProfile:
    """Share of the valid steps in the upper of Otsu's two classes of S_t; 1 for a flat profile.

    The exact form: of all splits of the sorted values, the one with the largest variance between classes.

    Example:
        >>> otsu_tail(torch.tensor([0.1, 0.0, 0.9, 0.1, 0.2, 1.0, 0.0, 0.1]))
        tensor(0.2500)
    """
    return _unit_tail(unit_profile(profile, mask), mask)


def width_and_tail(
    profile: Profile, mask: ProfileMask | None = None, delta: float = _DEFAULT.delta
) -> tuple[PerProfile, PerProfile]:
    """Both at once, for the price of one scaled profile.

    Example:
        >>> width, tail = width_and_tail(torch.tensor([0.1, 0.0, 0.9, 0.1, 0.2, 1.0, 0.0, 0.1]))
        >>> tail
        tensor(0.2500)
    """
    unit = unit_profile(profile, mask)
    return _unit_width(unit, mask, delta), _unit_tail(unit, mask)


def _steps(unit: Profile, mask: ProfileMask | None) -> PerProfile:
    """How many valid steps there are."""
    return (
        torch.full_like(unit[..., 0], unit.shape[-1])
        if mask is None
        else mask.expand_as(unit).sum(-1).to(unit.dtype)
    )


def _unit_width(unit: Profile, mask: ProfileMask | None, delta: float) -> PerProfile:
    share = unit / unit.sum(-1, keepdim=True).clamp(min=delta)
    concentration = share.square().sum(-1) * _steps(unit, mask)
    return torch.where(concentration > 0, 1 / concentration.clamp(min=1.0), 1.0)


def _unit_tail(unit: Profile, mask: ProfileMask | None) -> PerProfile:
    # In place, and none kept: at a million steps of eight features each array of this length is an eighth of the features.
    descending = in_order(unit if mask is None else unit.masked_fill(~mask, -1.0)).flip(-1)
    steps = _steps(unit, mask).unsqueeze(-1)
    upper = torch.arange(1, unit.shape[-1] + 1, device=unit.device, dtype=unit.dtype)
    lower = steps - upper
    upper_sum = descending.clamp_(min=0.0).cumsum_(-1)
    total = upper_sum[..., -1:].clone()
    gap = (total - upper_sum).div_(lower.clamp(min=1.0)).neg_().add_(upper_sum.div_(upper))
    between = gap.square_().mul_(upper * lower).masked_fill_(lower < 1, -1.0)
    split = between.argmax(-1, keepdim=True)
    tail = (split + 1).to(steps.dtype) / steps.clamp(min=1.0)
    return torch.where(total > 0, tail, 1.0).squeeze(-1)


def event_budget(width: PerProfile, tail: PerProfile, config: CrestConfig = _DEFAULT) -> PerProfile:
    """The estimated event fraction: a sharp-core estimate from b, blended into Otsu's tail where b is wide.

    Example:
        >>> event_budget(torch.tensor([0.40, 0.50, 0.60]), torch.tensor([0.2, 0.2, 0.2]))
        tensor([0.0500, 0.1525, 0.2000])
    """
    low, high = config.epsilon_min, config.epsilon_max
    core = (config.core_slope * width - config.core_offset).clamp(low, high)
    gate = ((width - config.gate_start) / config.gate_width).clamp(0.0, 1.0)
    return (1 - gate) * core + gate * tail.clamp(low, high)


def contrast_weight(epsilon: PerProfile, config: CrestConfig = _DEFAULT) -> PerProfile:
    """The weight alpha of event-versus-rest: strong for a sharp core, one half for a broad one.

    Example:
        >>> contrast_weight(torch.tensor([0.0, 0.1, 0.5]))
        tensor([1.0000, 0.7625, 0.5000])
    """
    return (config.alpha_offset - config.alpha_slope * epsilon).clamp(config.alpha_min, config.alpha_max)
