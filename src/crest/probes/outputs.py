"""Which of a model's outputs is asked about, and what targets of several columns mean."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from crest.probes.foreign import names_of

Output: TypeAlias = str | int | tuple[str | int, ...]
"""The name of a dict's entry, the place in a tuple or list, or the column of (B, K); several are taken one after the other."""


@dataclass(frozen=True, kw_only=True)
class ChosenOutput:
    """From what a model returns to predictions (B,), (B, 1) or (B, K).

    Example:
        >>> ChosenOutput(output="logits")({"logits": torch.ones(2, 3)}).shape
        torch.Size([2, 3])
        >>> ChosenOutput(output=1)((None, np.ones(4)))
        tensor([1., 1., 1., 1.], dtype=torch.float64)
    """

    output: Output | None = None
    """Which one; None takes what there is."""
    answer: Callable[[Any], Any] | None = None
    """The user's own function, which comes first."""
    threshold: float | None = None
    """From where on one chosen label is told to be there: it is then given as two logits, against it and for it."""
    argument: str = "model"
    """What messages call the model."""

    def __call__(self, found: Any) -> Any:
        """The predictions; what is no tensor is left for who checks them."""
        found = found if self.answer is None else self.answer(found)
        for one in path_of(self.output):
            found = _part(found, one, self.argument)
        found = torch.from_numpy(np.ascontiguousarray(found)) if isinstance(found, np.ndarray) else found
        if self.threshold is None or not isinstance(found, Tensor):
            return found
        above = found.reshape(len(found)) - self.threshold
        return torch.stack([-above, above], 1)


def path_of(output: Output | None) -> tuple[str | int, ...]:
    """What is taken, one after the other.

    Example:
        >>> path_of("logits"), path_of(("logits", 2)), path_of(None)
        (('logits',), ('logits', 2), ())
    """
    if output is None:
        return ()
    return output if isinstance(output, tuple) else (output,)


def _part(found: Any, one: str | int, argument: str) -> Any:
    whole = isinstance(one, int) and not isinstance(one, bool)
    if isinstance(found, Mapping):
        # The outputs of a session have names, and an order too.
        key = (
            list(found)[int(one)]
            if whole and one not in found and -len(found) <= int(one) < len(found)
            else one
        )
        if key not in found:
            raise ValueError(f"output must be one of {', '.join(map(repr, found))}, got {one!r}")
        return found[key]
    sizes = len(found) if isinstance(found, tuple | list) else None
    if isinstance(found, Tensor | np.ndarray) and found.ndim == 2:
        sizes = found.shape[1]
    if sizes is None or not whole:
        raise ValueError(
            f"output must be the name of a dict's entry, the place in a tuple or the column of (B, K), got {one!r} for a "
            f"{argument} that returns {names_of(found)}"
        )
    if not -sizes <= int(one) < sizes:
        raise ValueError(f"output must lie in [0, {sizes - 1}], the outputs of the {argument}, got {one}")
    return found[int(one)] if isinstance(found, tuple | list) else found[:, int(one)]


def column_of(output: Output | None, predictions: Any) -> Output | None:
    """The output, if it is one number for each trajectory, to which a column of the targets belongs; else None.

    Example:
        >>> column_of(1, torch.zeros(4)), column_of(1, torch.zeros(4, 3))
        (1, None)
    """
    # A place in a tuple may hold logits (B, K): then all columns of the targets are theirs.
    several = isinstance(predictions, Tensor) and predictions.ndim > 1 and predictions.shape[1] > 1
    return None if several else output


def read_targets(
    targets: Tensor, output: Output | None = None, of: str = "", *, several: bool | None = None
) -> tuple[Tensor, list[str], bool]:
    """Targets as they are compared, what to tell of that, and whether they are those of one label among several.

    One number for each trajectory, (N,) or (N, 1), is (N,). One-hot rows (N, K) are the numbers of their classes. Other rows of 0 and
    1 are several labels, (N, L). An output that is one number for each trajectory takes its column of the targets too.

    Args:
        targets: (N,) or (N, K).
        output: which output of the model is asked about, by `column_of`.
        of: what messages add to targets, such as " of field".
        several: whether rows of 0 and 1 are several labels, if other data told so; by default these rows tell.

    Example:
        >>> read_targets(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))[:2]
        (tensor([1, 0]), ['targets of 2 columns are one-hot: read as class numbers 0 to 1'])
        >>> read_targets(torch.tensor([[1.0, 1.0], [1.0, 0.0]]), output=1)
        (tensor([1, 0]), ['column 1 of the targets is read for output=1: a label that is there (1) or not (0)'], True)
    """
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim == 1:
        return targets, [], False
    if targets.ndim != 2 or not targets.shape[1]:
        raise ValueError(
            f"targets{of} must be of shape (N,), (N, 1), or (N, K) for one-hot classes and several labels, got {tuple(targets.shape)}"
        )
    columns, flags = targets.shape[1], bool(((targets == 0) | (targets == 1)).all())
    asked = path_of(output)[-1] if output is not None else None
    if isinstance(asked, int):
        if not -columns <= asked < columns:
            raise ValueError(
                f"output must lie in [0, {columns - 1}], the columns of the targets{of}, got {asked}"
            )
        label = ": a label that is there (1) or not (0)" if flags else ""
        note = f"column {asked} of the targets is read for output={asked}{label}"
        found = targets[:, asked]
        return (found.to(torch.int64) if flags else found), [note], flags
    if not flags:
        raise ValueError(
            f"targets{of} of several columns must be one-hot classes, or labels of 0 and 1, got other numbers in "
            f"{tuple(targets.shape)}: pass output=0 to {columns - 1} to choose a column"
        )
    hot = bool((targets.sum(1) == 1).all())
    if several is False and not hot:
        raise ValueError(
            f"targets{of} must be one-hot, as those of training are, got a row of several labels or of none: pass class numbers (N,) "
            "everywhere if they are classes"
        )
    if hot and not several:
        note = f"targets of {columns} columns are one-hot: read as class numbers 0 to {columns - 1}"
        return targets.to(torch.int64).argmax(1), [note], False
    return targets.to(torch.int64), [f"targets of {columns} columns of 0 and 1 are several labels"], False


def label_codes(targets: Tensor) -> Tensor:
    """(N,): several labels (N, L) as the number of their combination; one number for each trajectory as it is.

    Example:
        >>> label_codes(torch.tensor([[0, 1], [1, 1], [0, 1]]))
        tensor([0, 1, 0])
    """
    if targets.ndim == 1:
        return targets
    codes: Tensor = torch.unique(targets, dim=0, return_inverse=True)[1]
    return codes
