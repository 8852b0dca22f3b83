"""Untie target and condition in training: rows that break the tie are drawn more often."""

from collections.abc import Iterable
from typing import Any

from torch import Tensor

from crest._base.arguments import require
from crest._base.doors import door
from crest.strangers.batch import BatchKeys
from crest.strangers.batch_forms import BatchForm, DrawnBatches, require_rereadable


@door
def balanced_batches(
    batches: Iterable[Any], weights: Iterable[float] | Tensor, *, keys: BatchKeys | None = None, seed: int = 0
) -> DrawnBatches:
    """Batches of the same form and sizes whose rows are drawn by weights, with replacement and anew in each pass.

    With the weights 1 / (number of trajectories with the same target and condition) every pair of target and condition
    comes equally often: `crest.exchange.ties.tie_of(targets, conditions).even_weights`. A model that reads the condition
    then no longer gets the target by it. Alone it does little if few trajectories break the tie, since the model learns
    those by heart: join it with changes of what the condition changes.

    All trajectories are read once, and held in memory. Shorter batches are padded if they have masks or lengths.

    Args:
        batches: (inputs, targets), (inputs, targets, mask or lengths) or dicts, in the order of the weights: a list, or a
            loader that does not shuffle.
        weights: (N,), 0 or more, one for each trajectory.
        keys: of inputs, targets and mask, for dicts; the usual names by default.
        seed: of the rows that are drawn.

    Example:
        >>> import torch
        >>> x, y = torch.randn(6, 50, 1), torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        >>> batches = balanced_batches([(x[:3], y[:3]), (x[3:], y[3:])], [0.2, 0.2, 0.2, 0.2, 0.2, 1.0])
        >>> [len(targets) for inputs, targets in batches]
        [3, 3]
    """
    require_rereadable("batches", batches)
    require("seed", seed, "be a whole number, 0 or more")
    return DrawnBatches(batches, BatchForm(keys), weights, seed=seed, argument="batches")
