"""Signals with a named nuisance of other signals, or without it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from crest._base.arrays import Signals, StepFlags, at_least_float32, valid_steps
from crest._base.doors import door
from crest._base.tensors import (
    as_flags,
    as_signals,
    require_floating,
    require_signals,
    require_tensor,
)
from crest.background import SIGMA
from crest.nuisances.lengths import on_valid_steps
from crest.nuisances.scale import robust_scale
from crest.nuisances.separated import SeparatedSignals, joint_nuisances_of, nuisances_of
from crest.nuisances.spectra import white


@door
def exchange(
    x: Signals,
    donors: Tensor,
    names: str | Sequence[str],
    mask: StepFlags | None = None,
    donor_mask: Tensor | None = None,
    *,
    sigma: float = SIGMA,
) -> Signals:
    """The signals with these nuisances of the donors', row by row, in their dtype; what is not named stays.

    A donor may have another length: drift and colour come by frequency, and tones by their size. Padding stays as it is.

    Args:
        x: (B, T, C).
        donors: (B, S, C), the donor of each row.
        names: of `crest.nuisances.NAMES` but "rate", which has no donor: one, several in a list or joined by "+".
        mask: valid steps (B, T).
        donor_mask: valid steps of the donors (B, S).
        sigma: as in `SeparatedSignals`; `sigma_of` gives it in seconds or Hz.

    Example:
        >>> x, donors = torch.zeros(1, 64, 1), torch.full((1, 64, 1), 3.0)
        >>> exchange(x, donors, "offset").unique()
        tensor([3.])
    """
    x, own = as_signals("x", x, mask)
    require_tensor("donors", donors, "(B, S, C)", (len(x), donors.shape[1:2].numel(), x.shape[2]))
    require_floating("donors", donors)
    wanted = joint_nuisances_of(names)
    if not wanted or "rate" in wanted:
        raise ValueError(
            f"names must be of nuisances that a donor can give (for rate take stretched), got {names!r}"
        )
    donors = donors.to(x.device)
    others = None if donor_mask is None else as_flags("donor_mask", donor_mask, donors)
    require_signals("donors", donors, others)
    steps = max(x.shape[1], donors.shape[1])
    dtype = torch.promote_types(x.dtype, donors.dtype)
    both = torch.cat([_padded(one.to(dtype), steps) for one in (x, donors)])
    valid = None
    if own is not None or others is not None or x.shape[1] != donors.shape[1]:
        flags = (valid_steps(own, x[..., 0]), valid_steps(others, donors[..., 0]))
        valid = torch.cat([_padded(one.unsqueeze(-1), steps).squeeze(-1) for one in flags])
    rows = torch.arange(len(x), device=x.device)
    made = (
        SeparatedSignals(both, valid, sigma=sigma)
        .exchanged(wanted, rows, rows + len(x))[:, : x.shape[1]]
        .to(x.dtype)
    )
    if x.shape != donors.shape:
        return made
    # With what is its own a signal is itself, to the bit.
    same = (x == donors).flatten(1).all(1)
    if valid is not None:
        same &= (valid[: len(x)] == valid[len(x) :]).all(1)
    return torch.where(same[:, None, None], x, made)


def _padded(values: Tensor, steps: int) -> Tensor:
    """Values (B, T, C) with zeros behind, up to as many steps."""
    made = values.new_zeros(len(values), steps, values.shape[2])
    made[:, : values.shape[1]] = values
    return made


@door
def remove(
    x: Signals, names: str | Sequence[str], mask: StepFlags | None = None, *, sigma: float = SIGMA
) -> Signals:
    """The signals without these nuisances, in their dtype; 0 on padding.

    Offset, drift and tones are subtracted. Without its gain what is fast is in units of its robust scale; without its colour
    it has a flat smoothed spectrum and the size that it had. What is not named stays as it is.

    Args:
        x: (B, T, C).
        names: of "offset", "drift", "tones", "gain" and "colour": one, several in a list or joined by "+". Rate and
            surroundings can be exchanged or stretched, but there are no signals without them.
        mask: valid steps (B, T).
        sigma: as in `SeparatedSignals`; `sigma_of` gives it in seconds or Hz.

    Example:
        >>> remove(torch.full((1, 64, 1), 3.0), "offset").abs().max()
        tensor(0.)
        >>> noise = torch.randn(1, 512, 1, generator=torch.Generator().manual_seed(1000))
        >>> torch.allclose(remove(5 * noise, "offset+drift+gain"), remove(noise, "offset+drift+gain"), atol=1e-4)
        True
    """
    x, valid = as_signals("x", x, mask)
    wanted = nuisances_of(names)
    if not wanted or {"rate", "surroundings"} & set(wanted):
        raise ValueError(
            f"names must be of offset, drift, tones, gain, colour, which can be taken off, got {names!r}"
        )
    parts = SeparatedSignals(x, valid, sigma=sigma)
    made = x.detach().to(at_least_float32(x))
    if valid is not None:
        made = made.masked_fill(~valid.unsqueeze(-1), 0.0)
    for name in ("offset", "drift"):
        if name in wanted:
            made = made - parts.part(name)
    if {"tones", "gain", "colour"} & set(wanted):
        fast = parts.part("fast")
        left = fast - parts.part("tones") if "tones" in wanted else fast
        left = on_valid_steps(white, left, valid) if "colour" in wanted else left
        if "gain" in wanted:
            # A row without a valid step holds zeros.
            counted = None if valid is None else valid | ~valid.any(1, keepdim=True)
            scale = robust_scale(left, counted)
            left = left / torch.where(scale > 0, scale, 1.0)
        made = made - fast + left
    return made.to(x.dtype)
