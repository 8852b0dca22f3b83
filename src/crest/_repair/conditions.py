"""The operating conditions of training and held-out trajectories, and what follows from their tie with the target."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from crest.exchange.ties import ENOUGH, Conditions, Tie, decides, rereadable_conditions, tie_of
from crest.strangers.batch import Batch, require_in_order
from crest.strangers.batch_forms import BatchForm, split_numbers


@dataclass(frozen=True, kw_only=True)
class ConditionPair:
    """Conditions of the trajectories to train on and of those to measure on, and the targets of the former."""

    train: Conditions
    held_out: Conditions
    targets: Tensor

    @classmethod
    def checked(
        cls,
        conditions: Any,
        batches: Iterable[Any],
        validation: Iterable[Any] | None,
        form: BatchForm,
        seed: int,
    ) -> "ConditionPair | None":
        """What the user gave, in two parts; None if they gave nothing.

        Args:
            conditions: of all trajectories of the batches, which are then split; with a validation a pair.
            batches: to train on.
            validation: to measure on, if it is given.
            form: of the batches.
            seed: of the split.
        """
        if conditions is None:
            return None
        require_in_order(batches)
        parts = [form.parts(batch, "train_batches") for batch in batches]
        if any(one.targets is None for one in parts):
            raise ValueError("conditions need targets in train_batches, got none")
        targets = torch.cat([one.targets.cpu() for one in parts if one.targets is not None])
        if validation is not None:
            if not isinstance(conditions, tuple) or len(conditions) != 2:
                raise ValueError(
                    "conditions must be a pair with validation: of train_batches and of validation, got "
                    f"{type(conditions).__name__}"
                )
            first, second = map(rereadable_conditions, conditions)
            return cls(train=first, held_out=second, targets=targets)
        conditions = rereadable_conditions(conditions)
        kept, held = split_numbers([len(one) for one in parts], seed)
        # Here, since rows have other places once they are split.
        tie_of(targets, conditions)
        return cls(train=_rows(conditions, kept), held_out=_rows(conditions, held), targets=targets[kept])

    def ties(self, held_out: Batch) -> tuple[Tensor, Tie | None, list[str]]:
        """Weights of the training trajectories, the tie by which candidates are judged, and a note on how they are.

        Args:
            held_out: the trajectories to measure on.
        """
        tie = tie_of(self.targets, self.train)
        if len(tie.conditions) < 2:
            raise ValueError(f"conditions must vary, got {tie.conditions[0]} alone")
        assert held_out.targets is not None
        judged = tie_of(held_out.targets, self.held_out)
        breaking = int(judged.breaking.sum()) if judged.tied else 0
        if decides(judged):
            told = (
                f"Target and condition are tied (Cramér's V {judged.strength:.2f}). {breaking} held-out trajectories break the tie: "
                "candidates are judged by the error averaged evenly over target x condition."
            )
            return tie.even_weights, judged, [told]
        why = (
            f"Target and condition are tied (Cramér's V {judged.strength:.2f}), but {breaking} held-out trajectories break the tie, "
            f"fewer than {ENOUGH}"
            if judged.tied
            else f"Target and condition are not tied (Cramér's V {judged.strength:.2f})"
        )
        return tie.even_weights, None, [f"{why}: candidates are judged by the exchange."]


def _rows(conditions: Conditions, numbers: Tensor) -> Conditions:
    if isinstance(conditions, Mapping):
        return {str(name): _taken(column, numbers) for name, column in conditions.items()}
    return _taken(conditions, numbers)


def _taken(column: Any, numbers: Tensor) -> list[Any]:
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    return [values[number] for number in numbers.tolist()]
