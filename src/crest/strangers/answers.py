"""A model, the output of it that is asked about, and targets that belong to that output."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import nn

from crest.probes.batches import BATCH
from crest.probes.errors import label_threshold
from crest.probes.foreign import require_numbered_classes
from crest.probes.outputs import ChosenOutput, Output, column_of, read_targets
from crest.strangers.batch import Batch
from crest.strangers.model import StrangerModel, settled_axes


def stranger_of(
    model: nn.Module | Callable[..., Any],
    batch: Batch,
    channels_first: bool | None,
    *,
    answer: Callable[[Any], Any] | None = None,
    output: Output | None = None,
    size: int = BATCH,
    notes: list[str],
) -> tuple[StrangerModel, Batch]:
    """The model as it is asked, and the batch with targets as they are compared with its predictions.

    Args:
        model: a module, or a function from `crest.probes.foreign.as_function`.
        batch: some trajectories.
        channels_first: what the user says of the axes.
        answer: the user's function from what it returns to predictions.
        output: which output is asked about.
        size: how many trajectories it is asked about at once.
        notes: what was assumed is added to these.

    Example:
        >>> import torch
        >>> notes = []
        >>> given = Batch(torch.randn(4, 50, 1), torch.eye(2).repeat(2, 1))
        >>> stranger, batch = stranger_of(lambda x: {"logits": x[:, :2, 0]}, given, False, output="logits", notes=notes)
        >>> stranger(batch.signals).shape, batch.targets, notes
        (torch.Size([4, 2]), tensor([0, 1, 0, 1]), ['targets of 2 columns are one-hot: read as class numbers 0 to 1'])
    """
    settled = settled_axes(model, batch, channels_first, notes=notes)
    choice = ChosenOutput(output=output, answer=answer)
    stranger = StrangerModel(model, settled, choice if output is not None else answer, size, batch.flat)
    if batch.targets is None:
        return stranger, batch
    require_numbered_classes(model, batch.targets, "model")
    found = None
    if output is not None and batch.targets.ndim > 1:
        with stranger.quiet():
            asked = stranger.beside(batch.first(size))
            found = stranger(asked.signals, asked.mask)
    targets, told, label = read_targets(batch.targets, column_of(output, found))
    notes += told
    batch = replace(batch, targets=targets, label=label)
    if not label or found is None:
        return stranger, batch
    # One label among several is a class of two: whether its predictions are probabilities, all of them tell.
    return replace(stranger, answer=replace(choice, threshold=label_threshold(found))), batch
