"""Some of the audited trajectories step by step, for the page."""

from typing import Any

import torch
from torch import Tensor

from crest._audit.readings import Readings
from crest._base.arrays import StepMask
from crest.probes.rates import scores_at
from crest.probes.traces import Trace, Traces
from crest.strangers.batch import Batch

SHOWN = 12
"""How many."""


def shown_traces(
    batch: Batch,
    answers: Tensor,
    read: Readings | None,
    core: StepMask,
    events: Tensor | None,
    *,
    of_classes: bool,
) -> Traces:
    """Some trajectories, from the lowest target to the highest if there are targets: the same for any model.

    Args:
        batch: what the model was asked about.
        answers: its predictions.
        read: what its pooling interface showed.
        core: (N, T), the most transient steps.
        events: (N, T), if they are known.
        of_classes: whether several numbers for a trajectory are logits; else there is no one prediction to show.
    """
    signals, targets = batch.signals, batch.targets
    single = answers.reshape(len(signals), -1)
    value = single[:, 0] if single.shape[1] == 1 else single.argmax(1) if of_classes else None
    order = torch.arange(len(signals)) if targets is None else targets.argsort(stable=True).cpu()
    rows = order[torch.linspace(0, len(order) - 1, min(SHOWN, len(order))).round().long()].tolist()
    steps, valid = signals.shape[1], batch.valid.cpu()

    def there(values: Tensor, row: int) -> list[Any]:
        """Values (..., T) of a trajectory, NaN on its padding."""
        listed: list[Any] = values.float().cpu().masked_fill(~valid[row], torch.nan).tolist()
        return listed

    def spread(values: Tensor, row: int) -> list[float]:
        return there(scores_at(values[row : row + 1], steps)[0], row)

    return Traces(
        channels=[f"channel {number}" for number in range(signals.shape[2])],
        sample_rate=1.0,
        rows=[
            Trace(
                split="id",
                index=row,
                y=None if targets is None else float(targets[row]),
                cue=None,
                prediction=None if value is None else float(value[row]),
                signals=there(signals[row].T, row),
                events=None if events is None else (events[row] & valid[row]).nonzero().flatten().tolist(),
                credit=there(torch.zeros(steps), row)
                if read is None
                else spread(read.credit * (read.credit.shape[1] / steps), row),
                transience=None if read is None else spread(read.transience, row),
                votes=there(core[row], row),
            )
            for row in rows
        ],
    )
