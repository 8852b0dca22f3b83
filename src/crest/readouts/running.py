"""What a readout remembers of its training batches: running averages, as batch normalisation keeps its own."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from crest._base.arrays import PerProfile, StepMask, at_least_float32


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
        if not torch.compiler.is_compiling() and torch._C._current_graph_task_id() != -1:
            return
        step = torch.where(self.batches > 0, 1 - self.momentum, 1.0) * counts
        for name, value in towards.items():
            average = getattr(self, name)
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
        present = torch.ones_like(values)
        if mask is not None:
            present = present * mask.any(1, keepdim=True)
        total = present.sum()
        return present / total.clamp(min=1), total
