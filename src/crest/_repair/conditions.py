"""The operating conditions of training and held-out trajectories, and what follows from their tie with the target."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from crest.exchange.ties import ENOUGH, Columns, Tie, condition_columns, decides, telling_tie, tie_of
from crest.probes.outputs import Output, read_targets
from crest.strangers.batch import Batch, require_in_order
from crest.strangers.batch_forms import BatchForm, split_numbers


@dataclass(frozen=True, kw_only=True)
class ConditionPair:
    """Conditions of the trajectories to train on and of those to measure on, and the targets of the former as they came."""

    train: Columns
    held_out: Columns
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
        # Targets alone: the inputs of a loader may not fit into memory.
        parts = [_targets(batch, form) for batch in batches]
        targets = torch.cat(parts)
        if validation is not None:
            if not isinstance(conditions, tuple) or len(conditions) != 2:
                raise ValueError(
                    "conditions must be a pair with validation: of train_batches and of validation, got "
                    f"{type(conditions).__name__}"
                )
            first, second = map(condition_columns, conditions)
            if first.keys() != second.keys():
                raise ValueError(
                    "conditions must have the same columns for train_batches and for validation, got "
                    f"{' and '.join(', '.join(sorted(one)) or 'one without a name' for one in (first, second))}"
                )
            return cls(train=first, held_out=second, targets=targets)
        # Here, since rows have other places once they are split.
        columns = condition_columns(conditions, len(targets))
        kept, held = split_numbers(list(map(len, parts)), seed)
        return cls(train=_rows(columns, kept), held_out=_rows(columns, held), targets=targets[kept])

    def reading(self, output: Output | None, several: bool | None) -> "ConditionPair":
        """The same, with targets as `read_targets` reads them.

        Args:
            output: which output of the model is judged.
            several: whether rows of 0 and 1 are several labels.
        """
        return replace(self, targets=read_targets(self.targets, output, several=several)[0])

    def ties(self, held_out: Batch) -> tuple[Tensor, Tie | None, list[str]]:
        """Weights of the training trajectories, the tie by which candidates are judged, and a note on how they are.

        Args:
            held_out: the trajectories to measure on.
        """
        tie = telling_tie(self.targets, self.train)
        assert held_out.targets is not None
        judged = tie_of(held_out.targets, self.held_out)
        what, there = "Target and condition are", f"(Cramér's V {judged.strength:.2f})"
        evenly = "candidates are judged by the error averaged evenly over target x condition"
        if judged.tied:
            breaking = int(judged.breaking.sum())
            told = f"{what} tied in the held-out data {there}"
            if decides(judged):
                told += f". {_that_break(breaking)} the tie: {evenly}."
                return tie.even_weights, judged, [told]
        elif tie.tied:
            breaking = self._breaking(held_out.targets)
            told = f"{what} tied in training (Cramér's V {tie.strength:.2f}) and not in the held-out data {there}"
            if breaking >= ENOUGH:
                return tie.even_weights, judged, [f"{told}: {evenly} there."]
        else:
            told = f"{what} not tied, neither in training (Cramér's V {tie.strength:.2f}) nor in the held-out data {there}"
            return tie.even_weights, None, [f"{told}: candidates are judged by the exchange test."]
        why = f"{told}, but {_that_break(breaking)} the tie, fewer than {ENOUGH}"
        return tie.even_weights, None, [f"{why}: candidates are judged by the exchange test."]

    def names(self, held_out: Batch) -> tuple[str, ...]:
        """The condition of each of the trajectories to measure on, as their tie names it.

        Args:
            held_out: these trajectories.
        """
        assert held_out.targets is not None
        return tie_of(held_out.targets, self.held_out).names

    def _breaking(self, targets: Tensor) -> int:
        """How many held-out trajectories have a target that is rare in training under their condition."""
        first = len(self.targets)
        joined = {name: [*column, *self.held_out[name]] for name, column in self.train.items()}
        both = tie_of(torch.cat([self.targets, targets]), joined)
        counts = replace(both, rows=both.rows[:first], columns=both.columns[:first]).counts.double()
        # As in `Tie.breaking`: less than half as often as by chance.
        rare = counts < counts.sum(1, keepdim=True) * counts.sum(0, keepdim=True) / counts.sum() / 2
        return int(rare[both.rows[first:], both.columns[first:]].sum())


def _targets(batch: Any, form: BatchForm) -> Tensor:
    found = form.parts(batch, "train_batches").targets
    assert found is not None
    return found.cpu()


def _rows(columns: Columns, numbers: Tensor) -> Columns:
    return {name: [column[number] for number in numbers.tolist()] for name, column in columns.items()}


def _that_break(count: int) -> str:
    """How many held-out trajectories break, in words."""
    return "1 held-out trajectory breaks" if count == 1 else f"{count} held-out trajectories break"
