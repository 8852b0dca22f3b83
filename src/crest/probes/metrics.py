"""The credit probe as a torchmetrics object, for evaluation loops. Needs torchmetrics.

Not imported by `crest.probes`, which works without torchmetrics.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from crest._base.doors import door
from crest._base.extras import missing_extra
from crest.probes.credit import credit

try:
    from torchmetrics import Metric
except ImportError as error:
    raise ImportError(missing_extra("CreditInEvent", "torchmetrics", "metrics")) from error

AVERAGES = ("ecm", "precision", "cie", "chance")


@door
class CreditInEvent(Metric):
    """Averages of ECM, Prec@|E|, CiE@1 and chance level over all trajectories seen so far.

    The state is four float64 sums and two counts, so memory stays constant, processes are joined by
    adding, and a long run does not drift. The states keep their dtype under `half()`, `set_dtype` and
    `to(torch.bfloat16)`: a half-precision count stops at 2048. (Apple's MPS has no float64: leave the
    metric on the CPU there and pass it CPU tensors.)

    `compute()` gives a dict: the averages `ecm`, `precision`, `cie`, `chance` over the trajectories that
    have an event step, NaN if there was none, and the counts `n_trajectories` and `n_without_events`.

    Args:
        validate: False skips the checks that read values; see `crest.probes.credit`.
        **kwargs: What `torchmetrics.Metric` takes.

    Example:
        >>> metric = CreditInEvent()
        >>> features = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [-1.0, 1.0]]])
        >>> metric.update(features, torch.tensor([[1.0, 0.0]]), torch.tensor([[1, 0, 0, 0]]))
        >>> values = metric.compute()
        >>> values["cie"].item(), values["chance"].item(), values["n_trajectories"].item()
        (1.0, 0.25, 1)
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    ecm_sum: Tensor
    precision_sum: Tensor
    cie_sum: Tensor
    chance_sum: Tensor
    n_trajectories: Tensor
    n_without_events: Tensor

    def __init__(self, validate: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.validate = validate
        for name in AVERAGES:
            self.add_state(f"{name}_sum", torch.zeros((), dtype=torch.float64), dist_reduce_fx="sum")
        for name in ("n_trajectories", "n_without_events"):
            self.add_state(name, torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, features: Tensor, pooled: Tensor, events: Tensor, mask: Tensor | None = None) -> None:
        """Add a batch; the arguments are those of `crest.probes.credit`."""
        result = credit(features, pooled, events, mask, validate=self.validate)
        for name in AVERAGES:
            values = torch.where(result.counted, getattr(result, name), 0)
            state = f"{name}_sum"
            setattr(self, state, getattr(self, state) + values.sum(dtype=torch.float64))
        self.n_trajectories = self.n_trajectories + result.n_trajectories
        self.n_without_events = self.n_without_events + (~result.counted).sum()

    def compute(self) -> dict[str, Tensor]:
        """The averages (float64) and the counts (int64) by name."""
        counted = self.n_trajectories - self.n_without_events
        averages = {name: getattr(self, f"{name}_sum") / counted for name in AVERAGES}
        return averages | {"n_trajectories": self.n_trajectories, "n_without_events": self.n_without_events}

    def _apply(self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = "") -> nn.Module:
        """Follow the module to another device, but not to another dtype."""

        def move(state: Tensor) -> Tensor:
            moved = fn(state)
            return moved if moved.dtype == state.dtype else state.to(moved.device)

        return super()._apply(move, exclude_state)
