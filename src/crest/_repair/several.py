"""Whether targets of several columns are labels or one-hot classes: told once, for training, validation and field."""

from collections.abc import Iterable
from typing import Any

from crest._base.rng import scope
from crest.strangers.batch import Batch
from crest.strangers.batch_forms import BatchForm


def several_labels(train: Iterable[Any], held_out: Batch, form: BatchForm, seed: int) -> bool | None:
    """Whether rows of 0 and 1 are several labels: a held-out row of none or of two tells so. None if targets are something else.

    A ValueError if training has such a row and what is held out has none: there the labels were read as classes.

    Args:
        train: batches to train on, all of which are read if their targets have several columns.
        held_out: the trajectories to measure on, with targets that were read.
        form: of the batches.
        seed: of reading them.

    Example:
        >>> import torch
        >>> x = torch.zeros(2, 5, 1)
        >>> several_labels([(x, torch.eye(2))], Batch(x, torch.tensor([0, 1])), BatchForm(), seed=0)
        False
    """
    if held_out.label or held_out.targets is None:
        return None
    if held_out.targets.ndim > 1:
        return True
    with scope(seed, "repair/reading"):
        found = _has_labels(train, form)
    if found:
        raise ValueError(
            "validation must hold a row of several labels or of none, as train_batches do, got one label in each: these would be "
            "read as classes. Pass validation= with such rows, output= to judge one label, or class numbers (N,) if "
            "they are classes"
        )
    return found


def _has_labels(batches: Iterable[Any], form: BatchForm) -> bool | None:
    """Whether a row of 0 and 1 has not exactly a single 1; None if targets are something else."""
    found = None
    for batch in batches:
        targets = form.parts(batch, "train_batches").targets
        if targets is None or targets.ndim != 2 or targets.shape[1] < 2:
            return None
        if not bool(((targets == 0) | (targets == 1)).all()):
            return None
        found = bool(found) or not bool((targets.sum(1) == 1).all())
    return found
