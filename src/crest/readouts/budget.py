"""How many steps to select, and how strongly to contrast them: the label-free budget, its weight, and its running averages.

Profiles have time last and any leading axes, so that trajectories, or halves of their channels, go at once.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from crest._base.arrays import PerProfile, Profile, ProfileMask, StepMask, at_least_float32
from crest.background.transience import in_order
from crest.readouts.config import CrestConfig

# our choice: docs/evidence/choices.md#flat-profiles
_FLAT = 1e-6

_DEFAULT = CrestConfig()


def unit_profile(profile: Profile, mask: ProfileMask | None = None) -> Profile:
    """S_t: the profile scaled to [0, 1] over its valid steps; 0 everywhere if it is flat.

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
    unit = unit_profile(profile, mask)
    return _unit_width(unit, _steps(unit, mask), delta)


def otsu_tail(profile: Profile, mask: ProfileMask | None = None) -> PerProfile:
    """Share of the valid steps in the upper of Otsu's two classes of S_t; 1 for a flat profile.

    The exact form: of all splits of the sorted values, the one with the largest variance between classes.

    Example:
        >>> otsu_tail(torch.tensor([0.1, 0.0, 0.9, 0.1, 0.2, 1.0, 0.0, 0.1]))
        tensor(0.2500)
    """
    unit = unit_profile(profile, mask)
    return _unit_tail(unit, mask, _steps(unit, mask))


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
    steps = _steps(unit, mask)
    return _unit_width(unit, steps, delta), _unit_tail(unit, mask, steps)


def _steps(unit: Profile, mask: ProfileMask | None) -> PerProfile:
    """How many valid steps there are."""
    return (
        torch.full_like(unit[..., 0], unit.shape[-1])
        if mask is None
        else mask.expand_as(unit).sum(-1).to(unit.dtype)
    )


def _unit_width(unit: Profile, steps: PerProfile, delta: float) -> PerProfile:
    share = unit / unit.sum(-1, keepdim=True).clamp(min=delta)
    concentration = share.square().sum(-1) * steps
    return torch.where(concentration > 0, 1 / concentration.clamp(min=1.0), 1.0)


def _unit_tail(unit: Profile, mask: ProfileMask | None, steps: PerProfile) -> PerProfile:
    # Padding is below all of S_t, so it comes last; clamped to zero it adds nothing to the sums.
    # In place, and none kept: at a million steps of eight features each array of this length is an eighth of the features.
    descending = in_order(unit if mask is None else unit.masked_fill(~mask, -1.0)).flip(-1)
    steps = steps.unsqueeze(-1)
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
    """The estimated event fraction: a sharp-core estimate from b, blended into Otsu's tail if b is wide.

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


class RunningAverages(nn.Module):
    """Averages over training batches, saved in the `state_dict`.

    Args:
        momentum: what a batch leaves of the averages; the first batch sets them.
        **start: the averages by name, before any batch.
    """

    batches: Tensor

    def __init__(self, momentum: float, **start: Tensor) -> None:
        super().__init__()
        self.momentum = momentum
        self.averaged = tuple(start)
        for name, value in start.items():
            self.register_buffer(name, value)
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))

    def move(self, counts: Tensor, **towards: Tensor) -> None:
        """Move the averages towards these values of a batch, if it `counts`.

        Nothing moves during a backward pass: an activation checkpoint then repeats a forward pass that was
        counted already, and its gradients must be those of the same averages.
        """
        # Only a backward pass has a graph task. While a graph is traced the question cannot be asked.
        if not torch.compiler.is_compiling() and torch._C._current_graph_task_id() != -1:
            return
        # The first batch sets the averages. A `where` and no `if`: Python would have to wait for a GPU to know the number.
        step = torch.where(self.batches > 0, 1 - self.momentum, 1.0) * counts
        for name, value in towards.items():
            average = getattr(self, name)
            # In place: it stays the buffer that is saved, and that a data-parallel wrapper broadcasts.
            average += step * (value - average)
        self.batches += counts

    def reset_parameters(self) -> None:
        """Forget the averages, as after `to_empty`."""
        for buffer in self.buffers():
            buffer.zero_()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "RunningAverages":
        """Move and cast, but stay in float32 at least: in half precision a running average stalls."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name in self.averaged:
            value = getattr(self, name)
            setattr(self, name, value.to(at_least_float32(value)))
        return self

    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, *arguments: Any, **keywords: Any
    ) -> None:
        """Take a checkpoint from before the pooling layer was replaced: no averages means none seen."""
        own = {prefix + name: buffer for name, buffer in self.named_buffers()}
        if not any(name in state_dict for name in own):
            state_dict |= {name: torch.zeros_like(buffer) for name, buffer in own.items()}
        super()._load_from_state_dict(state_dict, prefix, *arguments, **keywords)


class RunningBudget(RunningAverages):
    """Averages of the participation width and the Otsu tail over training batches.

    Args:
        momentum: what a batch leaves of the averages; the first batch sets them.

    Example:
        >>> running = RunningBudget(momentum=0.5)
        >>> running.observe(torch.tensor([[0.2], [0.4]]), torch.tensor([[0.1], [0.1]]), None)
        >>> running.observe(torch.tensor([[0.5]]), torch.tensor([[0.1]]), None)
        >>> running.width, int(running.batches)
        (tensor(0.4000), 2)
    """

    width: Tensor
    tail: Tensor

    def __init__(self, momentum: float) -> None:
        super().__init__(momentum, width=torch.zeros(()), tail=torch.zeros(()))

    def extra_repr(self) -> str:
        """What was seen, for `print(model)`."""
        if self.width.is_meta or not int(self.batches):
            return "no batch seen"
        return f"width {float(self.width):.3g}, tail {float(self.tail):.3g}"

    def forward(self, width: PerProfile, tail: PerProfile) -> tuple[PerProfile, PerProfile]:
        """The averages for every trajectory, or its own values as long as no batch was seen."""
        # Chosen on the device, as in `move`.
        seen = self.batches > 0
        return (
            torch.where(seen, self.width.to(width.dtype), width),
            torch.where(seen, self.tail.to(tail.dtype), tail),
        )

    def observe(self, width: PerProfile, tail: PerProfile, mask: StepMask | None) -> None:
        """Move the averages towards this batch; trajectories without a valid step do not count."""
        share, total = self._shares(width, mask)
        self.move(total > 0, width=(width * share).sum(), tail=(tail * share).sum())

    def average(self, batches: list[tuple[Tensor, Tensor, Tensor | None]]) -> None:
        """Set the averages to the plain ones over these batches of (width, tail, mask)."""
        width, tail, trajectories = 0.0, 0.0, 0.0
        for own_width, own_tail, mask in batches:
            share, total = self._shares(own_width, mask)
            width += float((own_width * share).sum() * total)
            tail += float((own_tail * share).sum() * total)
            trajectories += float(total)
        if trajectories == 0:
            raise ValueError("batches must hold at least one trajectory with a valid step, got none")
        self.width.fill_(width / trajectories)
        self.tail.fill_(tail / trajectories)
        self.batches.fill_(len(batches))

    @staticmethod
    def _shares(values: PerProfile, mask: StepMask | None) -> tuple[PerProfile, Tensor]:
        """Each entry's share in an average over trajectories with a valid step, and the number of these."""
        # Shares and not a mean over some rows: to pick rows by a mask asks a GPU how many there are.
        present = torch.ones_like(values)
        if mask is not None:
            present = present * mask.any(1, keepdim=True)
        total = present.sum()
        return present / total.clamp(min=1), total
